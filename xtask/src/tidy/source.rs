//! Rust source as far as the rules need it: code without comments and literals, comments on their own, and which lines
//! are test code.

/// A Rust file taken apart; every part keeps the line numbers of the whole.
#[derive(Debug)]
pub(super) struct Source {
    /// The lines with comments and the contents of literals blanked out.
    pub(super) code: Vec<String>,
    /// The comments of each line, with their marks; a block comment appears on each of its lines.
    pub(super) comments: Vec<String>,
    /// The literals of each line, with their quotes.
    pub(super) literals: Vec<String>,
    /// Whether the line belongs to an item under `#[cfg(test)]`.
    pub(super) is_test: Vec<bool>,
}

/// What a character belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Source {
    pub(super) fn parse(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let kinds = kinds(&chars);
        let part = |wanted: Kind| {
            let keep = |(c, kind): (&char, &Kind)| if *c == '\n' || *kind == wanted { *c } else { ' ' };
            chars.iter().zip(&kinds).map(keep).collect::<String>()
        };
        let code: Vec<String> = part(Kind::Code).lines().map(|line| line.trim_end().to_owned()).collect();
        let comments = part(Kind::Comment).lines().map(|line| line.trim().to_owned()).collect();
        let literals = part(Kind::Literal).lines().map(str::to_owned).collect();
        let is_test = test_lines(&code);
        Self { code, comments, literals, is_test }
    }
}

fn kinds(chars: &[char]) -> Vec<Kind> {
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut kinds = Vec::with_capacity(chars.len());
    while kinds.len() < chars.len() {
        let here = kinds.len();
        let (kind, end) = match (at(here), at(here + 1)) {
            ('/', '/') => (Kind::Comment, find(chars, here, |i| at(i) == '\n')),
            ('/', '*') => (Kind::Comment, block_comment_end(chars, here)),
            ('"', _) => (Kind::Literal, string_end(chars, here + 1)),
            ('b' | 'c', '"') if !in_word(chars, here) => (Kind::Literal, string_end(chars, here + 2)),
            ('r', '"' | '#') if !in_word(chars, here) => raw_string(chars, here, here + 1),
            ('b' | 'c', 'r') if !in_word(chars, here) => raw_string(chars, here, here + 2),
            ('\'', '\\') => (Kind::Literal, find(chars, here + 3, |i| at(i) == '\'') + 1),
            ('\'', _) if at(here + 2) == '\'' => (Kind::Literal, here + 3),
            _ => (Kind::Code, here + 1),
        };
        kinds.resize(end.clamp(here + 1, chars.len()), kind);
    }
    kinds
}

/// Whether the character before `here` continues a name, so that no literal's prefix begins at `here`.
fn in_word(chars: &[char], here: usize) -> bool {
    here > 0 && (chars[here - 1].is_alphanumeric() || chars[here - 1] == '_')
}

fn find(chars: &[char], from: usize, wanted: impl Fn(usize) -> bool) -> usize {
    (from..chars.len()).find(|index| wanted(*index)).unwrap_or(chars.len())
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut depth, mut here) = (0, start);
    while here < chars.len() {
        match (chars[here], chars.get(here + 1)) {
            ('/', Some('*')) => (depth, here) = (depth + 1, here + 2),
            ('*', Some('/')) => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            break;
        }
    }
    here
}

fn string_end(chars: &[char], mut here: usize) -> usize {
    while here < chars.len() && chars[here] != '"' {
        here += if chars[here] == '\\' { 2 } else { 1 };
    }
    here + 1
}

/// The raw string whose hashes begin at `hashes`, or one character of code where it is none (`r#type`).
fn raw_string(chars: &[char], start: usize, hashes: usize) -> (Kind, usize) {
    let open = find(chars, hashes, |i| chars[i] != '#');
    if chars.get(open) != Some(&'"') {
        return (Kind::Code, start + 1);
    }
    let count = open - hashes;
    let closes = |i: usize| chars[i] == '"' && (1..=count).all(|n| chars.get(i + n) == Some(&'#'));
    (Kind::Literal, find(chars, open + 1, closes) + 1 + count)
}

/// Marks the lines of every item under `#[cfg(test)]`: to the brace that closes it, or to its semicolon.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut test = vec![false; code.len()];
    let mut line = 0;
    while line < code.len() {
        let Some(attribute) = code[line].find("#[cfg(test)]") else {
            line += 1;
            continue;
        };
        let (mut depth, mut column) = (0i32, attribute + "#[cfg(test)]".len());
        'item: loop {
            test[line] = true;
            for c in code[line][column..].chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 && matches!(c, '}' | ';') {
                    break 'item;
                }
            }
            line += 1;
            column = 0;
            if line == code.len() {
                break;
            }
        }
        line += 1;
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_not_code() {
        let text =
            "let a = \"unsafe \\\" {\"; // unsafe here\nlet b = r#\"todo!() \"# ; /* x /* y */\n z */ let c = 'u';\n";
        let source = Source::parse(text);
        assert!(!source.code.join("\n").contains("unsafe"));
        assert!(!source.code.join("\n").contains("todo"));
        assert_eq!(source.comments[0], "// unsafe here");
        assert_eq!(source.comments[2], "z */");
        assert!(source.code[2].contains("let c"));
    }

    #[test]
    fn lifetimes_and_quotes_are_told_apart() {
        let source = Source::parse("fn f<'a>(x: &'a str) -> char { if x == \"\" { '\"' } else { '\\'' } } // end\n");
        assert!(source.code[0].contains("fn f<'a>(x: &'a str)"));
        assert_eq!(source.comments[0], "// end");
    }

    #[test]
    fn raw_names_are_code_and_byte_strings_are_not() {
        let source = Source::parse("let r#type = b\"unsafe\"; let x = br#\"unsafe\"#; let bar = number\n");
        assert!(source.code[0].contains("r#type"));
        assert!(!source.code[0].contains("unsafe"));
        assert!(source.code[0].contains("let bar = number"));
    }

    #[test]
    fn test_code_ends_with_its_brace() {
        let source = Source::parse("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n");
        assert_eq!(source.is_test, [false, true, true, true, true, false]);
        let source = Source::parse("#[cfg(test)]\nuse x::y;\nfn c() {}\n");
        assert_eq!(source.is_test, [true, true, false]);
    }
}
