//! A terminal: what it is like, the emphasis of texts, and lines that fit it.

/// Whether to send colour codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI codes.
    Always,
}

/// Which columns a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Those for which a line has room; the others are named below the table.
    Fitting,
    /// All, however long the lines become.
    All,
}

/// How the terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Whether to send colour codes.
    pub colour: Colour,
    /// Characters in a line. Wide characters count as one.
    pub width: usize,
    /// Which columns tables have.
    pub columns: Columns,
}

/// The emphasis of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Yellow,
    Red,
    Green,
}

impl Colour {
    /// `text` in that style, if colour is wanted.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Yellow => 33,
            Style::Red => 31,
            Style::Green => 32,
        };
        match self {
            Self::Always if !text.trim().is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

/// The note below a table whose line had no room for these columns; `shown_by` shows the whole.
pub(crate) fn left_out_note(headings: &[String], shown_by: &str) -> Option<String> {
    let named = headings.join(", ");
    (!headings.is_empty())
        .then(|| format!("Left out for want of room: {named}. A wider terminal shows them, and so does {shown_by}."))
}

/// Characters of a text.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// Lines of at most `width` characters, broken between words; a longer word has its own line. At least one line.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if length(line) + 1 + length(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
