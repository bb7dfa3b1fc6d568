//! The rule about operating systems: what is one system's stands in a folder of its own, and not between lines of the others.

use super::{Finding, Tree};

/// The words of a condition on the system.
const WORDS: [&str; 4] = ["target_os", "target_family", "unix", "windows"];

/// Nothing in `pure/` asks for the system, and any other file once at most: there it chooses the file that is the system's.
pub(super) fn systems(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs").filter(|file| !super::rust::is_test_file(&file.path)) {
        let source = file.source();
        let lines = source.code.iter().enumerate().filter(|(index, _)| !source.is_test[*index]);
        let asking = lines.filter(|(_, line)| asks(line)).map(|(index, _)| index + 1);
        let (most, text) = if file.path.starts_with("pure/") {
            (0, "pure/ is the same on every system: put it below host/")
        } else {
            (1, "one condition on the system in a file: choose a file of its own by it (`linux` and `elsewhere`)")
        };
        findings.extend(asking.skip(most).map(|line| Finding::new(&file.path, line, text)));
    }
    findings
}

/// Whether a line has a condition on the system.
fn asks(line: &str) -> bool {
    let Some((_, condition)) = line.split_once("cfg") else { return false };
    let is_condition = condition.starts_with(['(', '!']) || condition.starts_with("_attr(");
    is_condition && condition.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        systems(&Tree::of([(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_second_condition_on_the_system_is_found() {
        let text = "//! p\n#[cfg_attr(not(target_os = \"linux\"), path = \"elsewhere.rs\")]\nmod linux;\nlet a = cfg!(windows);\n\
                    #[cfg(unix)]\nfn a() {}\n// cfg(windows)\n#[cfg(test)]\nmod tests {\n    #[cfg(unix)]\n    fn a() {}\n}\n";
        assert_eq!(lines("host/runs/src/a.rs", text), [4, 5]);
        assert_eq!(lines("pure/report/src/a.rs", text), [2, 4, 5]);
        assert_eq!(lines("host/runs/tests/a.rs", text), [0; 0]);
    }

    #[test]
    fn other_conditions_are_free() {
        let text = "//! p\n#[cfg(feature = \"unix\")]\n#[cfg(target_arch = \"x86_64\")]\nfn config(windows: u8) {}\n#[cfg(test)]\nmod t;\n";
        assert_eq!(lines("pure/a/src/a.rs", text), [0; 0]);
    }
}
