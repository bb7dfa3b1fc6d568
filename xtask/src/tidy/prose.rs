//! Rules about text: whitespace, links, what the text speaks of, and documents that must keep up with the code.

use super::{Finding, Tree, TreeFile};

/// Kept outputs and inputs are compared byte for byte, whatever they hold.
fn is_kept(path: &str) -> bool {
    path.split('/').any(|folder| ["golden", "corpus"].contains(&folder))
}

/// No trailing blanks, no tabs, no carriage returns, one line feed at the end.
pub(super) fn whitespace(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !file.text.is_empty() && !is_kept(&file.path)) {
        for (index, line) in file.text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(Finding::new(&file.path, index + 1, "blanks at the end of the line"));
            } else if line.contains('\t') {
                findings.push(Finding::new(&file.path, index + 1, "a tab"));
            }
            if ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark)) {
                findings.push(Finding::new(&file.path, index + 1, "a conflict of a merge that nobody resolved"));
            }
        }
        if !file.text.ends_with('\n') || file.text.ends_with("\n\n") {
            let lines = file.text.lines().count();
            findings.push(Finding::new(&file.path, lines, "does not end with exactly one line feed"));
        }
    }
    findings
}

/// Paths of one machine, and words about how text came to be rather than about the tool. Cut in two so that this file
/// does not breach its own rule.
const FOREIGN: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Use", "rs/"),
    concat!("this ses", "sion"),
    concat!("the ag", "ent"),
    concat!("sub", "agent"),
    concat!("sub-", "agent"),
    concat!("language ", "model"),
    concat!("chat", "gpt"),
    concat!("open", "ai"),
    concat!("anth", "ropic"),
    concat!("cla", "ude"),
    concat!("co", "pilot"),
    concat!("arti", "factory"),
    concat!("jf", "rog"),
    concat!("replace-", "with"),
];
/// Home directories of nobody in particular, for examples.
const HOMES: &[&str] = &["/home/user", "/home/you", "/home/me", "/home/mpiuser"];

/// The text speaks of loadline alone.
pub(super) fn words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !is_kept(&file.path)) {
        for (index, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            for word in FOREIGN.iter().filter(|word| stands_alone(&lower, &word.to_lowercase())) {
                findings.push(Finding::new(&file.path, index + 1, format!("{word:?} says nothing about loadline")));
            }
            let homes = lower.match_indices("/home/").map(|(column, found)| (column, column + found.len()));
            let named = |end: usize| lower[end..].starts_with(|c: char| c.is_ascii_alphanumeric());
            let known = |column: usize| HOMES.iter().any(|home| lower[column..].starts_with(home));
            if homes.into_iter().any(|(column, end)| named(end) && !known(column)) {
                findings.push(Finding::new(&file.path, index + 1, "somebody's home directory"));
            }
            if lower.match_indices("issue").any(|(column, _)| is_number(&lower[column + "issue".len()..])) {
                findings.push(Finding::new(&file.path, index + 1, "say what the matter is, not its number"));
            }
        }
    }
    findings
}

/// Whether `word` stands in `line` other than as the end of a longer name or path.
fn stands_alone(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || "_.-~".contains(c);
    line.match_indices(word).any(|(column, _)| !line[..column].chars().next_back().is_some_and(joins))
}

fn is_number(rest: &str) -> bool {
    let rest = rest.strip_prefix('s').unwrap_or(rest).trim_start();
    rest.strip_prefix('#').unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
}

/// The lines of a Markdown file outside fenced blocks, with code spans blanked out, numbered from 1.
fn markdown_lines(text: &str) -> Vec<(usize, String)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                let spans = line.split('`').enumerate();
                lines.push((index + 1, spans.filter(|(n, _)| n % 2 == 0).map(|(_, part)| part).collect()));
            }
            (Some(_), _) => {}
        }
    }
    lines
}

