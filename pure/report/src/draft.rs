//! What fits on a screen: of a text for people, the lines that carry its verdict. The rest is counted, and a command shows it.

use crate::console::{Colour, Columns, Style, TerminalOptions, length};
use crate::figures;
use crate::put;
use std::fmt;

/// Lines that a verb prints unless all is asked for.
pub const SCREEN_LINES: usize = 40;

/// What is counted of a text where it is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    /// A row of a table, with the rows of its parts.
    Row,
    /// A finding.
    Finding,
    /// A kind of doubt.
    Doubt,
    /// Any other line.
    Line,
    /// An explanation of what stands above it: it goes uncounted.
    Note,
}

/// How much of the verdict rests on a piece; what weighs less goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It explains others.
    Explains,
    /// It is there as well.
    Beside,
    /// It says more about what is kept.
    Details,
    /// It qualifies the verdict.
    Qualifies,
    /// The verdict is about it.
    Carries,
    /// The verdict may be wrong by it.
    Spoils,
}

/// What becomes of a piece where not all has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It stays.
    Frame,
    /// It stays if anything below it does.
    Heading,
    /// It is kept by its weight.
    Item(Noun, Weight),
}

/// A part of the text that is kept or left out as one.
#[derive(Debug)]
struct Piece {
    role: Role,
    text: String,
    /// In place of `text` where not all has room.
    brief: Option<String>,
}

/// A text in pieces, to be printed whole or as far as a screen has room. What is written goes to the piece begun last.
#[derive(Debug, Default)]
pub struct Draft {
    pieces: Vec<Piece>,
}

