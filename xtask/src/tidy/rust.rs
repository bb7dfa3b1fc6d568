//! Rules about Rust files.

use super::source::Source;
use super::{Finding, Tree, TreeFile};

/// What pure code may not name, and what to use instead. `pure/clippy.toml` bans the functions themselves; this also
/// finds what comes in by another name.
const IMPURE: &[(&str, &str)] = &[
    ("Instant::now", "time is an argument"),
    ("SystemTime", "time is an argument"),
    ("std::fs", "files are host/'s"),
    ("std::net", "the network is host/'s"),
    ("std::thread", "threads are host/'s"),
    ("std::env", "the environment is host/'s"),
    ("std::process", "processes are host/'s"),
    ("thread_rng", "randomness is seeded"),
    ("thread_local", "no state outlives a call"),
    ("RandomState", "its order is random; use BTreeMap"),
    ("from_os_rng", "randomness is seeded"),
    ("getrandom", "randomness is seeded"),
];

const LINES_MAX: usize = 700;

pub(super) fn is_test_file(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/benches/")
}

/// Every Rust file, taken apart.
fn sources(tree: &Tree) -> impl Iterator<Item = (&TreeFile, &Source)> {
    tree.with_extension("rs").map(|file| (file, file.source()))
}

/// The columns at which `word` stands in `line` as a whole word.
fn word_columns<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).map(|(column, _)| column).filter(move |column| {
        !joins(line[..*column].chars().next_back()) && !joins(line[column + word.len()..].chars().next())
    })
}

fn has_word(line: &str, word: &str) -> bool {
    word_columns(line, word).next().is_some()
}

/// Pure code, its tests apart, names no clock, file, thread, environment or unseeded randomness.
pub(super) fn purity(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in sources(tree) {
        let in_source = file.path.starts_with("pure/") && file.path.contains("/src/") && !is_test_file(&file.path);
        if !in_source {
            continue;
        }
        for (index, line) in source.code.iter().enumerate().filter(|(index, _)| !source.is_test[*index]) {
            for (word, instead) in IMPURE.iter().filter(|(word, _)| has_word(line, word)) {
                findings.push(Finding::new(&file.path, index + 1, format!("{word}: {instead}")));
            }
            // `use std::{fs, thread}` names them without their path.
            if let Some(group) = line.split("std::{").nth(1) {
                for word in ["fs", "net", "thread", "env", "process"].into_iter().filter(|word| has_word(group, word)) {
                    findings.push(Finding::new(&file.path, index + 1, format!("std::{word} is host/'s")));
                }
            }
        }
    }
    findings
}

/// The crates that may hold unsafe code.
pub(super) const UNSAFE_IN: [&str; 4] = ["host/machine/kernel", "host/machine/engine", "host/python", "host/browser"];

/// `unsafe` stands only in the crates of [`UNSAFE_IN`], and each use has `// SAFETY:` directly above it (a function: `# Safety` in its
/// documentation does as well).
pub(super) fn unsafety(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in sources(tree) {
        let is_within = |place: &str| file.path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
        let may_hold = UNSAFE_IN.into_iter().any(is_within);
        for (index, line) in source.code.iter().enumerate() {
            for column in word_columns(line, "unsafe") {
                if !may_hold {
                    let text = format!("unsafe outside {}", UNSAFE_IN.join(" and "));
                    findings.push(Finding::new(&file.path, index + 1, text));
                } else if !is_type(&line[..column], &line[column..]) && !is_explained(source, index) {
                    findings.push(Finding::new(&file.path, index + 1, "unsafe without `// SAFETY:` directly above"));
                }
            }
        }
    }
    findings
}

/// Whether this `unsafe` belongs to the type of a function pointer, as in `handler: unsafe extern "C" fn(i32)`.
fn is_type(before: &str, after: &str) -> bool {
    let pointer = after.contains("fn(") || after.contains("fn (");
    pointer && before.trim_end().ends_with([':', '<', '(', ',', '=', '>'])
}

/// Whether the statement that `line` belongs to has a safety comment: beside it, or in the comment directly above where
/// attributes and the statement's own earlier lines may stand between.
fn is_explained(source: &Source, line: usize) -> bool {
    let explains = |line: usize| ["SAFETY:", "# Safety"].iter().any(|mark| source.comments[line].contains(mark));
    if explains(line) {
        return true;
    }
    let mut in_comment = false;
    for above in (0..line).rev() {
        let code = source.code[above].trim();
        if code.is_empty() && !source.comments[above].is_empty() {
            in_comment = true;
            if explains(above) {
                return true;
            }
        } else if in_comment || code.is_empty() || code.ends_with([';', '{', '}']) {
            return false;
        }
    }
    false
}

