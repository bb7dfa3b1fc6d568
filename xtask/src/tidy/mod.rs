//! The rules of the tree that a machine can hold: each a function from the tree to what it finds, with file and line.

mod circles;
mod flags;
mod manifests;
mod names;
mod pages;
mod prose;
mod rust;
mod sentences;
mod source;
mod systems;
mod texts;

use crate::step::Outcome;
use source::Source;
use std::cell::OnceCell;
use std::path::Path;
use std::process::Command;

/// What a rule objects to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// From 1; 0 where the whole file is meant.
    line: usize,
    text: String,
}

impl Finding {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

/// The files that a commit would hold, as paths from the root with forward slashes, and their texts.
#[derive(Debug, Default)]
struct Tree {
    files: Vec<TreeFile>,
}

/// One file; `text` is empty where it is not text.
#[derive(Debug)]
struct TreeFile {
    path: String,
    text: String,
    /// As Rust, taken apart once for all rules.
    source: OnceCell<Source>,
}

impl TreeFile {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), source: OnceCell::new() }
    }
    fn source(&self) -> &Source {
        self.source.get_or_init(|| Source::parse(&self.text))
    }
}

impl Tree {
    /// Every file that git knows or would add; `None` where there is no git or no repository.
    fn read(root: &Path) -> Option<Self> {
        let mut files = Vec::new();
        for path in listed(root)? {
            // A file that was deleted and not yet committed is listed, too.
            if let Ok(bytes) = std::fs::read(root.join(&path)) {
                files.push(TreeFile::new(path, String::from_utf8(bytes).unwrap_or_default()));
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Some(Self { files })
    }
    #[cfg(test)]
    fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self { files: files.into_iter().map(|(path, text)| TreeFile::new(path, text)).collect() }
    }
    fn file(&self, path: &str) -> Option<&TreeFile> {
        self.files.iter().find(|file| file.path == path)
    }
    fn with_extension(&self, extension: &str) -> impl Iterator<Item = &TreeFile> {
        let ending = format!(".{extension}");
        self.files.iter().filter(move |file| file.path.ends_with(&ending))
    }
    /// Whether `path` is a file, or a folder of files.
    fn holds(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty() || self.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    }
}

/// What git lists; `None` where there is no git or no repository.
fn listed(root: &Path) -> Option<Vec<String>> {
    let mut command = Command::new("git");
    // A checkout may belong to another user than the one who builds.
    command.arg("-c").arg(format!("safe.directory={}", root.display()));
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let paths = String::from_utf8_lossy(&output.stdout).split_terminator('\0').map(str::to_owned).collect();
    Some(paths)
}

/// A rule: its name and what finds its breaches.
type Rule = (&'static str, fn(&Tree) -> Vec<Finding>);

const RULES: &[Rule] = &[
    ("a crate uses only what stands to its left", manifests::directions),
    ("a package has the name of its folder", manifests::package_names),
    ("pure/ takes in only what is on its list", manifests::pure_dependencies),
    ("every crate keeps the workspace's lints", manifests::lints),
    ("pure/ touches no clock, file, thread or environment", rust::purity),
    ("unsafe code lives in three crates of host/, each with its SAFETY comment", rust::unsafety),
    ("only the command names its options", flags::flags),
    ("a feature switches whole modules in a few first files and nothing else", flags::features),
    ("a system switches whole files, and none in pure/", systems::systems),
    ("nothing is left undone or switched off", rust::leftovers),
    ("a Rust file opens with its purpose", rust::purpose),
    ("a Rust file is at most 700 lines long", rust::length),
    ("a type's name is declared at most twice", names::types),
    ("a source file is named by a noun", names::files),
    ("no circle of more than five files", circles::circles),
    ("no code decides by the text of a sentence", texts::decisions),
    ("no line of a verdict is a pair of texts", texts::pairs),
    ("no stray whitespace", prose::whitespace),
    ("links between documents resolve", prose::links),
    ("the text speaks of loadline alone", prose::words),
    ("every doubt is explained in docs/doubts.md", prose::doubts),
    ("every limit is explained in docs/limits.md", prose::limits),
    ("the change log has an Unreleased section", prose::changelog),
    ("every decision has a page", prose::decisions),
    ("a page for users is short and names no type", pages::pages),
    ("documents have short sentences", sentences::documents),
    ("printed sentences are short", sentences::printed),
    ("comments have short sentences", sentences::comments),
];

/// The step of the gate.
pub(crate) fn step(root: &Path) -> Outcome {
    let Some(tree) = Tree::read(root) else { return Outcome::skip("the rules of the tree (git lists no files)") };
    let mut outcome = Outcome::default();
    for (name, rule) in RULES {
        let mut findings = rule(&tree);
        findings.sort();
        if findings.is_empty() {
            outcome.passed += 1;
            continue;
        }
        outcome.failed += 1;
        outcome.notes.push(format!("{} x {name}", findings.len()));
        println!("{name}:");
        for Finding { path, line, text } in findings {
            println!("  {path}:{line}: {text}");
        }
    }
    println!("{} files, {} rules", tree.files.len(), RULES.len());
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_by_its_files() {
        let tree = Tree::of([("docs/a.md", "")]);
        assert!(tree.holds("docs") && tree.holds("docs/") && tree.holds("docs/a.md"));
        assert!(!tree.holds("doc") && !tree.holds("docs/b.md"));
    }
}
