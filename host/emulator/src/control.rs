//! The control socket: a line of JSON is asked, a line answers. `docs/formats/control.md`.

use crate::changing::Changed;
use crate::model::{Change, Fault};
use crate::serving::Serving;
use crate::view::View;
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration as Span;

/// Bytes of a line at most.
pub const CONTROL_LINE_MAX: usize = 4 << 20;
/// Control connections at once; more are closed.
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
    Changed(Changed),
    /// In place of any: why not, in a sentence.
    Error(String),
}

/// A fault in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedFault {
    /// By which it is cleared.
    pub number: u32,
    /// What it is.
    pub fault: Fault,
    /// The same for people.
    pub text: String,
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

impl Serving {
    fn control(&self, request: &ControlRequest) -> ControlAnswer {
        match request {
            ControlRequest::Status => ControlAnswer::Status(self.view()),
            ControlRequest::Faults => ControlAnswer::Faults(self.driver.look(|model, _| {
                let numbered = |(number, fault): (u32, &Fault)| NumberedFault {
                    number,
                    text: fault.to_string(),
                    fault: fault.clone(),
                };
                model.faults().map(numbered).collect()
            })),
            ControlRequest::Change(change) => match self.change(change) {
                Ok(changed) => ControlAnswer::Changed(changed),
                Err(error) => ControlAnswer::Error(error.to_string()),
            },
        }
    }
}

/// Takes control connections.
#[derive(Debug)]
pub(crate) struct Control {
    serving: Arc<Serving>,
    connections: Arc<AtomicUsize>,
}

impl Control {
    pub(crate) fn new(serving: &Arc<Serving>) -> Self {
        Self { serving: Arc::clone(serving), connections: Arc::default() }
    }

    /// Serves one on a thread of its own; one too many is closed.
    pub(crate) fn welcome(&self, socket: OwnedFd) {
        if self.connections.fetch_add(1, Ordering::AcqRel) >= CONTROL_CONNECTIONS_MAX {
            self.connections.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let (serving, connections) = (Arc::clone(&self.serving), Arc::clone(&self.connections));
        let spawned = std::thread::Builder::new().name("control".into()).spawn(move || {
            // Who cannot be read or written any more is gone.
            let _ = serve(&serving, UnixStream::from(socket));
            connections.fetch_sub(1, Ordering::AcqRel);
        });
        if spawned.is_err() {
            self.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn serve(serving: &Serving, stream: UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(Span::from_secs(10)))?;
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        let room = (CONTROL_LINE_MAX - line.len()) as u64;
        match lines.by_ref().take(room).read_until(b'\n', &mut line) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if serving.is_ending() {
                    return Ok(());
                }
                continue;
            }
            Err(error) => return Err(error),
        }
        let whole = line.ends_with(b"\n");
        if !whole && line.len() < CONTROL_LINE_MAX {
            return Ok(());
        }
        let answer = if whole {
            match parse_control(&line) {
                Ok(request) => serving.control(&request),
                Err(error) => ControlAnswer::Error(error),
            }
        } else {
            ControlAnswer::Error(format!("a request is at most {CONTROL_LINE_MAX} bytes long"))
        };
        let mut text = serde_json::to_string(&answer).expect("answers are plain data");
        text.push('\n');
        out.write_all(text.as_bytes())?;
        if !whole {
            return Ok(());
        }
        line.clear();
    }
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
