//! The frames of a run for those who attach: a socket of its user alone, with the last minutes first and then a frame a second.

use super::screen::FRAMES_MAX;
use loadline_analysis::LiveFrame;
use loadline_emulator::{ListenError, Listener, listen_unix};
use loadline_runs::emulation::default_socket;
use std::collections::VecDeque;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Readers at once.
const READERS_MAX: usize = 8;
/// A reader that is so many frames behind is dropped,
const BEHIND_MAX: usize = 16;
/// and one that takes nothing for so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// Names of sockets begin and end with this.
const NAME: &str = "live-";

/// Where frames are handed out.
pub(crate) struct LiveSocket {
    feed: Arc<Mutex<Feed>>,
    _listener: Listener,
}

/// What is handed out.
#[derive(Default)]
struct Feed {
    latest: VecDeque<Arc<str>>,
    readers: Vec<SyncSender<Arc<str>>>,
}

/// The socket of a run; what stores none is named by its process.
pub(crate) fn place(run: &str) -> PathBuf {
    default_socket(&format!("{NAME}{run}"))
}

/// Whether something of another user is at a place: that user could send anything.
pub(super) fn is_of_another(place: &Path) -> bool {
    std::fs::symlink_metadata(place).is_ok_and(|of| of.uid() != rustix::process::geteuid().as_raw())
}

/// The runs of this user that can be attached to, by their names.
pub(crate) fn running() -> Vec<String> {
    let example = place("");
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let (Some(folder), Some(affixes)) = (example.parent(), name(&example)) else { return Vec::new() };
    let (before, after) = affixes.split_at(affixes.len() - ".sock".len());
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let ours = files.filter(|file| !is_of_another(file)).filter_map(|file| name(&file));
    let names = ours.filter_map(|file| Some(file.strip_prefix(before)?.strip_suffix(after)?.to_owned()));
    // A socket may be left of a process that was killed.
    let mut all: Vec<String> = names.filter(|run| UnixStream::connect(place(run)).is_ok()).collect();
    all.sort();
    all
}

impl LiveSocket {
    /// Listens for readers of the run that this frame is of.
    ///
    /// # Errors
    /// The system refuses, or the place is taken.
    pub(crate) fn listen(frame: &LiveFrame) -> Result<Self, ListenError> {
        let feed = Arc::<Mutex<Feed>>::default();
        let own = Arc::clone(&feed);
        let name =
            if frame.run.is_empty() { format!("{}-{}", frame.verb, std::process::id()) } else { frame.run.clone() };
        let listener = listen_unix(Box::new(move |client| welcome(&own, client)), &place(&name))?;
        Ok(Self { feed, _listener: listener })
    }

    /// Hands a line out. A reader who is behind is dropped, never waited for.
    pub(crate) fn send(&self, line: &str) {
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        let line: Arc<str> = line.into();
        feed.readers.retain(|reader| reader.try_send(Arc::clone(&line)).is_ok());
        feed.latest.push_back(line);
        if feed.latest.len() > FRAMES_MAX {
            feed.latest.pop_front();
        }
    }
}

/// Lets a reader in: the last frames, and then each that comes.
fn welcome(feed: &Mutex<Feed>, client: OwnedFd) {
    let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
    if feed.readers.len() >= READERS_MAX {
        return;
    }
    let (sender, lines) = sync_channel(BEHIND_MAX);
    let before: Vec<Arc<str>> = feed.latest.iter().cloned().collect();
    let thread = std::thread::Builder::new().name("reader".into());
    if thread.spawn(move || hand_out(UnixStream::from(client), &before, &lines)).is_ok() {
        feed.readers.push(sender);
    }
}

fn hand_out(mut client: UnixStream, before: &[Arc<str>], lines: &Receiver<Arc<str>>) {
    if client.set_write_timeout(Some(PATIENCE)).is_err() {
        return;
    }
    for line in before.iter().cloned().chain(lines.iter()) {
        if client.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}
