//! How long sentences are, in documents, in what the command prints (its golden files), and in the comments of items and files: few words
//! in most, and hardly any endless.

use super::{Finding, Tree, TreeFile};

/// How many of the longest are named.
const NAMED: usize = 10;

/// How long the sentences of a kind of text may be.
struct Bound {
    /// Words of the median sentence, at most.
    median_max: usize,
    /// From so many words on a sentence is long.
    long: usize,
}

/// Long ones of 1,000 sentences, at most.
const LONG_PER_MILLE_MAX: usize = 50;
/// What users read is shorter than what is written for those who change the code.
const FOR_USERS: Bound = Bound { median_max: 14, long: 28 };
const COMMENTS: Bound = Bound { median_max: 15, long: 35 };

/// A sentence, and where its paragraph begins.
#[derive(Debug, PartialEq, Eq)]
struct Sentence {
    path: String,
    line: usize,
    words: usize,
    text: String,
}

/// Of README.md, ARCHITECTURE.md, STYLE.md and everything in docs/.
pub(super) fn documents(tree: &Tree) -> Vec<Finding> {
    let is_document =
        |path: &str| path.starts_with("docs/") || ["README.md", "ARCHITECTURE.md", "STYLE.md"].contains(&path);
    let files = tree.with_extension("md").filter(|file| is_document(&file.path));
    held("sentences of the documents", &files.flat_map(in_document).collect::<Vec<_>>(), &FOR_USERS)
}

/// Of texts that the command prints, as the golden files keep them.
pub(super) fn printed(tree: &Tree) -> Vec<Finding> {
    let files = ["txt", "md"].into_iter().flat_map(|extension| tree.with_extension(extension));
    let golden = files.filter(|file| file.path.contains("/golden/"));
    held("printed sentences", &golden.flat_map(in_print).collect::<Vec<_>>(), &FOR_USERS)
}

/// Of `//!` and `///`.
pub(super) fn comments(tree: &Tree) -> Vec<Finding> {
    let sentences: Vec<Sentence> = tree.with_extension("rs").flat_map(in_comments).collect();
    held("sentences of comments", &sentences, &COMMENTS)
}

/// The longest sentences where the bound is not kept.
fn held(what: &str, sentences: &[Sentence], bound: &Bound) -> Vec<Finding> {
    let mut by_length: Vec<&Sentence> = sentences.iter().collect();
    by_length.sort_by_key(|sentence| std::cmp::Reverse(sentence.words));
    let Some(middle) = by_length.get(by_length.len() / 2) else { return Vec::new() };
    let long = by_length.iter().take_while(|sentence| sentence.words >= bound.long).count();
    let per_mille = (long * 1_000).div_ceil(by_length.len());
    let measure = format!(
        "{} {what}: median {} words (at most {}), {long} of {} words or more, {per_mille} of 1,000 (at most {})",
        by_length.len(),
        middle.words,
        bound.median_max,
        bound.long,
        LONG_PER_MILLE_MAX
    );
    println!("{measure}");
    if middle.words <= bound.median_max && per_mille <= LONG_PER_MILLE_MAX {
        return Vec::new();
    }
    let finding = |sentence: &&Sentence| {
        let begin: String = sentence.text.chars().take(80).collect();
        Finding::new(&sentence.path, sentence.line, format!("{} words: {begin}", sentence.words))
    };
    let mut findings = vec![Finding::new("xtask/src/tidy/sentences.rs", 0, measure)];
    findings.extend(by_length.iter().take(NAMED).map(finding));
    findings
}

fn in_document(file: &TreeFile) -> Vec<Sentence> {
    sentences(&file.path, file.text.lines().enumerate().map(|(index, line)| (index + 1, line)))
}

/// Printed text: without escape sequences, rows of tables and commands to paste. A point, a note and a footnote begin with their mark.
fn in_print(file: &TreeFile) -> Vec<Sentence> {
    let shown = |line: &str| {
        let text = without_escapes(line);
        let words = text.trim();
        let is_row = words.contains("  ") || words.starts_with('|');
        let is_point = words.starts_with(['•', '†', '‡', '-', '*']);
        let words = words.trim_start_matches(['•', '†', '‡', '-', '*', ' ']);
        match (is_row || words.starts_with("loadline "), is_point) {
            (true, _) => String::new(),
            (false, true) => format!("- {words}"),
            (false, false) => words.to_owned(),
        }
    };
    let lines: Vec<String> = file.text.lines().map(shown).collect();
    let found = sentences(&file.path, lines.iter().enumerate().map(|(index, line)| (index + 1, line.as_str())));
    // A heading, a label or a usage line has no full stop.
    found.into_iter().filter(|sentence| sentence.text.ends_with(['.', '?', '!'])).collect()
}

/// Without the sequences that colour a terminal (CSI).
fn without_escapes(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default()
    })
}

fn in_comments(file: &TreeFile) -> Vec<Sentence> {
    let mut all = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    for (index, line) in file.text.lines().chain([""]).enumerate() {
        let words = line.trim_start();
        match words.strip_prefix("///").or_else(|| words.strip_prefix("//!")) {
            Some(text) => block.push((index + 1, text.trim_start())),
            None => all.extend(sentences(&file.path, block.drain(..))),
        }
    }
    all
}

