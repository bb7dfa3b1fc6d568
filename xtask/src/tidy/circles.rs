//! Circles of modules: files of a crate that all lead to each other, so that none can be read without the rest.
//!
//! An arrow leads from a file to the file whose items it names, by `use` or in the code. Re-exports are followed to where
//! the item is. A file may use what the files above it in its folder lend (`super::`, `crate::`): a parent with its children
//! is one thing in several files.

use super::source::Source;
use super::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The most files of a circle.
const FILES_MAX: usize = 5;

/// A module of a crate: the names from the crate's root down.
type Module = Vec<String>;

/// A crate's files and what each names.
#[derive(Default)]
struct Crate {
    /// The file of each module.
    files: BTreeMap<Module, String>,
    /// What a file names, resolved no further than its own words: paths from the crate's root.
    named: BTreeMap<Module, Vec<Module>>,
    /// Names that a file hands on, and where they come from.
    handed_on: BTreeMap<(Module, String), Module>,
}

/// No circle has more files than it may.
pub(super) fn circles(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, own) in crates(tree) {
        for circle in own.circles().iter().filter(|circle| circle.len() > FILES_MAX) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            let text =
                format!("{} files lead to each other, of {FILES_MAX} allowed: {}", circle.len(), names.join(", "));
            findings.push(Finding::new(&folder, 0, text));
        }
    }
    findings
}

/// Every crate by its folder.
fn crates(tree: &Tree) -> BTreeMap<String, Crate> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    let sources: Vec<(&str, &str, &Source)> = tree
        .with_extension("rs")
        .filter_map(|file| {
            let (folder, path) = file.path.split_once("/src/")?;
            (!path.ends_with("tests.rs")).then(|| (folder, path, file.source()))
        })
        .collect();
    for (folder, path, _) in &sources {
        let own = crates.entry((*folder).to_owned()).or_default();
        own.files.insert(module(path), format!("{folder}/src/{path}"));
    }
    for (folder, path, source) in &sources {
        if let Some(own) = crates.get_mut(*folder) {
            own.read(&module(path), source);
        }
    }
    crates
}

/// `a/mod.rs` and `a.rs` are the module `a`; `lib.rs` and `main.rs` are the root.
fn module(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

impl Crate {
    /// Takes in what a file names.
    fn read(&mut self, here: &Module, source: &Source) {
        let lines = source.code.iter().zip(&source.is_test).filter(|(_, is_test)| !**is_test);
        let code: Vec<&str> = lines.map(|(line, _)| line.as_str()).collect();
        let mut rest = String::new();
        let mut named = Vec::new();
        for statement in statements(&code.join("\n")) {
            let words = statement.trim_start();
            let (is_public, after) = visibility(words);
            let Some(tree) = after.strip_prefix("use ") else {
                rest += &statement;
                continue;
            };
            for path in leaves(tree.trim_end_matches(';')) {
                let Some(path) = self.absolute(here, &path) else { continue };
                if is_public {
                    let name = path.last().cloned().unwrap_or_default();
                    self.handed_on.insert((here.clone(), name), path);
                } else {
                    named.push(path);
                }
            }
        }
        named.extend(paths(&rest).filter_map(|path| self.absolute(here, &path)));
        self.named.insert(here.clone(), named);
    }

    /// A path as seen from the crate's root; `None` where it leads out of the crate.
    fn absolute(&self, here: &Module, path: &[String]) -> Option<Module> {
        let mut from = here.clone();
        let mut names = path;
        match names.first()?.as_str() {
            "crate" => (from, names) = (Vec::new(), &names[1..]),
            "self" => names = &names[1..],
            "super" => {
                while names.first().is_some_and(|name| name == "super") {
                    from.pop();
                    names = &names[1..];
                }
            }
            first => {
                let child: Module = here.iter().cloned().chain([first.to_owned()]).collect();
                if !self.files.contains_key(&child) {
                    return None;
                }
            }
        }
        Some(from.into_iter().chain(names.iter().cloned()).collect())
    }

    /// The module that a path from the root leads to, through what files hand on.
    fn target(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        // A name may be handed on by several files; no more than there are.
        for _ in 0..self.files.len() {
            let mut at = 0;
            while at < path.len() && self.files.contains_key(&path[..=at]) {
                at += 1;
            }
            let module = path[..at].to_vec();
            let Some(name) = path.get(at) else { return module };
            match self.handed_on.get(&(module.clone(), name.clone())) {
                Some(origin) => path = origin.iter().chain(&path[at + 1..]).cloned().collect(),
                None => return module,
            }
        }
        path
    }

    /// The arrows between files.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let arrows = |(from, paths): (_, &Vec<Module>)| {
            let from: &Module = from;
            let targets = paths.iter().map(|path| self.target(path));
            (from, targets.filter(|to| !from.starts_with(to) && self.files.contains_key(to)).collect())
        };
        self.named.iter().map(arrows).collect()
    }

    /// Sets of two files and more of which each leads to each.
    fn circles(&self) -> Vec<BTreeSet<Module>> {
        let arrows = self.arrows();
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            arrows.keys().map(|from| (*from, reachable(from, &arrows))).collect();
        let mut circles: BTreeSet<BTreeSet<Module>> = BTreeSet::new();
        for (from, to) in &reached {
            let back = |other: &&Module| reached.get(*other).is_some_and(|to| to.contains(*from));
            let circle: BTreeSet<Module> = to.iter().filter(back).cloned().collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }
}