impl fmt::Write for Draft {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl Draft {
    /// Adds to the piece begun last.
    pub fn push_str(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(piece) => piece.text.push_str(text),
            None => self.begin(Role::Frame).push_str(text),
        }
    }
    /// Begins a piece that stays; the verdict is the last of them.
    pub fn frame(&mut self) -> &mut Self {
        self.begin(Role::Frame)
    }
    /// Begins a heading, which stays if anything does that follows it.
    pub fn heading(&mut self) -> &mut Self {
        self.begin(Role::Heading)
    }
    /// Begins a piece that is kept or left out as one.
    pub fn item(&mut self, noun: Noun, weight: Weight) -> &mut Self {
        self.begin(Role::Item(noun, weight))
    }
    /// What stands for the piece begun last where not all has room.
    pub(crate) fn briefly(&mut self, text: String) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.brief = Some(text);
        }
    }
    /// A table below its own line of headings: a piece for each row, which weighs what `weigh` says of its number.
    pub fn table(&mut self, table: &crate::Table, options: &TerminalOptions, weigh: impl Fn(usize) -> Weight) {
        let fitted = table.fitted(options);
        self.push_str(&fitted.head);
        for (index, row) in fitted.rows.iter().enumerate() {
            self.item(Noun::Row, weigh(index)).push_str(row);
        }
    }
    /// This text behind another that matters less: what of that must stay alone, need not stay here.
    #[must_use]
    pub fn after(mut self, beside: Self) -> Self {
        let demoted = beside.pieces.into_iter().map(|piece| match piece.role {
            Role::Frame => Piece { role: Role::Item(Noun::Line, Weight::Beside), ..piece },
            _ => piece,
        });
        self.pieces.splice(0..0, demoted);
        self
    }
    /// All of it.
    #[must_use]
    pub fn whole(&self) -> String {
        self.pieces.iter().map(|piece| &*piece.text).collect()
    }
    /// As much as a screen has room for, the verdict whole; `shown_by` shows all.
    #[must_use]
    pub fn fitted(&self, options: &TerminalOptions, shown_by: &str) -> String {
        let whole = self.whole();
        if lines_of(&whole, options) <= SCREEN_LINES {
            return whole;
        }
        let kept = self.kept(options, shown_by);
        let left_out = self.left_out(&kept, options, shown_by);
        let is_there = |at: &usize| kept[*at];
        let last = self.pieces.iter().rposition(|piece| piece.role == Role::Frame);
        let mut out = String::new();
        for at in (0..self.pieces.len()).filter(is_there) {
            if Some(at) == last {
                out.push_str(&left_out);
            }
            out.push_str(self.pieces[at].briefest());
        }
        out
    }

    fn begin(&mut self, role: Role) -> &mut Self {
        self.pieces.push(Piece { role, text: String::new(), brief: None });
        self
    }
    /// Which pieces stay: those that must, then the weightiest for which there is room.
    fn kept(&self, options: &TerminalOptions, shown_by: &str) -> Vec<bool> {
        let lines = |piece: &Piece| lines_of(piece.briefest(), options);
        let mut kept: Vec<bool> = self.pieces.iter().map(|piece| piece.role == Role::Frame).collect();
        let framed: usize = self.pieces.iter().filter(|piece| piece.role == Role::Frame).map(lines).sum();
        let note = lines_of(&self.left_out(&kept, options, shown_by), options);
        let mut room = SCREEN_LINES.saturating_sub(framed + note);
        let weighed = self.pieces.iter().enumerate().filter_map(|(at, piece)| match piece.role {
            Role::Item(_, weight) => Some((std::cmp::Reverse(weight), at)),
            Role::Frame | Role::Heading => None,
        });
        let mut weighed: Vec<_> = weighed.collect();
        weighed.sort_unstable();
        for (_, at) in weighed {
            let above = self.pieces[..at].iter().rposition(|piece| !matches!(piece.role, Role::Item(..)));
            let heading = above.filter(|above| !kept[*above]);
            let needed = lines(&self.pieces[at]) + heading.map_or(0, |above| lines(&self.pieces[above]));
            let explains = matches!(self.pieces[at].role, Role::Item(_, Weight::Explains));
            // An explanation is of nothing where all that it explains is left out.
            if needed <= room && !(explains && heading.is_some()) {
                room -= needed;
                kept[at] = true;
                if let Some(above) = heading {
                    kept[above] = true;
                }
            }
        }
        kept
    }
    /// "12 more rows and 3 findings: loadline show RUN --all".
    fn left_out(&self, kept: &[bool], options: &TerminalOptions, shown_by: &str) -> String {
        let count = |wanted: Noun| {
            let is_left_out = |(piece, kept): &(&Piece, &bool)| {
                !**kept && matches!(piece.role, Role::Item(noun, _) if noun == wanted)
            };
            self.pieces.iter().zip(kept).filter(is_left_out).count()
        };
        let nouns = [(Noun::Row, "row"), (Noun::Finding, "finding"), (Noun::Doubt, "doubt"), (Noun::Line, "line")];
        let counts = nouns.into_iter().map(|(noun, word)| (count(noun), word)).filter(|(count, _)| *count > 0);
        let counted: Vec<String> = counts
            .enumerate()
            .map(|(place, (count, word))| {
                let (more, many) = (if place == 0 { "more " } else { "" }, if count == 1 { "" } else { "s" });
                format!("{} {more}{word}{many}", figures::count(count as u64))
            })
            .collect();
        let all = match counted.as_slice() {
            [] => "more".to_owned(),
            [only] => only.clone(),
            [others @ .., last] => format!("{} and {last}", others.join(", ")),
        };
        let mut out = String::from("\n");
        put!(out, "{}\n", options.colour.paint(Style::Dim, &format!("{all}: {shown_by}")));
        out
    }
}

impl Piece {
    /// As it stands where not all has room.
    fn briefest(&self) -> &str {
        self.brief.as_ref().unwrap_or(&self.text)
    }
}

/// Lines that a text takes on a terminal; where there is none, no line is broken.
fn lines_of(text: &str, options: &TerminalOptions) -> usize {
    let broken = |line: &str| match options.columns {
        Columns::All => 1,
        Columns::Fitting => seen(line, options.colour).div_ceil(options.width.max(1)).max(1),
    };
    text.lines().map(broken).sum()
}

/// Characters of a line that are seen.
fn seen(line: &str, colour: Colour) -> usize {
    match colour {
        Colour::Never => length(line),
        Colour::Always => {
            // A code ends with the first "m" behind its beginning.
            let mut parts = line.split('\x1b');
            let first = parts.next().map_or(0, length);
            first + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| length(rest))).sum::<usize>()
        }
    }
}
