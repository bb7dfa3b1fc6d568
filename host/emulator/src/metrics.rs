//! OpenMetrics over HTTP: one answer to each connection.

use crate::serving::Serving;
use rustix::fd::OwnedFd;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration as Span;

/// Bytes of a request at most.
const REQUEST_MAX: u64 = 8 << 10;
/// A client has so long to ask, and to take its answer.
const PATIENCE: Span = Span::from_secs(5);

/// Answers one client, on the listener's own thread: a scrape is short, and whoever dawdles is cut off.
pub(crate) fn serve(serving: &Arc<Serving>, socket: OwnedFd) {
    // Who cannot be read or written any more is gone.
    let _ = answer(serving, TcpStream::from(socket));
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