/// Everything that arrows lead to from a file.
fn reachable(from: &Module, arrows: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(next) = open.pop() {
        for to in arrows.get(&next).into_iter().flatten() {
            if reached.insert(to.clone()) {
                open.push(to.clone());
            }
        }
    }
    reached
}

/// Code cut at the marks that end statements, with the braces of `use` trees left whole.
fn statements(code: &str) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for piece in code.split_inclusive([';', '{', '}']) {
        match joined.last_mut() {
            Some(last) if is_use(last) && !last.trim_end().ends_with(';') => last.push_str(piece),
            _ => joined.push(piece.to_owned()),
        }
    }
    joined
}

fn is_use(statement: &str) -> bool {
    visibility(statement.trim_start()).1.starts_with("use ")
}

/// Whether an item is handed on, and its words behind `pub`, `pub(...)` and attributes.
fn visibility(words: &str) -> (bool, &str) {
    let mut words = words;
    while let Some((_, after)) = words.strip_prefix("#[").and_then(|rest| rest.split_once(']')) {
        words = after.trim_start();
    }
    let Some(after) = words.strip_prefix("pub") else { return (false, words) };
    let after = after.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(after, |(_, after)| after);
    (true, after.trim_start())
}

/// The paths of a `use` tree, without what names are made into.
fn leaves(tree: &str) -> Vec<Module> {
    let mut found = Vec::new();
    let mut depth = 0;
    let parts = tree.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        let names =
            |text: &str| text.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if let Some((prefix, group)) = part.split_once('{') {
            let prefix: Module = names(prefix);
            let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
            found.extend(leaves(group).into_iter().map(|leaf| prefix.iter().cloned().chain(leaf).collect()));
        } else {
            found.push(names(part.split(" as ").next().unwrap_or(part)));
        }
    }
    found
}

/// The paths of several names in code.
fn paths(code: &str) -> impl Iterator<Item = Module> {
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    words.filter(|word| word.contains("::") && !word.starts_with(':')).map(|word| {
        word.split("::").map(|name| name.trim_matches(':').to_owned()).filter(|name| !name.is_empty()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(files: &[(&str, &str)]) -> Vec<usize> {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.files.push(super::super::TreeFile::new(format!("pure/a/src/{path}"), *text));
        }
        crates(&tree)["pure/a"].circles().iter().map(BTreeSet::len).collect()
    }

    #[test]
    fn files_that_lead_to_each_other_are_a_circle_by_use_and_by_path() {
        let root = ("lib.rs", "mod b;\nmod c;\nmod d;\n");
        let b = ("b.rs", "use crate::{\n    c::{self, C},\n    d::D as E,\n};\n");
        assert_eq!(sizes(&[root, b, ("c.rs", "fn f() { crate::b::g(); }\n"), ("d.rs", "")]), [2]);
        assert_eq!(sizes(&[root, b, ("c.rs", "use super::d::D;\n"), ("d.rs", "use super::b;\n")]), [3]);
        assert_eq!(sizes(&[root, b, ("c.rs", ""), ("d.rs", "use super::c;\n")]), [0; 0]);
    }

    #[test]
    fn what_is_handed_on_is_followed_and_what_a_parent_lends_is_no_arrow() {
        let root = ("lib.rs", "mod b;\nmod c;\npub use b::B;\npub(crate) use c::C;\nfn f() { b::g(); }\n");
        assert_eq!(sizes(&[root, ("b.rs", "use crate::C;\n"), ("c.rs", "use crate::B;\n")]), [2]);
        assert_eq!(sizes(&[root, ("b.rs", "use crate::f;\n"), ("c.rs", "use super::f;\n")]), [0; 0]);
        let children = [("b/mod.rs", "mod x;\nuse x::X;\n"), ("b/x.rs", "use super::Y;\nuse crate::b::Z;\n")];
        assert_eq!(sizes(&children), [0; 0]);
    }

    #[test]
    fn tests_and_comments_are_no_arrows() {
        let b = ("b.rs", "// crate::c::f\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n");
        assert_eq!(sizes(&[("lib.rs", ""), b, ("c.rs", "use crate::b::B;\n")]), [0; 0]);
    }

    #[test]
    fn a_large_circle_is_found() {
        let names = ["b", "c", "d", "e", "f", "g"];
        let files: Vec<(String, String)> = (0..6)
            .map(|i| (format!("pure/a/src/{}.rs", names[i]), format!("use crate::{}::X;\n", names[(i + 1) % 6])))
            .collect();
        let mut tree = Tree::default();
        tree.files.extend(files.into_iter().map(|(path, text)| super::super::TreeFile::new(path, text)));
        assert!(circles(&tree)[0].text.starts_with("6 files lead to each other, of 5 allowed: b, c, d"));
    }
}
