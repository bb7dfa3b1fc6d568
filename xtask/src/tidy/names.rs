//! Names: a type's for one thing in the workspace, a file's a noun of the field.

use super::{Finding, Tree};
use std::collections::BTreeMap;

/// Types of one name that a reader can still tell apart.
const DECLARED_MAX: usize = 2;

/// A public or crate-wide type's name is declared at most twice.
pub(super) fn types(tree: &Tree) -> Vec<Finding> {
    let mut declared: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for file in tree.with_extension("rs").filter(|file| !super::rust::is_test_file(&file.path)) {
        let source = file.source();
        for (index, line) in source.code.iter().enumerate().filter(|(index, _)| !source.is_test[*index]) {
            if let Some(name) = declared_type(line) {
                declared.entry(name.to_owned()).or_default().push((file.path.clone(), index + 1));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, places) in declared.iter().filter(|(_, places)| places.len() > DECLARED_MAX) {
        for (path, line) in places {
            let text = format!("`{name}` is one of {} types of that name: name it by its role", places.len());
            findings.push(Finding::new(path, *line, text));
        }
    }
    findings
}

/// The public or crate-wide type that a line declares.
pub(super) fn declared_type(line: &str) -> Option<&str> {
    let words = line.trim_start();
    let words = words.strip_prefix("pub(crate) ").or_else(|| words.strip_prefix("pub "))?;
    let (kind, rest) = words.split_once(' ')?;
    ["struct", "enum", "trait", "type", "union"].contains(&kind).then_some(())?;
    rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())
}

/// Files named by a participle that are still to be renamed, one a line. The list only shrinks.
const PARTICIPLES: &str = include_str!("participles.txt");
/// Nouns that end as participles do.
const NOUNS: [&str; 8] = ["binding", "ceiling", "feed", "finding", "need", "ring", "seed", "uring"];
/// Participles that end otherwise.
const IRREGULAR: [&str; 12] =
    ["begun", "drawn", "found", "given", "held", "kept", "known", "lost", "said", "shown", "taken", "told"];

/// A source file is named by a noun.
pub(super) fn files(tree: &Tree) -> Vec<Finding> {
    files_with(tree, PARTICIPLES)
}

fn files_with(tree: &Tree, listed: &str) -> Vec<Finding> {
    let listed: Vec<&str> = listed.lines().collect();
    let sources = tree.with_extension("rs").filter(|file| !super::rust::is_test_file(&file.path));
    let named: Vec<&str> = sources.map(|file| file.path.as_str()).filter(|path| is_participle(path)).collect();
    let new = named.iter().filter(|path| !listed.contains(path));
    let new = new.map(|path| Finding::new(path, 0, "is named by a participle: name it by a noun of the field"));
    let gone = listed.iter().filter(|path| !named.contains(path));
    new.chain(gone.map(|path| Finding::new(path, 0, "is gone: take it off xtask/src/tidy/participles.txt"))).collect()
}

/// Whether the last word of a file's name is a participle.
fn is_participle(path: &str) -> bool {
    let name = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let word = name.rsplit(['/', '_']).next().unwrap_or(name);
    IRREGULAR.contains(&word) || (word.ends_with("ed") || word.ends_with("ing")) && !NOUNS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_named_by_a_participle_is_found_and_the_list_only_shrinks() {
        let paths = ["a/src/told.rs", "a/src/held_by.rs", "a/src/need.rs", "a/src/saving/mod.rs", "a/tests/told.rs"];
        let tree = Tree::of(paths.map(|path| (path, "")));
        let found: Vec<String> =
            files_with(&tree, "a/src/told.rs\na/src/gone.rs\n").into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["a/src/saving/mod.rs", "a/src/gone.rs"]);
    }

    #[test]
    fn a_name_of_three_types_is_found_at_each() {
        let tree = Tree::of([
            ("a.rs", "pub struct Place;\n"),
            ("b.rs", "    pub(crate) enum Place<T> {}\n"),
            ("c.rs", "pub trait Place {}\npub struct Other;\npub type Other2 = u8;\n"),
        ]);
        assert_eq!(types(&tree).len(), 3);
    }

    #[test]
    fn two_are_let_pass_and_so_are_those_of_one_file_or_of_tests() {
        let tree = Tree::of([
            ("a.rs", "pub struct Place;\n// pub struct Place;\n"),
            ("b.rs", "pub struct Place;\nstruct Place2;\npub(super) struct Place;\n"),
            ("c.rs", "struct Place;\n#[cfg(test)]\nmod tests {\n    pub struct Place;\n}\n"),
            ("a/tests/d.rs", "pub struct Place;\n"),
        ]);
        assert_eq!(types(&tree), []);
    }
}
