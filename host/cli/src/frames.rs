//! Where the frames of a verb go: a screen or lines of words, lines of JSON, and a socket for those who attach.

pub(crate) mod attach;
pub(crate) mod past;
mod screen;
mod socket;
pub(crate) mod tty;

use crate::arguments::LiveArguments;
use crate::failure::Usage;
use crate::interruption::Interruption;
use crate::output;
use anyhow::Context as _;
use loadline_analysis::{Limit, LiveFrame};
use loadline_report::live::{COLUMNS_MIN, LINES_MIN, LiveState, live_json, live_words};
use screen::Screen;
use socket::LiveSocket;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Without a terminal, a line says so often what is seen.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// What the user asked of a screen.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    marks: Mutex<Vec<String>>,
    report: AtomicBool,
    command: AtomicBool,
}

/// Shows frames to people and programs.
pub(crate) struct Frames {
    shown: Shown,
    json: Option<Box<dyn Write>>,
    socket: Option<LiveSocket>,
    is_served: bool,
    wishes: Arc<Wishes>,
    latest: Option<LiveFrame>,
}

/// What people see.
enum Shown {
    Nothing,
    Lines { said_at: Option<Instant>, held: Vec<Option<Limit>> },
    Screen(Screen),
}

/// Whether standard error, and the keys of standard input, make a screen.
fn has_screen(quiet: bool, lines: bool) -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let (width, height) = tty::size();
    !quiet && !lines && !is_dumb && tty::is_foreground() && width >= COLUMNS_MIN && height >= LINES_MIN
}

impl Frames {
    /// Opens what was asked for. `interruption` is set by the key that ends.
    ///
    /// # Errors
    /// The file of `--live` cannot be made.
    pub(crate) fn open(options: &LiveArguments, quiet: bool, interruption: &Interruption) -> anyhow::Result<Self> {
        let mut frames = Self::new(options.lines, quiet, interruption, LiveState::new(false))?;
        frames.json = options.live.as_deref().map(json_to).transpose()?;
        frames.is_served = true;
        Ok(frames)
    }

    fn new(lines: bool, quiet: bool, interruption: &Interruption, state: LiveState) -> anyhow::Result<Self> {
        let wishes = Arc::<Wishes>::default();
        let shown = if has_screen(quiet, lines) {
            Shown::Screen(Screen::open(interruption.clone(), Arc::clone(&wishes), state)?)
        } else if quiet {
            Shown::Nothing
        } else {
            Shown::Lines { said_at: None, held: Vec::new() }
        };
        Ok(Self { shown, json: None, socket: None, is_served: false, wishes, latest: None })
    }

    /// Shows a frame.
    pub(crate) fn take(&mut self, frame: &LiveFrame) {
        if self.is_served && self.socket.is_none() {
            // One that cannot be made is no reason to stop: nobody asked for it.
            self.socket = LiveSocket::listen(frame).ok();
            self.is_served = self.socket.is_some();
        }
        if self.socket.is_some() || self.json.is_some() {
            let line = live_json(frame) + "\n";
            if let Some(json) = &mut self.json
                && json.write_all(line.as_bytes()).and_then(|()| json.flush()).is_err()
            {
                self.json = None;
            }
            if let Some(socket) = &self.socket {
                socket.send(&line);
            }
        }
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Screen(screen) => screen.show(frame.clone()),
            Shown::Lines { said_at, held } => {
                let now: Vec<Option<Limit>> =
                    frame.volumes.iter().map(|volume| volume.judged.as_ref().and_then(|judged| judged.limit)).collect();
                let is_due = said_at.get_or_insert_with(Instant::now).elapsed() >= SAY_EVERY;
                if is_due || (now != *held && now.iter().any(Option::is_some)) {
                    *said_at = Some(Instant::now());
                    output::tell(&live_words(frame));
                }
                *held = now;
            }
        }
        self.latest = Some(frame.clone());
    }

    /// What the user marked since this was asked last.
    pub(crate) fn marks(&self) -> Vec<String> {
        std::mem::take(&mut *self.wishes.marks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a report is wanted, though none was when it began.
    pub(crate) fn wants_report(&self) -> bool {
        self.wishes.report.load(Ordering::Relaxed)
    }

    /// Gives the terminal back.
    pub(crate) fn close(&mut self) {
        self.shown = Shown::Nothing;
        self.socket = None;
    }

    /// Prints the next command, if that was wanted: after everything else.
    pub(crate) fn print_command(&self) -> anyhow::Result<()> {
        let volumes = self.latest.iter().flat_map(|frame| &frame.volumes);
        let mut commands = volumes.filter_map(|volume| volume.judged.as_ref()?.command.as_deref());
        if self.wishes.command.load(Ordering::Relaxed)
            && let Some(command) = commands.next()
        {
            output::print(&format!("{command}\n"))?;
        }
        Ok(())
    }
}

/// Where the lines of JSON go: a new file, or standard output for "-".
fn json_to(path: &Path) -> anyhow::Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdout()));
    }
    match File::create_new(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Usage(format!("--live: {} exists; name another file", path.display())).into())
        }
        Err(error) => Err(anyhow::Error::new(error).context(format!("--live: cannot make {}", path.display()))),
    }
}

/// The error of a screen that the system refuses.
fn refused<T>(result: Result<T, impl Into<anyhow::Error>>) -> anyhow::Result<T> {
    result.map_err(Into::into).context("cannot draw on this terminal; --lines does without")
}
