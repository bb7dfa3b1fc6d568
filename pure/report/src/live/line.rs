//! A line of a screen: text in pieces, each with how much it stands out.

use crate::plain_text::plain;

/// How much a piece of a line stands out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Emphasis {
    /// As text does.
    #[default]
    Plain,
    /// What is read first.
    Strong,
    /// What is read last.
    Faint,
    /// What holds a volume.
    Alarm,
}

/// A line that is no wider than its screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledLine {
    pieces: Vec<(Emphasis, String)>,
}

impl StyledLine {
    /// A line of plain text.
    #[must_use]
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::default().then(Emphasis::Plain, text)
    }

    /// With more text, of which nothing steers the terminal.
    #[must_use]
    pub fn then(mut self, emphasis: Emphasis, text: impl AsRef<str>) -> Self {
        let text = plain(text.as_ref());
        if !text.is_empty() {
            self.pieces.push((emphasis, text));
        }
        self
    }

    /// Its pieces.
    #[must_use]
    pub fn pieces(&self) -> &[(Emphasis, String)] {
        &self.pieces
    }

    /// Its text alone.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Columns that it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// At most so many columns of it.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        let mut room = width;
        let pieces = self.pieces.into_iter().filter_map(|(emphasis, text)| {
            let text: String = text.chars().take(room).collect();
            room -= text.chars().count();
            (!text.is_empty()).then_some((emphasis, text))
        });
        Self { pieces: pieces.collect() }
    }
}

/// Text that takes one column for each character: what is not ASCII may take two.
pub(super) fn narrow(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' }).collect()
}

/// Text in lines of at most `width` columns, broken between words, in at most `lines` of them.
pub(super) fn broken(text: &str, width: usize, lines: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match all.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                // A word that is longer than a line goes on in the next.
                let letters: Vec<char> = word.chars().collect();
                all.extend(letters.chunks(width.max(1)).map(|part| part.iter().collect::<String>()));
            }
        }
    }
    if all.len() > lines {
        all.truncate(lines.max(1));
        if let Some(last) = all.last_mut() {
            let kept: String = last.chars().take(width.saturating_sub(4)).collect();
            *last = format!("{kept} ...").chars().take(width).collect();
        }
    }
    all
}
