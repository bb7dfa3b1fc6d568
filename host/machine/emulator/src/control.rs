//! The control socket: a line of JSON is asked, a line answers. `docs/formats/control.md`.

use crate::changes::ChangeOutcome;
use crate::service::Service;
use crate::view::{NumberedFault, View};
use loadline_emulation::Change;
use parking_lot::{Mutex, MutexGuard};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration as Span;

/// Bytes of a line at most.
pub const CONTROL_LINE_MAX: usize = 4 << 20;
/// Bytes of a longer one that are read on to find its end, and for how long.
const SKIPPED_MAX: usize = 64 << 20;
const SKIPPING_MAX: Span = Span::from_secs(10);
/// Control connections at once. One more takes the place of that which has been idle longest; where all are at work it is closed.
pub const CONTROL_CONNECTIONS_MAX: usize = 64;
/// Between two looks at whether everything ends.
const LOOK: Span = Span::from_millis(200);

/// What is asked on the control socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlRequest {
    /// What the emulation is doing.
    Status,
    /// Which faults are in force.
    Faults,
    /// To do something.
    Change(Change),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlAnswer {
    /// To [`ControlRequest::Status`].
    Status(View),
    /// To [`ControlRequest::Faults`].
    Faults(Vec<NumberedFault>),
    /// To [`ControlRequest::Change`].
    Changed(ChangeOutcome),
    /// In place of any: why not, in a sentence.
    Error(String),
}

/// Reads one line of a client.
///
/// # Errors
/// Bytes that are no request, in a sentence.
pub fn parse_control(line: &[u8]) -> Result<ControlRequest, String> {
    serde_json::from_slice(line).map_err(|error| {
        format!("this is no request: {error}; ask for \"status\", \"faults\" or {{\"change\": ...}}, a line each")
    })
}

fn answer_to(service: &Service, request: &ControlRequest) -> ControlAnswer {
    match request {
        ControlRequest::Status => ControlAnswer::Status(service.view()),
        ControlRequest::Faults => {
            ControlAnswer::Faults(service.driver().look(|model, _| model.faults().map(NumberedFault::of).collect()))
        }
        ControlRequest::Change(change) => match service.change(change) {
            Ok(outcome) => ControlAnswer::Changed(outcome),
            Err(error) => ControlAnswer::Error(error.to_string()),
        },
    }
}

/// A control connection.
#[derive(Debug)]
struct RoomWaiter {
    stream: UnixStream,
    /// Since when nothing is asked on it; `None`: something is being done for it.
    idle_since: Mutex<Option<std::time::Instant>>,
}

impl RoomWaiter {
    fn idle_since(&self) -> MutexGuard<'_, Option<std::time::Instant>> {
        self.idle_since.lock()
    }
}

type Askers = Mutex<Vec<Arc<RoomWaiter>>>;

/// Takes control connections.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    service: Arc<Service>,
    askers: Arc<Askers>,
}

impl ControlSocket {
    pub(crate) fn new(service: &Arc<Service>) -> Self {
        Self { service: Arc::clone(service), askers: Arc::default() }
    }

    /// Serves one on a thread of its own.
    pub(crate) fn welcome(&self, socket: OwnedFd) {
        let asker = Arc::new(RoomWaiter {
            stream: UnixStream::from(socket),
            idle_since: Mutex::new(Some(std::time::Instant::now())),
        });
        if !self.enter(&asker) {
            return;
        }
        let (service, askers, own) = (Arc::clone(&self.service), Arc::clone(&self.askers), Arc::clone(&asker));
        let spawned = std::thread::Builder::new().name("control".into()).spawn(move || {
            // A client that cannot be read or written is gone.
            let _ = serve(&service, &own);
            leave(&askers, &own);
        });
        if spawned.is_err() {
            leave(&self.askers, &asker);
        }
    }

    /// Makes room for one more, where that is possible.
    fn enter(&self, asker: &Arc<RoomWaiter>) -> bool {
        let mut askers = self.askers.lock();
        if askers.len() >= CONTROL_CONNECTIONS_MAX {
            let idle = askers.iter().enumerate().filter_map(|(place, there)| Some((place, (*there.idle_since())?)));
            let Some((place, _)) = idle.min_by_key(|(_, since)| *since) else { return false };
            // Its thread reads the end.
            let _ = askers.swap_remove(place).stream.shutdown(std::net::Shutdown::Both);
        }
        askers.push(Arc::clone(asker));
        true
    }
}

fn leave(askers: &Askers, asker: &Arc<RoomWaiter>) {
    askers.lock().retain(|there| !Arc::ptr_eq(there, asker));
}

fn serve(service: &Service, asker: &RoomWaiter) -> io::Result<()> {
    let (stream, mut out) = (&asker.stream, &asker.stream);
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(Span::from_secs(10)))?;
    let mut lines = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        let room = (CONTROL_LINE_MAX - line.len()) as u64;
        match lines.by_ref().take(room).read_until(b'\n', &mut line) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if service.is_ending() {
                    return Ok(());
                }
                continue;
            }
            Err(error) => return Err(error),
        }
        let too_long = !line.ends_with(b"\n") && line.len() == CONTROL_LINE_MAX;
        // A client that closes its end may leave out the last line break.
        let mut is_last = !too_long && !line.ends_with(b"\n");
        if line.is_empty() {
            return Ok(());
        }
        *asker.idle_since() = None;
        let answer = if too_long {
            // A client that is still sending would not read the answer.
            is_last = !skip_line(&mut lines, service)?;
            ControlAnswer::Error(format!("a request is at most {CONTROL_LINE_MAX} bytes long"))
        } else {
            match parse_control(&line) {
                Ok(request) => answer_to(service, &request),
                Err(error) => ControlAnswer::Error(error),
            }
        };
        let mut text = serde_json::to_string(&answer).expect("answers are plain data");
        text.push('\n');
        out.write_all(text.as_bytes())?;
        if is_last {
            return Ok(());
        }
        line.clear();
        *asker.idle_since() = Some(std::time::Instant::now());
    }
}

/// Reads on to the end of a line that is too long; `false`: it has none within [`SKIPPED_MAX`] and [`SKIPPING_MAX`].
fn skip_line(lines: &mut BufReader<&UnixStream>, service: &Service) -> io::Result<bool> {
    let (begun, mut skipped) = (std::time::Instant::now(), 0);
    while skipped < SKIPPED_MAX && begun.elapsed() < SKIPPING_MAX && !service.is_ending() {
        let bytes = match lines.fill_buf() {
            Ok([]) => return Ok(false),
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
            Err(error) => return Err(error),
        };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |end| end + 1);
        lines.consume(count);
        skipped += count;
        if end.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asks an emulation something over its control socket.
///
/// # Errors
/// Nobody listens there, or what answers is no emulation.
pub fn ask_control(socket: &Path, request: &ControlRequest) -> io::Result<ControlAnswer> {
    let mut stream = UnixStream::connect(socket)?;
    let mut text = serde_json::to_string(request).expect("requests are plain data");
    text.push('\n');
    stream.write_all(text.as_bytes())?;
    let mut line = Vec::new();
    BufReader::new(stream).take(64 << 20).read_until(b'\n', &mut line)?;
    serde_json::from_slice(&line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "what answers is no emulation"))
}
