//! OpenMetrics over HTTP: one answer to each connection.

use crate::serving::Serving;
use rustix::fd::OwnedFd;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration as Span;

/// Bytes of a request at most.
const REQUEST_MAX: u64 = 8 << 10;
/// A client has so long to ask, and to take its answer.
const PATIENCE: Span = Span::from_secs(5);

/// Those who ask at once; more are cut off.
pub const SCRAPES_MAX: usize = 16;

/// Takes those who ask.
#[derive(Debug)]
pub(crate) struct Scrapes {
    serving: Arc<Serving>,
    going_on: Arc<AtomicUsize>,
}

impl Scrapes {
    pub(crate) fn new(serving: &Arc<Serving>) -> Self {
        Self { serving: Arc::clone(serving), going_on: Arc::default() }
    }

    /// Answers one on a thread of its own: whoever dawdles is cut off, and meanwhile holds up nobody.
    pub(crate) fn welcome(&self, socket: OwnedFd) {
        if self.going_on.fetch_add(1, Ordering::AcqRel) >= SCRAPES_MAX {
            self.going_on.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let (serving, going_on) = (Arc::clone(&self.serving), Arc::clone(&self.going_on));
        let spawned = std::thread::Builder::new().name("metrics".into()).spawn(move || {
            // Who cannot be read or written any more is gone.
            let _ = answer(&serving, TcpStream::from(socket));
            going_on.fetch_sub(1, Ordering::AcqRel);
        });
        if spawned.is_err() {
            self.going_on.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn answer(serving: &Serving, mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let begun = std::time::Instant::now();
    let mut request = Vec::new();
    let mut part = [0; 1_024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut part)?;
        request.extend_from_slice(&part[..count]);
        if count == 0 || request.len() as u64 > REQUEST_MAX || begun.elapsed() > PATIENCE {
            return Ok(());
        }
    }
    let (status, body) = if request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ") {
        ("200 OK", serving.view().open_metrics())
    } else {
        ("404 Not Found", "ask for /metrics\n".to_owned())
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
