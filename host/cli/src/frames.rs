//! Where the frames of a verb go: a screen or lines of words, lines of JSON, and a socket for those who attach.

pub(crate) mod past;

use crate::arguments::ShownArguments;
use crate::failure::Usage;
use crate::interruption::Interruption;
use crate::output;
use crate::screen::Screen;
use crate::socket::LiveSocket;
use crate::tty;
use anyhow::Context as _;
use loadline_analysis::{Limit, LiveFrame};
use loadline_report::live::{COLUMNS_MIN, LINES_MIN, LiveState, ScreenOf, live_json, live_words};
use std::fs::File;
use std::io::{IsTerminal as _, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Without a terminal, a line says so often what is seen.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// What the user asked of a screen.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) marks: Mutex<Vec<String>>,
    pub(crate) report: AtomicBool,
    pub(crate) command: AtomicBool,
}

/// Shows frames to people and programs.
pub(crate) struct Frames {
    shown: Shown,
    json: Option<Box<dyn Write>>,
    socket: Option<LiveSocket>,
    is_served: bool,
    interruption: Interruption,
    wishes: Arc<Wishes>,
    latest: Option<LiveFrame>,
}

/// What people see.
enum Shown {
    Nothing,
    Lines {
        said_at: Option<Instant>,
        held: Vec<Option<Limit>>,
    },
    /// A screen from the next frame on.
    Waiting(LiveState),
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
    pub(crate) fn open(
        options: &ShownArguments,
        quiet: bool,
        interruption: &Interruption,
        of: ScreenOf,
    ) -> anyhow::Result<Self> {
        let mut frames = Self::new(options.lines, quiet, interruption, LiveState::new(of));
        // What a run does is said in lines of its own, also where nobody sits before them.
        if of == ScreenOf::Work && !options.lines && !std::io::stderr().is_terminal() {
            frames.shown = Shown::Nothing;
        }
        frames.json = options.live.as_deref().map(json_to).transpose()?;
        frames.is_served = true;
        Ok(frames)
    }

    pub(crate) fn new(lines: bool, quiet: bool, interruption: &Interruption, state: LiveState) -> Self {
        let shown = if has_screen(quiet, lines) {
            Shown::Waiting(state)
        } else if quiet {
            Shown::Nothing
        } else {
            Shown::Lines { said_at: None, held: Vec::new() }
        };
        let interruption = interruption.clone();
        Self { shown, json: None, socket: None, is_served: false, interruption, wishes: Arc::default(), latest: None }
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
        self.show(frame);
        self.latest = Some(frame.clone());
    }

    /// Shows a frame to people.
    fn show(&mut self, frame: &LiveFrame) {
        if let Shown::Waiting(state) = &self.shown {
            let screen = Screen::open(self.interruption.clone(), Arc::clone(&self.wishes), state.clone());
            self.shown = screen.map_or_else(
                |error| {
                    output::tell(&format!("{error:#}"));
                    Shown::Lines { said_at: None, held: Vec::new() }
                },
                Shown::Screen,
            );
        }
        match &mut self.shown {
            Shown::Nothing | Shown::Waiting(_) => {}
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
    }

    /// Whether people see them.
    pub(crate) const fn are_shown(&self) -> bool {
        !matches!(self.shown, Shown::Nothing)
    }

    /// Whether the terminal is taken.
    pub(crate) fn has_screen(&self) -> bool {
        matches!(self.shown, Shown::Screen(_))
    }

    /// Gives the terminal back until the next frame.
    pub(crate) fn pause(&mut self) {
        if let Shown::Screen(screen) = &mut self.shown {
            let state = screen.close();
            self.shown = Shown::Waiting(state);
        }
    }

    /// What the user marked since this was asked last.
    pub(crate) fn marks(&self) -> Vec<String> {
        std::mem::take(&mut *self.wishes.marks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a report is wanted, though none was when it began.
    pub(crate) fn wants_report(&self) -> bool {
        self.wishes.report.load(Ordering::Relaxed)
    }

    /// Gives the terminal back, and lets go of those who are attached.
    pub(crate) fn close(&mut self) {
        self.pause();
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
pub(crate) fn json_to(path: &Path) -> anyhow::Result<Box<dyn Write>> {
    if path == Path::new("-") {
        output::frames_take_output();
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
pub(crate) fn refused<T>(result: Result<T, impl Into<anyhow::Error>>) -> anyhow::Result<T> {
    result.map_err(Into::into).context("cannot draw on this terminal; --lines does without")
}