/// Every relative link leads to a file of the tree, and every fragment to a heading.
pub(super) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        for (number, line) in markdown_lines(&file.text) {
            for target in targets(&line).filter(|target| !target.contains(':') && !target.is_empty()) {
                let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
                let resolved = if path.is_empty() { Some(file.path.clone()) } else { resolve(&file.path, path) };
                let Some(resolved) = resolved.filter(|resolved| tree.holds(resolved)) else {
                    findings.push(Finding::new(&file.path, number, format!("{target} leads nowhere")));
                    continue;
                };
                let lacks = |page: &TreeFile| !fragment.is_empty() && !has_heading(&page.text, fragment);
                if tree.file(&resolved).is_some_and(lacks) {
                    findings.push(Finding::new(
                        &file.path,
                        number,
                        format!("{resolved} has no heading for #{fragment}"),
                    ));
                }
            }
        }
    }
    findings
}

/// What the links, pictures and link definitions of a line lead to.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
    inline.chain(definition).map(|target| target.trim_matches(['<', '>']))
}

/// `link` as seen from the file `from`; `None` when it leaves the tree.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a heading has the anchor that forges give it: lower case, blanks as dashes, other marks left out.
fn has_heading(text: &str, fragment: &str) -> bool {
    headings(text).any(|heading| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-") == fragment
    })
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    let marked = text.lines().filter(|line| line.starts_with('#'));
    marked.map(|line| line.trim_start_matches('#').trim())
}

/// Every doubt's code is in docs/doubts.md.
pub(super) fn doubts(tree: &Tree) -> Vec<Finding> {
    explained(tree, "DoubtCode", "docs/doubts.md")
}

/// Every limit is in docs/limits.md.
pub(super) fn limits(tree: &Tree) -> Vec<Finding> {
    explained(tree, "Limit", "docs/limits.md")
}

/// Every variant of the enum `name` in `pure/` is in `document` by its stored name, in backticks.
fn explained(tree: &Tree, name: &str, document: &str) -> Vec<Finding> {
    let page = tree.file(document).map_or("", |file| file.text.as_str());
    let declares = format!("pub enum {name} {{");
    let files = tree.with_extension("rs").filter(|file| file.path.starts_with("pure/"));
    let Some(file) = files.into_iter().find(|file| file.text.contains(&declares)) else {
        return vec![Finding::new("pure", 0, format!("`{declares}` is not found: this rule has lost what it holds"))];
    };
    let source = file.source();
    let begin = source.code.iter().position(|line| line.contains(&declares)).unwrap_or_default() + 1;
    let body = source.code.iter().enumerate().skip(begin).take_while(|(_, line)| !line.starts_with('}'));
    let variants = body.filter_map(|(index, line)| Some((index + 1, stored_name(line.trim().strip_suffix(',')?)?)));
    let missing = variants.filter(|(_, variant)| !page.contains(&format!("`{variant}`")));
    missing.map(|(line, variant)| Finding::new(&file.path, line, format!("`{variant}` is not in {document}"))).collect()
}

/// `CachedReads` as stored: `cached-reads`; `None` when this is no variant without fields.
fn stored_name(variant: &str) -> Option<String> {
    if !variant.starts_with(|c: char| c.is_ascii_uppercase()) || !variant.chars().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let mut name = String::new();
    for c in variant.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(c.to_ascii_lowercase());
    }
    Some(name)
}

/// What users will read about the next version has its place.
pub(super) fn changelog(tree: &Tree) -> Vec<Finding> {
    let page = tree.file("CHANGELOG.md").map_or("", |file| file.text.as_str());
    if headings(page).any(|heading| heading.trim_matches(['[', ']']) == "Unreleased") {
        return Vec::new();
    }
    vec![Finding::new("CHANGELOG.md", 1, "has no heading `Unreleased`")]
}

/// The line of docs/decisions/README.md that lists numbers which were never used.
const UNUSED: &str = "Numbers without a page: ";

