//! The screen on its own thread: frames and keys come in, and the lines that changed are written.

use super::tty;
use crate::frames::{Wishes, refused};
use crate::interruption::Interruption;
use loadline_analysis::LiveFrame;
use loadline_report::live::{Emphasis, Key, LiveScreen, LiveState, StyledLine, Wish};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

/// Frames that a screen can go back in.
pub(crate) const FRAMES_MAX: usize = 300;
/// Keys, frames and signals are looked for so often.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A terminal that shows frames.
pub(crate) struct Screen {
    frames: Option<Sender<LiveFrame>>,
    thread: Option<JoinHandle<LiveState>>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn open(interruption: Interruption, wishes: Arc<Wishes>, state: LiveState) -> anyhow::Result<Self> {
        let stops = Stops::watch()?;
        refused(tty::enter())?;
        let (sender, frames) = channel();
        let unicode = tty::has_unicode();
        let drawn = Drawn { frames: VecDeque::new(), state, size: (0, 0), lines: Vec::new(), unicode };
        let driver = Driver { drawn, frames, stops, interruption, wishes };
        let thread = std::thread::Builder::new().name("screen".into());
        let thread = refused(thread.spawn(|| driver.run())).inspect_err(|_| tty::leave())?;
        Ok(Self { frames: Some(sender), thread: Some(thread) })
    }

    /// Shows a frame, and keeps it to go back to.
    pub(crate) fn show(&self, frame: LiveFrame) {
        if let Some(frames) = &self.frames {
            // A screen that is gone shows nothing; the work goes on.
            let _ = frames.send(frame);
        }
    }

