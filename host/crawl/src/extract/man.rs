//! Text of man pages: roff without its requests and escapes.

use super::PageText;

/// The page's text; its title is the first argument of `.TH` or `.Dt`.
pub(crate) fn of_man(source: &str) -> PageText {
    let mut page = PageText::default();
    for line in source.lines() {
        let Some(request) = line.strip_prefix(['.', '\'']) else {
            push_line(&mut page.text, line);
            continue;
        };
        let request = request.trim_start();
        if request.starts_with("\\\"") || request.is_empty() {
            continue;
        }
        let (name, rest) = request.split_once(char::is_whitespace).unwrap_or((request, ""));
        match name {
            "TH" | "Dt" => {
                plain(rest).split_whitespace().next().unwrap_or_default().clone_into(&mut page.title);
            }
            // Settings, definitions and macros that print nothing.
            "nr" | "ds" | "de" | "if" | "ie" | "el" | "ft" | "in" | "ta" | "ad" | "na" | "hy" | "nh" | "ll" | "so"
            | "Dd" | "Os" => {}
            _ => push_line(&mut page.text, rest),
        }
    }
    page
}

fn push_line(text: &mut String, line: &str) {
    let line = plain(line);
    if !line.trim().is_empty() {
        text.push_str(line.trim());
        text.push('\n');
    }
}

/// A line without escapes and quotes.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {}
            '\\' => match letters.next() {
                Some('f' | '*' | 'm' | 'F') => skip_name(&mut letters),
                Some('s') => {
                    letters.next_if(|c| matches!(c, '+' | '-'));
                    while letters.next_if(char::is_ascii_digit).is_some() {}
                }
                Some('(') => {
                    let name: String = letters.by_ref().take(2).collect();
                    text.push_str(special(&name));
                }
                Some('"') => break,
                Some('e' | '\\') => text.push('\\'),
                Some('-') => text.push('-'),
                Some(' ' | '~') => text.push(' '),
                Some('&' | '|' | '^' | '/' | ',' | 'c' | ':') | None => {}
                Some(other) => text.push(other),
            },
            other => text.push(other),
        }
    }
    text
}

/// The name of a font or string: one letter, `(xx` or `[...]`.
fn skip_name(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match letters.next() {
        Some('(') => drop(letters.by_ref().take(2).count()),
        Some('[') => drop(letters.by_ref().take_while(|c| *c != ']').count()),
        _ => {}
    }
}

fn special(name: &str) -> &'static str {
    match name {
        "em" | "en" | "hy" | "mi" => "-",
        "aq" | "cq" | "oq" => "'",
        "lq" | "rq" | "dq" => "\"",
        "co" => "(c)",
        "bu" => "*",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_and_their_words_stay() {
        let page = of_man(
            ".\\\" a comment\n.TH LS 1 \"2024\"\n.SH NAME\nls \\- list\n.B \\-a\n\\fBbold\\fR and \\(co\n.nr x 1\nend\\fP.\n",
        );
        assert_eq!(page.title, "LS");
        assert_eq!(page.text, "NAME\nls - list\n-a\nbold and (c)\nend.\n");
    }
}
