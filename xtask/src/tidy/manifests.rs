//! Rules about `Cargo.toml` files: which crate may use which.

use super::{Finding, Tree, TreeFile};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// What stands to the left of what.
const LEFT_OF: &str = include_str!("crates.toml");

/// For each name, the names that stand to its left.
type Row = BTreeMap<String, Vec<String>>;

/// The two tables: of wings, which are folders, and of crates by the last name of their folders.
struct LeftOf {
    wings: Row,
    crates: Row,
}

impl LeftOf {
    fn read() -> Self {
        let mut tables: BTreeMap<String, Row> = toml::from_str(LEFT_OF).expect("its form is tested");
        let mut table = |name| tables.remove(name).expect("there are two tables");
        Self { wings: table("wings"), crates: table("crates") }
    }
    /// The wing of a crate, and what that wing and the crate itself may use.
    fn of(&self, folder: &str) -> Option<(&str, &[String], &[String])> {
        let (wing, beyond) = self.wings.iter().find(|(wing, _)| is_within(folder, wing))?;
        Some((wing, beyond, self.crates.get(last(folder))?))
    }
}

/// The name of a folder alone.
fn last(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Crates that no other may use, and that may use any.
const FREE: &[&str] = &["xtask", "tests", "benches", "fuzz"];

/// What crates in `pure/` may take in from outside, and what their tests may take in besides.
const PURE: &[&str] = &[
    "aes",
    "ctr",
    "data-encoding",
    "libm",
    "poly1305",
    "quick-xml",
    "rand_core",
    "rand_xoshiro",
    "scrypt",
    "serde",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
    "toml",
    "zstd",
];
const PURE_TESTS: &[&str] = &["proptest", "jsonschema"];

/// A crate's manifest.
struct Manifest<'a> {
    file: &'a TreeFile,
    /// Without the file's name; empty for the root.
    folder: &'a str,
    table: Table,
}

/// One entry of a dependency table.
struct Dependency {
    name: String,
    /// For tests only.
    test: bool,
    line: usize,
}

impl Manifest<'_> {
    fn name(&self) -> Option<&str> {
        self.table.get("package")?.get("name")?.as_str()
    }
    fn is_free(&self) -> bool {
        FREE.iter().any(|free| is_within(self.folder, free))
    }
    /// Where `key` is first set, from 1.
    fn line_of(&self, key: &str) -> usize {
        let sets = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', ' ', '=', ']']));
        self.file.text.lines().position(sets).map_or(1, |index| index + 1)
    }
    /// Every dependency of every kind and platform, by the name of its package.
    fn dependencies(&self) -> Vec<Dependency> {
        let mut tables = vec![&self.table];
        if let Some(Value::Table(targets)) = self.table.get("target") {
            tables.extend(targets.values().filter_map(Value::as_table));
        }
        let mut all = Vec::new();
        for table in tables {
            for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
                for (key, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                    let name = value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned();
                    all.push(Dependency { name, test: kind == "dev-dependencies", line: self.line_of(key) });
                }
            }
        }
        all
    }
}

fn is_within(folder: &str, place: &str) -> bool {
    folder == place
        || folder
            .strip_prefix(place)
            .is_some_and(|rest| rest.starts_with('/') || (place.ends_with('/') && !rest.is_empty()))
}

/// Every manifest, and findings about those that cannot be read.
fn manifests(tree: &Tree) -> (Vec<Manifest<'_>>, Vec<Finding>) {
    let (mut manifests, mut findings) = (Vec::new(), Vec::new());
    for file in &tree.files {
        let Some(folder) = file.path.strip_suffix("Cargo.toml") else { continue };
        match file.text.parse::<Table>() {
            Ok(table) => manifests.push(Manifest { file, folder: folder.trim_end_matches('/'), table }),
            Err(error) => findings.push(Finding::new(&file.path, 1, format!("is not TOML: {}", error.message()))),
        }
    }
    (manifests, findings)
}

