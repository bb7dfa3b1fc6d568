//! A command of a terminal out of the words of a question: a field has the name of its option.

use crate::text::Word;

/// The options of these words.
pub(crate) fn options(words: &[Word]) -> String {
    let option = |(field, typed): &Word| match typed.as_str() {
        "yes" => format!(" --{field}"),
        typed => format!(" --{field} {}", quoted(typed)),
    };
    words.iter().map(option).collect()
}

/// As a shell takes it for one word.
fn quoted(typed: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._%/:,@+-=".contains(c);
    if !typed.is_empty() && typed.chars().all(is_plain) && !typed.starts_with('-') {
        return typed.to_owned();
    }
    format!("'{}'", typed.replace('\'', "'\\''"))
}

/// A shell's words that write a file.
pub(crate) fn file(name: &str, text: &str) -> String {
    // No line of a text of ours is this one.
    format!("cat > {name} <<'END_OF_FILE'\n{text}END_OF_FILE\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_each_word_as_it_was_typed() {
        let words = [("iops", "9000"), ("sequential", "yes"), ("machine", "d4s v5'; rm")];
        let words: Vec<Word> = words.map(|(field, typed)| (field.to_owned(), typed.to_owned())).to_vec();
        assert_eq!(options(&words), " --iops 9000 --sequential --machine 'd4s v5'\\''; rm'");
        assert_eq!(quoted(""), "''");
    }
}