/// The sentences of Markdown: without code blocks, tables and headings.
fn sentences<'a>(path: &str, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut paragraph: Option<(usize, String)> = None;
    let mut in_code = false;
    let mut flush = |paragraph: &mut Option<(usize, String)>| {
        let Some((line, text)) = paragraph.take() else { return };
        for text in split(&plain(&text)) {
            let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            // Less is a heading or a number.
            if words >= 3 {
                found.push(Sentence { path: path.to_owned(), line, words, text });
            }
        }
    };
    for (number, line) in lines {
        let text = line.trim();
        let is_fence = text.starts_with("```");
        if is_fence {
            in_code = !in_code;
        }
        if is_fence || in_code || text.is_empty() || text.starts_with('|') || text.starts_with('#') {
            flush(&mut paragraph);
            continue;
        }
        let item = item(text);
        if item.is_some() {
            flush(&mut paragraph);
        }
        let text = item.unwrap_or(text).trim_start_matches("> ");
        let (_, joined) = paragraph.get_or_insert_with(|| (number, String::new()));
        joined.push(' ');
        joined.push_str(text);
    }
    flush(&mut paragraph);
    found
}

/// What an item of a list says.
fn item(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.strip_prefix(". ").filter(|_| digits.len() < line.len());
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or(numbered)
}

/// Markdown as it is read: a code span is one word, a link its text.
fn plain(text: &str) -> String {
    let spans = text.split('`').enumerate().map(|(number, part)| if number % 2 == 0 { part } else { "code" });
    let text = spans.collect::<String>().replace("**", "");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        out += before;
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    (out + rest).replace(['[', ']'], "")
}

/// Ends sentences at a full stop, question or exclamation mark before a blank.
fn split(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut ends = false;
    for c in text.chars() {
        if c.is_whitespace() && ends {
            found.push(String::new());
            ends = false;
        } else {
            ends = matches!(c, '.' | '?' | '!') || (ends && matches!(c, '"' | '\'' | ')'));
            if let Some(last) = found.last_mut() {
                last.push(c);
            }
        }
    }
    found.iter().map(|sentence| sentence.trim().to_owned()).filter(|sentence| !sentence.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<(usize, usize)> {
        let file = TreeFile::new("a.md", text);
        in_document(&file).iter().map(|sentence| (sentence.line, sentence.words)).collect()
    }

    #[test]
    fn sentences_end_with_their_mark_and_run_over_lines() {
        assert_eq!(
            lengths("One two three. Four five\nsix seven (eight.) Nine ten eleven?\n"),
            [(1, 3), (1, 5), (1, 3)]
        );
        assert_eq!(
            lengths("A first line\n\nand an own one\n- an item here\n  goes on\n1. a second one\n"),
            [(1, 3), (3, 4), (4, 5), (6, 3)]
        );
    }

    #[test]
    fn code_tables_and_headings_are_no_sentences() {
        let text =
            "# A heading of words\n| a cell of words |\n```sh\nsome code of words\n```\nWords after `a b c d` that.\n";
        assert_eq!(lengths(text), [(6, 4)]);
        assert_eq!(lengths("See [the long text](docs/a.md) of it.\n"), [(1, 6)]);
    }

    #[test]
    fn printed_sentences_are_read_past_colours_and_beside_tables() {
        let text = "load    IOPS  p99\n\u{1b}[1m• Random reads stop here\u{1b}[0m\n  at a limit of it.\nloadline show a b c.\nA label here\n\n\
                    It is so.\n";
        let file = TreeFile::new("tests/golden/a.txt", text);
        let found: Vec<(usize, usize)> = in_print(&file).iter().map(|s| (s.line, s.words)).collect();
        assert_eq!(found, [(2, 9), (7, 3)]);
    }

    #[test]
    fn comments_of_items_and_files_are_read_and_others_are_not() {
        let text = "//! A file of words.\n\n/// An item of words,\n/// on two lines.\nfn a() {}\n// A note of words.\n";
        let file = TreeFile::new("a.rs", text);
        let found: Vec<(usize, usize)> = in_comments(&file).iter().map(|s| (s.line, s.words)).collect();
        assert_eq!(found, [(1, 4), (3, 7)]);
    }

    #[test]
    fn too_many_long_sentences_are_found_and_the_longest_named_first() {
        let long = |words: usize| format!("{}.\n\n", vec!["word"; words].join(" "));
        let text = "One two three.\n".repeat(30) + &long(40) + &long(60);
        let tree = |text: &str| Tree::of([("docs/a.md", text)]);
        let findings = documents(&tree(&text));
        assert_eq!(findings.len(), 1 + NAMED);
        assert!(findings[0].text.contains("2 of 28 words or more") && findings[1].text.starts_with("60 words"));
        assert_eq!(documents(&tree(&("One two three.\n".repeat(50) + &long(40)))), []);
        assert_eq!(documents(&tree(&"word ".repeat(20))).len(), 2, "the median alone");
    }
}
