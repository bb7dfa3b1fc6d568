//! What is judged is a value: no code that judges or shows decides by the text of a sentence, and no line is a pair of texts.

use super::{Finding, Tree, TreeFile};

/// Crates that judge, show what was judged, or carry it, each by its folder. The others read what strangers wrote.
const OURS: [&str; 16] = [
    "advise",
    "analysis",
    "cli",
    "crawl",
    "exported",
    "fitting",
    "hunt",
    "pipeline",
    "policy",
    "prediction",
    "python",
    "record",
    "report",
    "runs",
    "service",
    "verdict",
];
/// Crates whose lines have an `About` or columns.
const LINES_OF: [&str; 5] = ["advise", "analysis", "cli", "hunt", "report"];

/// Calls that look into a text.
const LOOKS: [&str; 8] =
    [".contains(", ".starts_with(", ".ends_with(", ".strip_prefix(", ".strip_suffix(", ".find(", "==", "!="];

/// Files that look into a text of several words all the same, one a line: what somebody typed, or what another program printed. The
/// list only shrinks.
const READERS: &str = include_str!("readers.txt");

/// No code that judges or shows looks for several words in a text.
pub(super) fn decisions(tree: &Tree) -> Vec<Finding> {
    against(tree, &OURS, READERS, "readers.txt", |code, literals| {
        let after = |look: &&str| code.match_indices(*look).map(|(at, found)| at + found.len()).collect::<Vec<_>>();
        LOOKS.iter().flat_map(after).find_map(|at| {
            let literal = literal_after(literals, code, at).filter(|literal| is_of_words(literal))?;
            Some(format!("decides by the text {literal:?}: ask the value that the sentence is made of"))
        })
    })
}

/// No line of a verdict is a pair of texts.
pub(super) fn pairs(tree: &Tree) -> Vec<Finding> {
    against(tree, &LINES_OF, "", "no list", |code, _| {
        code.contains("(String, String)").then(|| "a pair of texts: a line of a verdict is a `VerdictLine`".to_owned())
    })
}

/// What `look` finds in the crates of these folders, apart from the files that `listed` has; and what is listed and finds nothing.
fn against(
    tree: &Tree,
    crates: &[&str],
    listed: &str,
    list: &str,
    look: impl Fn(&str, &str) -> Option<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut left: Vec<&str> = listed.lines().collect();
    for file in tree.with_extension("rs").filter(|file| is_source_of(file, crates)) {
        let source = file.source();
        let found = source.code.iter().zip(&source.literals).enumerate().filter(|(index, _)| !source.is_test[*index]);
        let found: Vec<Finding> = found
            .filter_map(|(index, (code, literals))| Some(Finding::new(&file.path, index + 1, look(code, literals)?)))
            .collect();
        let known = left.iter().position(|known| file.path.ends_with(known));
        match known {
            Some(known) if !found.is_empty() => drop(left.swap_remove(known)),
            _ => findings.extend(found),
        }
    }
    let gone =
        left.iter().map(|path| Finding::new(path, 0, format!("needs no exception: take it off xtask/src/tidy/{list}")));
    findings.extend(gone);
    findings
}

/// Whether a file is source, not a test, of a crate in one of these folders.
fn is_source_of(file: &TreeFile, crates: &[&str]) -> bool {
    let of = file.path.split_once("/src/").and_then(|(folder, _)| folder.rsplit('/').next());
    of.is_some_and(|of| crates.contains(&of)) && !super::rust::is_test_file(&file.path)
}

/// The text of the literal that follows this byte of a line of code.
fn literal_after<'a>(literals: &'a str, code: &str, at: usize) -> Option<&'a str> {
    let column = code[..at].chars().count();
    let from = literals.char_indices().nth(column)?.0;
    let text = literals[from..].strip_prefix(' ').unwrap_or(&literals[from..]).strip_prefix('"')?;
    let mut escaped = false;
    let end = text.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some(&text[..end])
}

/// Whether it is more than one word or mark, and no markup: a sentence has letters, and spaces between words.
fn is_of_words(literal: &str) -> bool {
    literal.trim().contains(' ') && literal.contains(char::is_alphabetic) && !literal.starts_with('<')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(found: Vec<Finding>) -> Vec<(String, usize)> {
        found.into_iter().filter(|found| found.line > 0).map(|found| (found.path, found.line)).collect()
    }

    #[test]
    fn a_decision_by_a_sentence_is_found_where_sentences_are_judged() {
        let code = "fn of(text: &str) -> bool {\n    text.contains(\"is limited\")\n}\n";
        let tree =
            Tree::of([("pure/hunt/src/a.rs", code), ("pure/imported/src/a.rs", code), ("pure/hunt/tests/a.rs", code)]);
        assert_eq!(lines(decisions(&tree)), [("pure/hunt/src/a.rs".to_owned(), 2)]);
        for harmless in [
            "text.contains(\": \")",
            "text.starts_with(\"/dev\")",
            "text.contains(words)",
            "text.strip_prefix(\"GET \")",
        ] {
            let code = format!("fn of() {{\n    {harmless}\n}}\n");
            assert_eq!(lines(decisions(&Tree::of([("pure/hunt/src/a.rs", &code)]))), []);
        }
        let tested = format!("#[cfg(test)]\nmod tests {{\n{code}}}\n");
        assert_eq!(lines(decisions(&Tree::of([("pure/hunt/src/a.rs", &tested)]))), []);
        let equal = "fn of(text: &str) -> bool {\n    text == \"not known\"\n}\n";
        assert_eq!(lines(decisions(&Tree::of([("host/runs/src/a.rs", equal)]))).len(), 1);
    }

    #[test]
    fn a_pair_of_texts_is_found_where_lines_are_made() {
        let code = "struct Verdict {\n    lines: Vec<(String, String)>,\n}\n";
        let tree = Tree::of([("pure/advise/src/a.rs", code), ("pure/catalog/src/a.rs", code)]);
        assert_eq!(lines(pairs(&tree)), [("pure/advise/src/a.rs".to_owned(), 2)]);
    }

    #[test]
    fn the_lists_of_exceptions_only_shrink() {
        let clean = Tree::of([("pure/hunt/src/a.rs", "fn of() {}\n")]);
        let look = |code: &str, _: &str| code.contains("bad").then(|| "bad".to_owned());
        let found = |tree: &Tree| against(tree, &["hunt"], "hunt/src/a.rs\n", "list.txt", look).len();
        assert_eq!(found(&clean), 1, "it is listed and needs no exception");
        assert_eq!(found(&Tree::of([("pure/hunt/src/a.rs", "fn bad() {}\n")])), 0);
    }
}
