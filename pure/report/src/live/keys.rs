//! What a user sees of the frames, and how keys change that. No key makes load, sets a limit or injects a fault.

use loadline_analysis::LiveFrame;

/// A key step back or forth in time, ns.
const STEP_NS: u64 = 10_000_000_000;
/// Characters of a note.
const NOTE_MAX: usize = 60;
/// Views, by the keys 1 to 5.
pub(super) const VIEWS: [&str; 5] = ["now", "devices", "programs", "limits", "marks"];

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Tab.
    Tab,
    /// Up or left.
    Before,
    /// Down or right.
    After,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
}

/// What a key asks the screen to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// To end: what was seen is kept. On an attached screen, to leave.
    End,
    /// To keep this moment with a note.
    Mark(String),
    /// To write a report when it ends.
    Report,
    /// To print the next command on leaving.
    Command,
}

/// In which order volumes stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// As they were named.
    #[default]
    Named,
    /// The busiest first.
    Busy,
    /// The most requests first.
    Rate,
}

/// Whose screen it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScreenOf {
    /// That of a watch, which keeps marks, and writes a report by a key.
    #[default]
    Watch,
    /// That of any other work.
    Work,
    /// It is attached to what another process does: nothing is kept there.
    Attached,
}

/// What a user chose to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveState {
    pub(super) of: ScreenOf,
    pub(super) view: usize,
    /// The place of a device; `None`: the busiest of the past minute.
    pub(super) volume: Option<usize>,
    /// The moment that is shown, since the run began, ns; `None`: now.
    pub(super) until_ns: Option<u64>,
    pub(super) shows_help: bool,
    pub(super) order: Order,
    /// A note that is being typed.
    pub(super) note: Option<String>,
    /// What the last key came to.
    pub(super) hint: Option<&'static str>,
}

impl LiveState {
    /// Of such a screen.
    #[must_use]
    pub fn new(of: ScreenOf) -> Self {
        Self { of, ..Self::default() }
    }

    /// The same, at the moment that is shown, ns.
    #[must_use]
    pub fn at(until_ns: u64) -> Self {
        Self { until_ns: Some(until_ns), ..Self::new(ScreenOf::Attached) }
    }

    /// Takes a key in. `frames` are all that there are, the oldest first.
    pub fn press(&mut self, key: Key, frames: &[LiveFrame]) -> Option<Wish> {
        self.hint = None;
        if self.note.is_some() {
            return self.type_note(key);
        }
        let (first, last) = (frames.first().map_or(0, |f| f.elapsed_ns), frames.last().map_or(0, |f| f.elapsed_ns));
        let volumes = frames.last().map_or(0, |frame| frame.volumes.len()).max(1);
        match key {
            Key::Char('q') => return Some(Wish::End),
            Key::Char('?') => self.shows_help = !self.shows_help,
            Key::Escape => self.shows_help = false,
            Key::Tab => self.view = (self.view + 1) % VIEWS.len(),
            Key::Char(digit @ '1'..='5') => self.view = digit as usize - '1' as usize,
            Key::Before => {
                self.volume = Some(self.volume.unwrap_or(0).min(volumes - 1).checked_sub(1).unwrap_or(volumes - 1));
            }
            Key::After => self.volume = Some(self.volume.map_or(0, |place| (place.min(volumes - 1) + 1) % volumes)),
            Key::Char('t') => self.until_ns = Some(self.until_ns.unwrap_or(last).saturating_sub(STEP_NS).max(first)),
            Key::Char('T') => self.until_ns = self.until_ns.map(|at| at + STEP_NS).filter(|at| *at < last),
            Key::Char(' ') => self.until_ns = if self.until_ns.is_some() { None } else { Some(last) },
            Key::Char('o') => {
                self.order = match self.order {
                    Order::Named => Order::Busy,
                    Order::Busy => Order::Rate,
                    Order::Rate => Order::Named,
                }
            }
            Key::Char('m' | 'w') if self.of != ScreenOf::Watch => {
                self.hint = Some("this works where a watch was started");
            }
            Key::Char('m') => self.note = Some(String::new()),
            Key::Char('w') => {
                self.hint = Some("a report is written when this ends");
                return Some(Wish::Report);
            }
            Key::Char('c') => {
                self.hint = Some("the command is printed on leaving");
                return Some(Wish::Command);
            }
            _ => {}
        }
        None
    }

    fn type_note(&mut self, key: Key) -> Option<Wish> {
        let note = self.note.as_mut()?;
        match key {
            Key::Char(c) if !c.is_control() && note.chars().count() < NOTE_MAX => note.push(c),
            Key::Backspace => drop(note.pop()),
            Key::Escape => self.note = None,
            Key::Enter => {
                self.hint = Some("marked");
                return self.note.take().map(Wish::Mark);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(seconds: u64) -> Vec<LiveFrame> {
        let frame = |second| LiveFrame {
            elapsed_ns: second * 1_000_000_000,
            ..LiveFrame::new(String::new(), "watch".into(), String::new())
        };
        (1..=seconds).map(frame).collect()
    }

    #[test]
    fn time_goes_back_to_the_first_frame_and_forth_to_now() {
        let frames = frames(25);
        let mut state = LiveState::default();
        let mut at = |key| {
            assert_eq!(state.press(Key::Char(key), &frames), None);
            state.until_ns.map(|ns| ns / 1_000_000_000)
        };
        assert_eq!(
            [at('t'), at('t'), at('t'), at('T'), at('T'), at('T')],
            [Some(15), Some(5), Some(1), Some(11), Some(21), None]
        );
        assert_eq!([at(' '), at(' ')], [Some(25), None]);
    }

    #[test]
    fn a_note_takes_every_letter_and_is_given_at_enter() {
        let mut state = LiveState::default();
        for key in ['m', 'q', '1', 'x'] {
            assert_eq!(state.press(Key::Char(key), &frames(1)), None);
        }
        assert_eq!(state.press(Key::Backspace, &[]), None);
        assert_eq!(state.press(Key::Enter, &[]), Some(Wish::Mark("q1".into())));
        assert_eq!(state.press(Key::Char('q'), &[]), Some(Wish::End));
    }

    #[test]
    fn an_attached_screen_keeps_nothing() {
        let mut state = LiveState::new(ScreenOf::Attached);
        for key in ['m', 'w'] {
            assert_eq!(state.press(Key::Char(key), &frames(1)), None);
            assert!(state.note.is_none() && state.hint.is_some());
        }
    }
}