/// No unfinished code, no test switched off without a reason, and no note of work to do that does not say what would make it done.
pub(super) fn leftovers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in sources(tree) {
        for (index, line) in source.code.iter().enumerate() {
            for name in ["todo", "unimplemented", "dbg"] {
                if word_columns(line, name).any(|column| line[column + name.len()..].starts_with('!')) {
                    findings.push(Finding::new(&file.path, index + 1, format!("{name}! is left over")));
                }
            }
            if line.contains("#[ignore]") {
                let text = "a test is ignored without a reason; one that cannot run here prints `skipped: ` and why";
                findings.push(Finding::new(&file.path, index + 1, text));
            }
        }
        for (index, comment) in source.comments.iter().enumerate() {
            if has_word(comment, "FIXME") || has_word(comment, "XXX") {
                findings.push(Finding::new(&file.path, index + 1, "mend it, or say what would make it done"));
            }
            for column in word_columns(comment, "TODO") {
                let reason = comment[column + 4..].strip_prefix(':').unwrap_or_default();
                if reason.split_whitespace().count() < 3 {
                    findings.push(Finding::new(&file.path, index + 1, "TODO does not say what would make it done"));
                }
            }
        }
    }
    findings
}

/// The first line says what the file is for.
pub(super) fn purpose(tree: &Tree) -> Vec<Finding> {
    let says = |text: &str| text.lines().next().and_then(|line| line.strip_prefix("//! ")).is_some_and(|p| p.len() > 8);
    let silent = tree.with_extension("rs").filter(|file| !says(&file.text));
    silent.map(|file| Finding::new(&file.path, 1, "does not open with a `//!` line of purpose")).collect()
}

/// A long file has a second idea in it.
pub(super) fn length(tree: &Tree) -> Vec<Finding> {
    let lines = tree.with_extension("rs").map(|file| (file, file.text.lines().count()));
    let long = lines.filter(|(_, lines)| *lines > LINES_MAX);
    long.map(|(file, lines)| Finding::new(&file.path, lines, format!("{lines} lines: split it at its second idea")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_clock_in_pure_code_is_found_and_one_in_its_tests_is_not() {
        let text = "//! p\nuse std::time::Instant;\nfn f() { Instant::now(); }\nuse std::{fmt, fs};\n// Instant::now\n\
                    #[cfg(test)]\nmod tests {\n    fn g() { std::fs::read(\"x\"); }\n}\n";
        assert_eq!(lines(&purity(&Tree::of([("pure/a/src/lib.rs", text)]))), [3, 4]);
        assert_eq!(lines(&purity(&Tree::of([("host/a/src/lib.rs", text)]))), NONE);
        assert_eq!(lines(&purity(&Tree::of([("pure/a/tests/a.rs", text)]))), NONE);
    }

    #[test]
    fn unsafe_is_for_two_crates_only() {
        let text = "// SAFETY: x\nunsafe { f() }\n";
        assert_eq!(lines(&unsafety(&Tree::of([("host/cli/src/a.rs", text)]))), [2]);
        assert_eq!(lines(&unsafety(&Tree::of([("host/machine/engine/src/a.rs", text)]))), NONE);
        assert_eq!(lines(&unsafety(&Tree::of([("host/machine/kernel/src/a.rs", text)]))), NONE);
        assert_eq!(lines(&unsafety(&Tree::of([("host/kernels/src/a.rs", text)]))), [2]);
        assert_eq!(lines(&unsafety(&Tree::of([("pure/a/src/a.rs", "#![forbid(unsafe_code)]\n")]))), NONE);
    }

    #[test]
    fn each_unsafe_is_explained_directly_above() {
        let text = "\
fn a() {
    // SAFETY: the ring is ours,
    // and lives as long.
    #[allow(x)]
    let y =
        unsafe { f() };
    unsafe { f() };
    let z: unsafe extern \"C\" fn(i32) = g;
    // SAFETY: too far away

    unsafe { f() };
}
/// Does it.
/// # Safety
/// The pointer is valid.
unsafe fn b() {}
// SAFETY: it holds no thread-bound state
unsafe impl Send for A {}
unsafe impl Sync for A {}
";
        assert_eq!(lines(&unsafety(&Tree::of([("host/machine/engine/src/a.rs", text)]))), [7, 11, 19]);
    }

    #[test]
    fn what_is_left_over_is_found() {
        let text = "fn a() { todo!(\"x\") }\nlet my_todo = 1; dbg!(x);\n#[ignore]\n\
                    // TODO\n// TODO: read the size once the kernel tells it\n// FIXME: x\nlet s = \"todo!()\";\n\
                    #[ignore = \"started by another test\"]\n";
        assert_eq!(lines(&leftovers(&Tree::of([("a.rs", text)]))), [1, 2, 3, 4, 6]);
    }

    #[test]
    fn a_file_without_purpose_is_found() {
        let tree = Tree::of([("a.rs", "//! Reads the clock.\n"), ("b.rs", "use x;\n"), ("c.rs", "")]);
        assert_eq!(purpose(&tree).len(), 2);
    }

    #[test]
    fn a_long_file_is_found() {
        let long = "x\n".repeat(LINES_MAX + 1);
        let tree = Tree::of([("long.rs", long.as_str()), ("short.rs", "x\n")]);
        assert_eq!(length(&tree).len(), 1);
    }
}
