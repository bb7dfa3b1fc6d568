//! The terminal while a screen is drawn: keys come one by one, and it is given back whatever happens.

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, Once, PoisonError};

/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// Where the terminal does not say how large it is.
const SIZE: (usize, usize) = (80, 24);

/// The terminal as it was, while a screen is drawn on it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static PANICS: Once = Once::new();

/// Columns and lines of the terminal on standard error.
pub(crate) fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(SIZE, |(width, height)| (width.0.into(), height.0.into()))
}

/// Whether keys come from a terminal that is this process's to draw on.
pub(crate) fn is_foreground() -> bool {
    let (keys, screen) = (std::io::stdin(), std::io::stderr());
    let is_ours = rustix::termios::tcgetpgrp(&keys).is_ok_and(|group| group == rustix::process::getpgrp());
    keys.is_terminal() && screen.is_terminal() && is_ours
}

/// Whether the terminal takes colours and moves of the cursor: every one does.
pub(crate) const fn takes_sequences() -> bool {
    true
}

/// Takes the terminal. Signals of keys (Ctrl-C, Ctrl-Z) go on as they are.
///
/// # Errors
/// The system refuses.
pub(crate) fn enter() -> rustix::io::Result<()> {
    PANICS.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            told(panic);
        }));
    });
    let keys = std::io::stdin();
    let before = rustix::termios::tcgetattr(&keys)?;
    let mut raw = before.clone();
    raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    raw.special_codes[SpecialCodeIndex::VMIN] = 0;
    raw.special_codes[SpecialCodeIndex::VTIME] = 0;
    let mut kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    rustix::termios::tcsetattr(&keys, OptionalActions::Flush, &raw)?;
    *kept = Some(before);
    write(ENTER);
    Ok(())
}

/// Gives the terminal back, if it was taken.
pub(crate) fn leave() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = before.take() {
        write(LEAVE);
        let _ = rustix::termios::tcsetattr(std::io::stdin(), OptionalActions::Flush, &before);
    }
}

/// Draws on the screen, unless it was given back meanwhile.
pub(crate) fn draw(text: &str) {
    if BEFORE.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
        write(text);
    }
}

/// Writes in one piece.
fn write(text: &str) {
    let mut screen = std::io::stderr().lock();
    let _ = screen.write_all(text.as_bytes()).and_then(|()| screen.flush());
}

/// Whether the terminal shows characters beyond ASCII, as far as its user says.
pub(crate) fn has_unicode() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    set.is_some_and(|value| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}