    /// Gives the terminal back. Returns what the user chose to see.
    pub(crate) fn close(&mut self) -> LiveState {
        self.frames = None;
        let state = self.thread.take().and_then(|thread| thread.join().ok());
        tty::leave();
        state.unwrap_or_default()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// Ctrl-Z, which gives the terminal back first.
struct Stops {
    asked: Arc<AtomicBool>,
    /// The process goes on after it.
    goes_on: Arc<AtomicBool>,
    /// From then on it stops the process at once, as it does by default.
    over: Arc<AtomicBool>,
}

impl Stops {
    fn watch() -> anyhow::Result<Self> {
        let (asked, over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let goes_on = Arc::<AtomicBool>::default();
        refused(signal_hook::flag::register(SIGCONT, Arc::clone(&goes_on)))?;
        refused(signal_hook::flag::register_conditional_default(SIGTSTP, Arc::clone(&over)))?;
        refused(signal_hook::flag::register(SIGTSTP, Arc::clone(&asked)))?;
        Ok(Self { asked, goes_on, over })
    }

    /// Stops the process, and waits until it goes on: that it stops is not at once.
    fn stop(&self) {
        self.goes_on.store(false, Ordering::SeqCst);
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
        while !self.goes_on.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

struct Driver {
    drawn: Drawn,
    frames: Receiver<LiveFrame>,
    stops: Stops,
    interruption: Interruption,
    wishes: Arc<Wishes>,
}

/// What stands on the terminal.
struct Drawn {
    frames: VecDeque<LiveFrame>,
    state: LiveState,
    size: (usize, usize),
    lines: Vec<String>,
    unicode: bool,
}

impl Driver {
    fn run(mut self) -> LiveState {
        let mut is_taken = true;
        loop {
            if self.stops.asked.swap(false, Ordering::SeqCst) {
                tty::leave();
                is_taken = false;
                self.stops.stop();
            }
            // One that goes on in the background draws nothing until it is in the foreground again.
            if !is_taken && tty::is_foreground() && tty::enter().is_ok() {
                (is_taken, self.drawn.size) = (true, (0, 0));
            }
            if is_taken {
                self.keys();
            } else {
                std::thread::sleep(std::time::Duration::from_nanos(LOOK.tv_nsec as u64));
            }
            if !self.new_frames() {
                return self.drawn.state;
            }
            if is_taken {
                self.drawn.draw();
            }
        }
    }

    /// Takes in the frames that came; `false` where no more will come.
    fn new_frames(&mut self) -> bool {
        loop {
            match self.frames.try_recv() {
                Ok(frame) => {
                    self.drawn.frames.push_back(frame);
                    let is_past = self.drawn.frames.back().is_some_and(|frame| frame.is_past);
                    if self.drawn.frames.len() > FRAMES_MAX && !is_past {
                        self.drawn.frames.pop_front();
                    }
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Waits a moment for keys, and does what they ask.
    fn keys(&mut self) {
        let stdin = std::io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if !poll(&mut ready, Some(&LOOK)).is_ok_and(|count| count > 0) {
            return;
        }
        let mut bytes = [0; 256];
        let read = rustix::io::read(&stdin, &mut bytes).unwrap_or(0);
        if read == 0 {
            // The terminal is gone: the signal that says so ends the work.
            std::thread::sleep(std::time::Duration::from_nanos(LOOK.tv_nsec as u64));
        }
        for key in keys_of(&bytes[..read]) {
            match self.drawn.state.press(key, self.drawn.frames.make_contiguous()) {
                None => {}
                Some(Wish::End) => self.interruption.ask(),
                Some(Wish::Mark(note)) => self.wishes.marks.lock().unwrap_or_else(PoisonError::into_inner).push(note),
                Some(Wish::Report) => self.wishes.report.store(true, Ordering::Relaxed),
                Some(Wish::Command) => self.wishes.command.store(true, Ordering::Relaxed),
            }
        }
    }
}

/// The keys in what a terminal sent.
fn keys_of(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let (mut rest, mut keys) = (text.as_ref(), Vec::new());
    while let Some(first) = rest.chars().next() {
        let arrows = [("A", Key::Before), ("D", Key::Before), ("B", Key::After), ("C", Key::After), ("Z", Key::Tab)];
        let sequence = rest.strip_prefix("\x1b[").or_else(|| rest.strip_prefix("\x1bO"));
        if let Some(after) = sequence {
            let end = after.find(|c: char| ('@'..='~').contains(&c)).map_or(after.len(), |at| at + 1);
            keys.extend(arrows.iter().find(|(name, _)| *name == &after[..end]).map(|(_, key)| *key));
            rest = &after[end..];
            continue;
        }
        rest = &rest[first.len_utf8()..];
        keys.push(match first {
            '\t' => Key::Tab,
            '\r' | '\n' => Key::Enter,
            '\x1b' => Key::Escape,
            '\x7f' | '\x08' => Key::Backspace,
            letter => Key::Char(letter),
        });
    }
    keys
}

impl Drawn {
    /// Writes the lines that changed, in one piece that the terminal shows at once.
    fn draw(&mut self) {
        let size = tty::size();
        let (width, height) = size;
        let screen = LiveScreen {
            frames: self.frames.make_contiguous(),
            state: &self.state,
            width,
            height,
            unicode: self.unicode,
        };
        let mut lines: Vec<String> = screen.draw().iter().map(styled).collect();
        lines.resize(height, String::new());
        let mut changes = String::new();
        if size != self.size {
            changes.push_str("\x1b[2J");
            self.lines.clear();
        }
        for (place, line) in lines.iter().enumerate() {
            if self.lines.get(place).map_or(!line.is_empty(), |before| before != line) {
                let _ = write!(changes, "\x1b[{};1H{line}\x1b[K", place + 1);
            }
        }
        if !changes.is_empty() {
            tty::draw(&format!("\x1b[?2026h{changes}\x1b[?2026l"));
        }
        (self.lines, self.size) = (lines, size);
    }
}

/// A line in the terminal's own colours. It says the same without them.
fn styled(line: &StyledLine) -> String {
    let piece = |(emphasis, text): &(Emphasis, String)| match emphasis {
        Emphasis::Plain => text.clone(),
        Emphasis::Strong => format!("\x1b[1m{text}\x1b[0m"),
        Emphasis::Faint => format!("\x1b[2m{text}\x1b[0m"),
        Emphasis::Alarm => format!("\x1b[1;33m{text}\x1b[0m"),
    };
    line.pieces().iter().map(piece).collect()
}

#[cfg(test)]
#[path = "../../tests/cli/pty.rs"]
#[allow(dead_code, reason = "some is for the tests of the command alone")]
mod pty;

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test starts itself on a terminal")]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_what_a_terminal_sends() {
        let keys = keys_of(b"q\x1b[A\x1bOB\t\r\x7f\x1b[15~\x1b[Z5");
        let of =
            [Key::Char('q'), Key::Before, Key::After, Key::Tab, Key::Enter, Key::Backspace, Key::Tab, Key::Char('5')];
        assert_eq!(keys, of);
        assert_eq!(keys_of(b"\x1b"), [Key::Escape]);
        assert_eq!(keys_of(b"\x1b["), []);
    }

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_read_on_it() {
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        own.args(["--exact", "linux::screen::tests::panics_on_a_screen", "--ignored", "--nocapture"]);
        let terminal = pty::Pty::start(&own, (100, 30));
        terminal.wait("what the panic says", |of| of.is_given_back() && of.text().contains("as a bug would"));
        assert!(terminal.was_taken());
    }

    #[test]
    #[ignore = "the test above starts it on a terminal"]
    #[should_panic(expected = "as a bug would")]
    fn panics_on_a_screen() {
        let screen =
            Screen::open(Interruption::default(), Arc::default(), LiveState::default()).expect("as a bug would");
        screen.show(LiveFrame::new(String::new(), "watch".into(), String::new()));
        panic!("as a bug would");
    }
}
