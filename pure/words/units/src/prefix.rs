//! Texts as people paste them: quoted, indented, or as a log that puts something before each line.

use std::borrow::Cow;

/// Kinds of prefixes that may stand one behind the other.
const ROUNDS: usize = 4;
/// What is the same before fewer lines may be their own.
const LINES_ALIKE: usize = 3;

/// The length of what a line has before its own text; `None` if it has nothing of this kind.
type PrefixOf<'a> = dyn Fn(&str) -> Option<usize> + 'a;

/// A text without what stands before each of its lines: marks of a quotation (`> `), a log's time (`2024-01-02T03:04:05.678Z `), the name of
/// what wrote it (`[pod/fio] `, `fio-1  | `) or an indentation. Lines keep their numbers, and blank ones may lack it.
#[must_use]
pub fn without_prefixes(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let Some(shorter) = shortened(&plain) else { break };
        plain = Cow::Owned(shorter);
    }
    plain
}

/// The text without one kind of prefix; `None` if it has none.
fn shortened(text: &str) -> Option<String> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    if let Some(plain) = without(text, 1, &quotation).or_else(|| without(text, 1, &time)) {
        return Some(plain);
    }
    if let Some(name) = name(first) {
        let is_same = |line: &str| line.starts_with(name).then_some(name.len());
        if let Some(plain) = without(text, LINES_ALIKE, &is_same) {
            return Some(plain);
        }
    }
    let indentation = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    // What the first line lacks, no other can have before it.
    if indentation(first) == 0 {
        return None;
    }
    let least =
        text.lines().filter(|line| !line.trim().is_empty()).map(indentation).min().filter(|least| *least > 0)?;
    without(text, 1, &|_| Some(least))
}

/// The text without a prefix that each of its lines has, of which there are so many.
fn without(text: &str, lines_min: usize, prefix: &PrefixOf<'_>) -> Option<String> {
    let mut plain = String::new();
    let mut lines = 0;
    for line in text.split_inclusive('\n') {
        let own = line.trim_end_matches(['\n', '\r']);
        if own.trim().is_empty() {
            plain.push_str(&line[own.len()..]);
            continue;
        }
        let rest = own.get(prefix(own)?..)?;
        plain.push_str(rest);
        plain.push_str(&line[own.len()..]);
        lines += 1;
    }
    (lines >= lines_min).then_some(plain)
}

fn quotation(line: &str) -> Option<usize> {
    let rest = line.strip_prefix('>')?;
    Some(1 + usize::from(rest.starts_with(' ')))
}

/// A time of RFC 3339 and the space behind it.
fn time(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let shape = |at: usize, shape: &str| {
        shape.bytes().enumerate().all(|(place, wanted)| {
            let found = bytes.get(at + place).copied();
            if wanted == b'0' { found.is_some_and(|byte| byte.is_ascii_digit()) } else { found == Some(wanted) }
        })
    };
    if !shape(0, "0000-00-00T00:00:00") {
        return None;
    }
    let mut at = "0000-00-00T00:00:00".len();
    if shape(at, ".0") {
        at += 1 + bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    at += if shape(at, "Z") {
        1
    } else if shape(at, "+00:00") || shape(at, "-00:00") {
        6
    } else {
        return None;
    };
    match bytes.get(at) {
        Some(b' ') => Some(at + 1),
        None => Some(at),
        _ => None,
    }
}

/// What may be the name of a program before its line: `[pod/fio] `, `fio-1  | `.
fn name(line: &str) -> Option<&str> {
    let end = if line.starts_with('[') { line.find("] ")? } else { line.find("| ")? };
    let name = &line[..end + 2];
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let plain = name.trim_start_matches('[').trim_end_matches(['|', ' ', ']']);
    is_word(plain).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a: (g=0)\n\n  read: IOPS=5\n   | 1.00th=[ 1]\nend\n";

    #[test]
    fn what_stands_before_each_line_is_taken_away() {
        for before in [
            "> ",
            "    ",
            "\t",
            "> > ",
            "2024-01-02T03:04:05.1234567Z ",
            "2024-01-02T03:04:05+02:00 ",
            "[pod/fio-abc/fio] ",
            "fio-1  | ",
            ">     ",
            "[pod/fio] 2024-01-02T03:04:05Z ",
        ] {
            let prefixed: String = TEXT.split_inclusive('\n').flat_map(|line| [before, line]).collect();
            assert_eq!(without_prefixes(&prefixed), TEXT, "{before:?}");
            let blank_lines_without = prefixed.replace(&format!("\n{before}\n"), "\n\n");
            assert_eq!(without_prefixes(&blank_lines_without), TEXT, "{before:?}");
        }
        assert_eq!(without_prefixes("  a\r\n    b\r\n"), "a\r\n  b\r\n");
    }

    #[test]
    fn what_only_some_lines_have_stays() {
        for text in [
            TEXT,
            "",
            "\n\n",
            "> a\nb\n",
            "2024-01-02T03:04:05Z a\n2024-01-02T03:04:05Z b\nc\n",
            "[1, 2] \n",
            "a | b\nc | d\ne | f\n",
            "0|  1| 2\n",
            "2024-01-02 03:04:05 a\n",
        ] {
            assert!(matches!(without_prefixes(text), Cow::Borrowed(_)), "{text:?}");
        }
    }
}
