//! Pages for users, those directly in docs/: each is read in a few minutes, and none speaks of the code. The rest is in docs/inside/.

use super::{Finding, Tree, TreeFile, names::declared_type};
use std::collections::BTreeSet;

/// Words of a page, its examples and tables included.
const WORDS_MAX: usize = 1_200;
/// A table in which one looks a word up. Nobody reads it from beginning to end, and it joins words to names of the code.
const LOOKED_UP: &str = "docs/glossary.md";

/// A page for users answers one question and names no type of the code.
pub(super) fn pages(tree: &Tree) -> Vec<Finding> {
    let lines = tree.with_extension("rs").flat_map(|file| file.text.lines());
    let types: BTreeSet<&str> = lines.filter_map(declared_type).filter(|name| has_two_words(name)).collect();
    let is_page = |file: &&TreeFile| file.path.strip_prefix("docs/").is_some_and(|name| !name.contains('/'));
    let mut findings = Vec::new();
    for file in tree.with_extension("md").filter(is_page).filter(|file| file.path != LOOKED_UP) {
        let count = file.text.split_whitespace().count();
        if count > WORDS_MAX {
            let text = format!("{count} words, at most {WORDS_MAX}: what a user need not know goes to docs/inside/");
            findings.push(Finding::new(&file.path, 0, text));
        }
        for (index, line) in file.text.lines().enumerate() {
            let spans = line.split('`').skip(1).step_by(2);
            for span in spans.filter(|span| span.contains("::") || types.contains(span)) {
                findings.push(Finding::new(&file.path, index + 1, format!("`{span}` is a name of the code")));
            }
        }
    }
    findings
}

/// As `ItemReservoir`. A single word such as `Request` may be a word of the page.
fn has_two_words(name: &str) -> bool {
    name.chars().filter(char::is_ascii_uppercase).count() > 1 && name.contains(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pages_for_users_and_types_in_them_are_found_and_the_rest_is_let_be() {
        let long = "word ".repeat(WORDS_MAX + 1);
        let tree = Tree::of([
            ("pure/a.rs", "pub struct ItemReservoir;\npub struct Request;\n"),
            ("docs/long.md", &long),
            ("docs/types.md", "a `Request`, `VolumeQueueLength`\n`ItemReservoir`\n`Item::offer` and `ItemReservoir`\n"),
            ("docs/inside/a.md", &long),
            ("docs/glossary.md", &long),
            ("README.md", &long),
        ]);
        let found: Vec<(String, usize)> =
            pages(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        let types = |line: usize| ("docs/types.md".to_owned(), line);
        assert_eq!(found, [("docs/long.md".to_owned(), 0), types(2), types(3), types(3)]);
    }
}
