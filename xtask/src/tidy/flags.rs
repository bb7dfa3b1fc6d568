//! The rule about options: only the command names its own.
//!
//! A library is called by other programs too, which have no `--overwrite` to drop. Its errors name the cause and the kind of remedy.

use super::{Finding, Tree};

/// Where options may be named: the command, programs that start it or others, and tests.
const ALLOWED_IN: [&str; 5] = ["host/cli/", "xtask/", "benches/", "tests/", "fuzz/"];

/// Options of other programs: file, option, whose.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("host/machine/emulator/src/attach/block_device.rs", "--detach", "losetup's"),
    ("host/machine/emulator/src/attach/block_device.rs", "--direct-io", "losetup's"),
    ("host/machine/emulator/src/attach/block_device.rs", "--find", "losetup's"),
    ("host/machine/emulator/src/attach/block_device.rs", "--show", "losetup's"),
    ("host/machine/engine/src/nbd/handshake.rs", "--list", "nbdinfo's"),
    ("host/machine/engine/src/nbd/mod.rs", "--shared", "qemu-nbd's"),
    ("host/machine/engine/src/target/error.rs", "--setrw", "blockdev's"),
    ("host/machine/engine/src/target/export.rs", "--shared", "qemu-nbd's"),
    ("host/machine/kernel/src/facts/in_use.rs", "--stop", "mdadm's"),
    ("host/runs/src/linux/checkup/target.rs", "--direct-io", "losetup's"),
    ("pure/strangers/imported/src/fio/mod.rs", "--status-interval", "fio's"),
    ("pure/choice/recognition/src/text.rs", "--volume-ids", "the AWS command's"),
    ("pure/workload/src/fio/command.rs", "--name", "fio's"),
];

/// Where commands of other programs are written, for people to read and run: whose options they are.
const SCRIPTS: &[(&str, &str)] = &[
    ("pure/choice/advise/src/script/", "the providers' tools and mdadm"),
    ("pure/choice/demand/src/dool.rs", "dool's and dstat's"),
    ("pure/choice/demand/src/other_tools.rs", "what records a demand"),
    ("pure/strangers/imported/src/other_tools.rs", "what measures"),
];

/// Options in string literals, outside the command.
pub(super) fn flags(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_script = |path: &str| SCRIPTS.iter().any(|(known, _)| path.starts_with(known));
    for file in tree.with_extension("rs").filter(|file| is_library(&file.path) && !is_script(&file.path)) {
        let source = file.source();
        for (index, literal) in source.literals.iter().enumerate().filter(|(index, _)| !source.is_test[*index]) {
            for option in options(literal) {
                let excepted = EXCEPTIONS.iter().any(|(path, known, _)| (*path, *known) == (&*file.path, option));
                if !excepted {
                    let text = format!("{option} is the command's to name; give the cause and a typed remedy");
                    findings.push(Finding::new(&file.path, index + 1, text));
                }
            }
        }
    }
    findings
}

/// Sources of a library, without what only its tests use.
fn is_library(path: &str) -> bool {
    let is_tests = path.ends_with("/tests.rs") || path.contains("/tests/");
    !is_tests && !ALLOWED_IN.iter().any(|place| path.starts_with(place))
}

/// Each `--word` in a line of literals.
fn options(literal: &str) -> impl Iterator<Item = &str> {
    literal.match_indices("--").filter_map(|(at, _)| {
        let (before, option) = literal.split_at(at);
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
            || !option[2..].starts_with(|c: char| c.is_ascii_lowercase())
        {
            return None;
        }
        let end =
            option[2..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).map_or(option.len(), |end| end + 2);
        Some(option[..end].trim_end_matches('-'))
    })
}

/// Where code of the workspace may depend on a feature: the gate builds one set, so all else must be the same in every build.
/// The repository names a module of object stores, whose hundred packages only such a build has; the analysis one for tests of others;
/// the command's build script a whole module.
const SWITCHES: [&str; 8] = [
    "host/cli/build.rs",
    "host/cli/src/lib.rs",
    "host/cli/src/linux/mod.rs",
    "pure/report/src/words/mod.rs",
    "host/crawl/src/extract/mod.rs",
    "host/shelter/repository/src/lib.rs",
    "host/shelter/repository/src/storage/mod.rs",
    "pure/judgement/analysis/src/lib.rs",
];

/// Only the listed files ask for features; there the module without the feature is also built for tests.
pub(super) fn features(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        if super::rust::is_test_file(&file.path) {
            continue;
        }
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("#[cfg")) {
            if line.contains("feature =") && !SWITCHES.contains(&&*file.path) {
                let text = "only a few first files switch by a feature: put what differs into a module of its own";
                findings.push(Finding::new(&file.path, index + 1, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        flags(&Tree::of([(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_option_in_a_string_of_a_library_is_found() {
        let text = "//! p\n// drop --read-only\n/// See `--size`.\nfn f() { g(\"drop --read-only\", \"a--b\", '-'); }\n\
                    const A: &str = \"a \\\n    with --size\";\nlet x = y --z;\n#[cfg(test)]\nmod t { f(\"--x\"); }\n";
        assert_eq!(lines("host/machine/engine/src/a.rs", text), [4, 6]);
        assert_eq!(lines("pure/a/src/a.rs", text), [4, 6]);
        for path in ["host/cli/src/a.rs", "pure/a/tests/a.rs", "pure/a/src/a/tests.rs", "xtask/src/a.rs"] {
            assert_eq!(lines(path, text), [0; 0], "{path}");
        }
    }

    #[test]
    fn options_of_other_programs_are_excepted_by_name() {
        let text = "const A: &str = \"mdadm --stop\";\nconst B: &str = \"--stopped\";\n";
        assert_eq!(lines("host/machine/kernel/src/facts/in_use.rs", text), [2]);
    }

    #[test]
    fn no_exception_is_left_over() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (path, option, _) in EXCEPTIONS {
            let text = std::fs::read_to_string(root.join(path)).unwrap_or_default();
            assert!(text.contains(option), "{path} has no {option}");
        }
    }

    #[test]
    fn a_feature_asked_for_elsewhere_is_found() {
        let text = "//! p\n#[cfg(feature = \"x\")]\nfn a() {}\n";
        assert_eq!(features(&Tree::of([("host/runs/src/a.rs", text)])).len(), 1);
        assert_eq!(features(&Tree::of([("host/cli/src/linux/mod.rs", text), ("host/cli/tests/a.rs", text)])), []);
    }
}
