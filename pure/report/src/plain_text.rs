//! Text from outside, such as names in a job file: what of it may reach a terminal or a spreadsheet.

/// What stands for a character that was taken out.
const TAKEN_OUT: char = '\u{fffd}';
/// The mark by which spreadsheets take a cell for text.
const TEXT_MARK: char = '\'';

/// The text on one line, without control characters: nothing in it can steer a terminal.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { visible(c) }).collect()
}

/// The same with its lines as they are.
#[must_use]
pub fn plain_lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { visible(c) }).collect()
}

/// The same with colours as well, for text that has our own.
#[must_use]
pub fn plain_coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&plain_lines(&rest[..at]));
        let length = colour_length(&rest[at..]);
        out.push_str(if length > 0 { &rest[at..at + length] } else { "\u{fffd}" });
        rest = &rest[at + length.max(1)..];
    }
    out.push_str(&plain_lines(rest));
    out
}

/// A text for a cell of a spreadsheet: no formula, whatever it begins with. Numbers and all else stay as they are.
#[must_use]
pub fn no_formula(text: &str) -> String {
    let begins_one = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    if begins_one && !is_number && text.chars().count() > 1 { format!("{TEXT_MARK}{text}") } else { text.to_owned() }
}

/// The character, unless it does something other than to stand in its place: controls, breaks of lines, marks that turn the writing
/// direction and could show a text other than it is, and what XML forbids.
pub(crate) fn visible(c: char) -> char {
    match c {
        c if c.is_control() => TAKEN_OUT,
        '\u{061c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fffe}'
        | '\u{ffff}' => TAKEN_OUT,
        c => c,
    }
}

/// The length of the colour code at the beginning of a text; 0 if there is none.
fn colour_length(text: &str) -> usize {
    let Some(code) = text.strip_prefix("\x1b[") else { return 0 };
    let digits = code.len() - code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').len();
    if code[digits..].starts_with('m') { 2 + digits + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_steers_a_terminal() {
        let title = "a\x1b]0;p\x07b\u{9b}31mc\rd\u{202e}e";
        assert_eq!(plain(title), "a\u{fffd}]0;p\u{fffd}b\u{fffd}31mc d\u{fffd}e");
        assert_eq!(plain("a\u{200e}b\u{2028}c\u{61c}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(plain("a\nb\tc"), "a b c");
        assert_eq!(plain_lines("a\nb\x1b[2J\r\n"), "a\nb\u{fffd}[2J\u{fffd}\n");
    }

    #[test]
    fn colours_stay_and_other_codes_go() {
        let text = "\x1b[1mbold\x1b[0m \x1b[38;5;1mx\x1b[2Jy\x1b]0;t\x07\x1b[";
        assert_eq!(plain_coloured(text), "\x1b[1mbold\x1b[0m \x1b[38;5;1mx\u{fffd}[2Jy\u{fffd}]0;t\u{fffd}\u{fffd}[");
    }

    #[test]
    fn no_text_is_a_formula_and_numbers_stay_numbers() {
        for formula in ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "＝1"] {
            assert_eq!(no_formula(formula), format!("'{formula}"));
        }
        for other in ["-5", "+1.5e3", "-", "a=b", "random read, depth 1", ""] {
            assert_eq!(no_formula(other), other);
        }
    }

    proptest! {
        #[test]
        fn whatever_the_text_no_control_is_left(text in "\\PC{0,8}([\\x00-\\x1f\\x7f-\\x9f]|\x1b\\[[0-9;]{0,3}[a-z]|\\PC){0,40}") {
            prop_assert!(!plain(&text).chars().any(char::is_control));
            prop_assert!(!plain_lines(&text).chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
            for piece in plain_coloured(&text).split('\x1b').skip(1) {
                prop_assert!(piece.starts_with('[') && piece.contains('m'));
            }
        }
    }
}