/// Every decision up to the last has its page, and that is listed; or its number is listed as one without.
pub(super) fn decisions(tree: &Tree) -> Vec<Finding> {
    const FOLDER: &str = "docs/decisions/";
    let path = format!("{FOLDER}README.md");
    let listed = tree.file(&path).map_or("", |file| file.text.as_str());
    let unused = listed.lines().find_map(|line| line.strip_prefix(UNUSED)).unwrap_or_default();
    let unused: Vec<&str> = unused.trim_end_matches('.').split(", ").collect();
    let pages = tree.files.iter().filter_map(|file| file.path.strip_prefix(FOLDER)?.split_once('-'));
    let pages: std::collections::BTreeMap<u32, &str> =
        pages.filter_map(|(number, name)| Some((number.parse().ok()?, name))).collect();
    let last = pages.keys().next_back().copied().unwrap_or_default();
    let is_wrong = |number: &u32| match pages.get(number) {
        Some(name) => !listed.contains(&format!("]({number:04}-{name})")) || unused.contains(&&*number.to_string()),
        None => !unused.contains(&&*number.to_string()),
    };
    let wrong = (1..=last).filter(is_wrong);
    wrong.map(|number| Finding::new(&path, 0, format!("decision {number} has no page, or is not listed"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_without_a_page_or_a_line_is_found() {
        let list = "1. [A](0001-a.md)\n\nNumbers without a page: 2, 5.\n";
        let tree = Tree::of([
            ("docs/decisions/README.md", list),
            ("docs/decisions/0001-a.md", ""),
            ("docs/decisions/0004-d.md", ""),
        ]);
        let found: Vec<String> = decisions(&tree).into_iter().map(|finding| finding.text).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("decision 3") && found[1].contains("decision 4"), "{found:?}");
    }

    const NONE: [usize; 0] = [];

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn stray_whitespace_is_found_but_not_in_kept_outputs() {
        let text = "a \nb\tc\nd";
        assert_eq!(lines(&whitespace(&Tree::of([("a.md", text)]))), [1, 2, 3]);
        assert_eq!(lines(&whitespace(&Tree::of([("tests/golden/a.txt", text)]))), NONE);
        assert_eq!(lines(&whitespace(&Tree::of([("a.md", "a\n\n")]))), [2]);
        let conflict = concat!("<<<<<<", "< here\na\n>>>>>>", "> there\n");
        assert_eq!(lines(&whitespace(&Tree::of([("a.md", conflict)]))), [1, 3]);
    }

    #[test]
    fn foreign_words_and_paths_are_found() {
        let (root, home, issue) = (concat!("/ro", "ot"), concat!("/ho", "me"), concat!("iss", "ue"));
        let text = format!("{root}/x\n{home}/user/x is fine\n{home}/anna/x\n{issue} #12\nan {issue} of 2\n");
        assert_eq!(lines(&words(&Tree::of([("a.md", text.as_str())]))), [1, 3, 4]);
        let inner = format!("https://example.org{}x\n", concat!("/wo", "rk/"));
        assert_eq!(lines(&words(&Tree::of([("a.md", inner.as_str())]))), NONE);
    }

    #[test]
    fn links_resolve_from_where_they_stand() {
        let a = "[b](b.md) [c](../c.md#two-words) [up](../..) [web](https://example.org)\n`[x](no.md)`\n\
                 ```\n[y](no.md)\n```\n[z](no.md)\n[c](../c.md#three)\n[d]: ../gone.md\n";
        let tree = Tree::of([("docs/a.md", a), ("docs/b.md", ""), ("c.md", "# Two words!\n")]);
        assert_eq!(lines(&links(&tree)), [1, 6, 7, 8]);
    }

    #[test]
    fn a_code_without_its_paragraph_is_found() {
        let code = "#[x]\npub enum DoubtCode {\n    /// A.\n    CachedReads,\n    /// B.\n    FewSamples,\n}\n";
        let tree = Tree::of([("pure/words/record/src/doubt.rs", code), ("docs/doubts.md", "## `cached-reads`\n")]);
        assert_eq!(lines(&doubts(&tree)), [6]);
        assert_eq!(limits(&tree).len(), 1);
    }

    #[test]
    fn the_change_log_has_a_place_for_what_comes_next() {
        assert_eq!(lines(&changelog(&Tree::of([("CHANGELOG.md", "# Changes\n\n## Unreleased\n")]))), NONE);
        assert_eq!(changelog(&Tree::of([("CHANGELOG.md", "# Changes\n")])).len(), 1);
    }
}
