//! One name, one thing: how often a type's name is declared in the workspace.

use super::source::Source;
use super::{Finding, Tree};
use std::collections::BTreeMap;

/// Types of one name that a reader can still tell apart.
const DECLARED_MAX: usize = 2;

/// Names that are declared more often, each with the reason. A name that no longer is leaves the list.
const OFTENER: &[(&str, &str)] = &[];

/// A public or crate-wide type's name is declared at most twice.
pub(super) fn types(tree: &Tree) -> Vec<Finding> {
    types_with(tree, OFTENER)
}

fn types_with(tree: &Tree, oftener: &[(&str, &str)]) -> Vec<Finding> {
    let mut declared: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for file in tree.with_extension("rs").filter(|file| !super::rust::is_test_file(&file.path)) {
        let source = Source::parse(&file.text);
        for (index, line) in source.code.iter().enumerate().filter(|(index, _)| !source.is_test[*index]) {
            if let Some(name) = declared_type(line) {
                declared.entry(name.to_owned()).or_default().push((file.path.clone(), index + 1));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, places) in &declared {
        let excused = oftener.iter().any(|(listed, reason)| listed == name && !reason.is_empty());
        if places.len() <= DECLARED_MAX || excused {
            continue;
        }
        for (path, line) in places {
            let text = format!("`{name}` is one of {} types of that name: name it by its role", places.len());
            findings.push(Finding::new(path, *line, text));
        }
    }
    for (name, _) in oftener {
        if declared.get(*name).is_none_or(|places| places.len() <= DECLARED_MAX) {
            let text = format!("`{name}` is no longer declared so often: take it off the list");
            findings.push(Finding::new("xtask/src/tidy/names.rs", 0, text));
        }
    }
    findings
}

/// The public or crate-wide type that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let words = line.trim_start();
    let words = words.strip_prefix("pub(crate) ").or_else(|| words.strip_prefix("pub "))?;
    let (kind, rest) = words.split_once(' ')?;
    ["struct", "enum", "trait", "type", "union"].contains(&kind).then_some(())?;
    rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_three_types_is_found_at_each() {
        let tree = Tree::of([
            ("a.rs", "pub struct Place;\n"),
            ("b.rs", "    pub(crate) enum Place<T> {}\n"),
            ("c.rs", "pub trait Place {}\npub struct Other;\npub type Other2 = u8;\n"),
        ]);
        assert_eq!(types_with(&tree, &[]).len(), 3);
        assert_eq!(types_with(&tree, &[("Place", "one for each floor")]), []);
        assert_eq!(types_with(&tree, &[("Place", "")]).len(), 3);
    }

    #[test]
    fn two_are_let_pass_and_so_are_those_of_one_file_or_of_tests() {
        let tree = Tree::of([
            ("a.rs", "pub struct Place;\n// pub struct Place;\n"),
            ("b.rs", "pub struct Place;\nstruct Place2;\npub(super) struct Place;\n"),
            ("c.rs", "struct Place;\n#[cfg(test)]\nmod tests {\n    pub struct Place;\n}\n"),
            ("a/tests/d.rs", "pub struct Place;\n"),
        ]);
        assert_eq!(types_with(&tree, &[]), []);
    }

    #[test]
    fn a_name_on_the_list_must_need_it() {
        let tree = Tree::of([("a.rs", "pub struct Place;\n")]);
        assert_eq!(types_with(&tree, &[("Place", "one for each floor")]).len(), 1);
    }
}