/// Holds the direction of every dependency between the project's own crates.
pub(super) fn directions(tree: &Tree) -> Vec<Finding> {
    let (manifests, mut findings) = manifests(tree);
    let left_of = LeftOf::read();
    for manifest in manifests.iter().filter(|manifest| manifest.name().is_some() && !manifest.is_free()) {
        let path = &manifest.file.path;
        let Some((wing, beyond, left)) = left_of.of(manifest.folder) else {
            findings.push(Finding::new(path, 1, "this crate has no place in xtask/src/tidy/crates.toml"));
            continue;
        };
        for Dependency { name, test, line } in manifest.dependencies() {
            let Some(used) = manifests.iter().find(|other| other.name() == Some(&name)) else { continue };
            // Tests of a crate take it in with what is for tests alone.
            let is_own = test && used.folder == manifest.folder;
            let stands =
                |of: &[String]| of.iter().any(|place| place == last(used.folder) || is_within(used.folder, place));
            if !is_within(used.folder, wing) && !stands(beyond) {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("{} does not stand to the left of {wing}", used.folder),
                ));
            } else if !is_own && !stands(left) {
                let text = format!("{} does not stand to the left of {}", used.folder, manifest.folder);
                findings.push(Finding::new(path, line, text));
            }
        }
    }
    findings
}

/// A package has the name of its folder; in a wing of one subject the wing's name stands before it.
pub(super) fn package_names(tree: &Tree) -> Vec<Finding> {
    let (manifests, _) = manifests(tree);
    let mut findings = Vec::new();
    for manifest in manifests.iter().filter(|manifest| !manifest.is_free()) {
        let Some(name) = manifest.name().filter(|_| manifest.folder != "host/cli") else { continue };
        let folder = last(manifest.folder);
        let wing = if manifest.folder.contains("/shelter/") { "shelter-" } else { "" };
        let wanted = format!("loadline-{wing}{folder}");
        if name != wanted {
            findings.push(Finding::new(
                &manifest.file.path,
                manifest.line_of("name"),
                format!("is to be named {wanted}"),
            ));
        }
    }
    findings
}

/// Holds the list of what `pure/` may take in.
pub(super) fn pure_dependencies(tree: &Tree) -> Vec<Finding> {
    let (manifests, _) = manifests(tree);
    let own: Vec<&str> = manifests.iter().filter_map(Manifest::name).collect();
    let mut findings = Vec::new();
    for manifest in manifests.iter().filter(|manifest| manifest.folder.starts_with("pure/")) {
        for Dependency { name, test, line } in manifest.dependencies() {
            let listed = PURE.contains(&name.as_str()) || (test && PURE_TESTS.contains(&name.as_str()));
            if !listed && !own.contains(&name.as_str()) {
                let text = format!("{name} is not on the list of what pure/ may take in (xtask/src/tidy/manifests.rs)");
                findings.push(Finding::new(&manifest.file.path, line, text));
            }
        }
    }
    findings
}

