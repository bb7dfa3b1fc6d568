//! A terminal of its own for a command: what stands on it, keys, and its size.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// Lines that are kept above the screen.
const SCROLLBACK: usize = 1_000;

/// A command on a terminal.
pub(crate) struct Pty {
    terminal: File,
    pub(crate) child: Child,
    shown: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    was_taken: Arc<AtomicBool>,
}

impl Pty {
    /// Starts a command with a terminal of so many columns and lines: it leads the session of it.
    pub(crate) fn start(command: &Command, (width, height): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(&name).unwrap();
        tcsetwinsize(&master, size(width, height)).unwrap();
        let mut session = Command::new("setsid");
        session.arg("--ctty").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            session.current_dir(folder);
        }
        session.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        session.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
        let child = session.spawn().unwrap();
        let shown = Arc::new(Mutex::new(vt100::Parser::new(some(height), some(width), SCROLLBACK)));
        let (was_taken, raw) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<u8>>>::default());
        let (own, taken, all) = (Arc::clone(&shown), Arc::clone(&was_taken), Arc::clone(&raw));
        let terminal = File::from(master);
        let mut read = terminal.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = read.read(&mut bytes) {
                all.lock().unwrap().extend_from_slice(&bytes[..count]);
                // One by one: a screen may be taken and given back within a piece.
                for byte in &bytes[..count] {
                    let mut shown = own.lock().unwrap();
                    shown.process(&[*byte]);
                    taken.fetch_or(shown.screen().alternate_screen(), Ordering::Relaxed);
                }
            }
        });
        Self { terminal, child, shown, raw, was_taken }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// What stands on it.
    pub(crate) fn text(&self) -> String {
        self.shown.lock().unwrap().screen().contents()
    }

    /// The bytes that were written on it.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.raw.lock().unwrap().clone()
    }

    /// All that was written on the normal screen, above it too.
    pub(crate) fn scrollback(&self) -> String {
        let mut shown = self.shown.lock().unwrap();
        shown.screen_mut().set_scrollback(SCROLLBACK);
        let above = shown.screen().contents();
        shown.screen_mut().set_scrollback(0);
        above + "\n" + &shown.screen().contents()
    }

    /// Whether a screen was ever drawn on it.
    pub(crate) fn was_taken(&self) -> bool {
        self.was_taken.load(Ordering::Relaxed)
    }

    /// Whether it is as a command finds it: the normal screen with its cursor.
    pub(crate) fn is_given_back(&self) -> bool {
        let shown = self.shown.lock().unwrap();
        !shown.screen().alternate_screen() && !shown.screen().hide_cursor()
    }

    /// Waits until this is so.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < PATIENCE, "{what} does not come: {}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until these words stand on it.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &str) {
        self.wait(words, |of| of.text().contains(words));
    }

    /// Makes it so large.
    pub(crate) fn resize(&self, (width, height): (u16, u16)) {
        self.shown.lock().unwrap().screen_mut().set_size(some(height), some(width));
        tcsetwinsize(&self.terminal, size(width, height)).unwrap();
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn some(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a terminal has columns and lines")
}

const fn size(width: u16, height: u16) -> Winsize {
    Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }
}