/// Every crate inherits the workspace's lints; those that may hold unsafe code repeat them.
pub(super) fn lints(tree: &Tree) -> Vec<Finding> {
    let (manifests, _) = manifests(tree);
    let inherited = |manifest: &&Manifest<'_>| {
        let lints = manifest.table.get("lints");
        lints.and_then(|lints| lints.get("workspace")).and_then(Value::as_bool) == Some(true)
    };
    let repeats = |m: &Manifest<'_>| super::rust::UNSAFE_IN.contains(&m.folder) || m.folder == "fuzz";
    let crates = manifests.iter().filter(|m| m.name().is_some() && !repeats(m));
    let bare = crates.filter(|manifest| !inherited(manifest));
    bare.map(|manifest| Finding::new(&manifest.file.path, 1, "lacks `[lints] workspace = true`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: (&str, &str) = ("pure/words/units/Cargo.toml", "[package]\nname = \"l-units\"\n");
    const CLI: (&str, &str) = (
        "host/cli/Cargo.toml",
        "[package]\nname = \"l\"\n[dependencies]\nl-store.workspace = true\nl-units.workspace = true\n",
    );
    const STORE: (&str, &str) = ("host/store/Cargo.toml", "[package]\nname = \"l-store\"\n");

    #[test]
    fn a_crate_may_use_what_stands_to_its_left() {
        assert_eq!(directions(&Tree::of([UNITS, CLI, STORE])), []);
    }

    #[test]
    fn a_dependency_to_the_right_is_found_whatever_its_kind_or_name() {
        for text in [
            "[package]\nname = \"l-block\"\n[dev-dependencies]\nl-store.workspace = true\n",
            "[package]\nname = \"l-block\"\n[target.'cfg(unix)'.dependencies]\nl-store.workspace = true\n",
            "[package]\nname = \"l-block\"\n[build-dependencies]\nother = { package = \"l-store\", path = \"x\" }\n",
        ] {
            let findings = directions(&Tree::of([UNITS, STORE, ("pure/words/block/Cargo.toml", text)]));
            assert_eq!(findings.len(), 1, "{text}");
            assert_eq!(findings[0].line, 4);
        }
    }

    #[test]
    fn a_wing_uses_only_wings_to_its_left_and_those_form_no_circle() {
        let text = "[package]\nname = \"l-store\"\n[dependencies]\nl-policy = \"1\"\n";
        let policy = ("pure/shelter/policy/Cargo.toml", "[package]\nname = \"l-policy\"\n");
        let findings = directions(&Tree::of([policy, ("host/store/Cargo.toml", text)]));
        assert_eq!(
            findings,
            [Finding::new("host/store/Cargo.toml", 4, "pure/shelter/policy does not stand to the left of host/store")]
        );
        let mut wings = LeftOf::read().wings;
        while !wings.is_empty() {
            let (names, before) = (wings.keys().cloned().collect::<Vec<_>>(), wings.len());
            wings.retain(|_, left| left.iter().any(|place| names.iter().any(|name| is_within(name, place))));
            assert!(wings.len() < before, "{names:?}");
        }
    }

    #[test]
    fn a_package_of_another_name_than_its_folder_is_found() {
        let named = |folder: &str, name: &str| {
            let text = format!("[package]\nname = \"{name}\"\n");
            package_names(&Tree::of([(&format!("{folder}/Cargo.toml"), &text)])).len()
        };
        assert_eq!((named("pure/words/units", "loadline-units"), named("host/cli", "loadline")), (0, 0));
        assert_eq!(
            (named("pure/words/units", "loadline-unit"), named("host/shelter/service", "loadline-service")),
            (1, 1)
        );
    }

    #[test]
    fn a_crate_without_a_place_is_found_and_free_ones_are_not() {
        let text = "[package]\nname = \"l-new\"\n[dependencies]\nl.workspace = true\n";
        assert_eq!(directions(&Tree::of([CLI, ("pure/new/Cargo.toml", text)])).len(), 1);
        assert_eq!(directions(&Tree::of([CLI, STORE, UNITS, ("tests/Cargo.toml", text)])), []);
    }

    #[test]
    fn pure_takes_in_only_what_is_listed() {
        let text = "[package]\nname = \"l-a\"\n[dependencies]\nserde = \"1\"\nl-units.workspace = true\nlibc = \"1\"\n\
                    proptest = \"1\"\n[dev-dependencies]\njsonschema = \"1\"\n";
        let findings = pure_dependencies(&Tree::of([UNITS, ("pure/a/Cargo.toml", text)]));
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [6, 7]);
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let with = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n";
        assert_eq!(lints(&Tree::of([("pure/a/Cargo.toml", with), UNITS])).len(), 1);
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_found() {
        assert_eq!(directions(&Tree::of([("pure/a/Cargo.toml", "[package\n")])).len(), 1);
    }
}
