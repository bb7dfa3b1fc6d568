//! OpenMetrics over HTTP: one answer to each connection.

use crate::service::Service;
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
    service: Arc<Service>,
    going_on: Arc<AtomicUsize>,
}

impl Scrapes {
    pub(crate) fn new(service: &Arc<Service>) -> Self {
        Self { service: Arc::clone(service), going_on: Arc::default() }
    }

    /// Answers one client on a thread of its own. A slow one is cut off, and delays no other.
    pub(crate) fn welcome(&self, socket: OwnedFd) {
        if self.going_on.fetch_add(1, Ordering::AcqRel) >= SCRAPES_MAX {
            self.going_on.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let (service, going_on) = (Arc::clone(&self.service), Arc::clone(&self.going_on));
        let spawned = std::thread::Builder::new().name("metrics".into()).spawn(move || {
            // A client that cannot be read or written is gone.
            let _ = answer(&service, TcpStream::from(socket));
            going_on.fetch_sub(1, Ordering::AcqRel);
        });
        if spawned.is_err() {
            self.going_on.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn answer(service: &Service, mut stream: TcpStream) -> io::Result<()> {
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
    stream.write_all(&reply(&request, || service.view().open_metrics()))
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// The reply to a request; `metrics` makes the figures.
fn reply(request: &[u8], metrics: impl FnOnce() -> String) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics" | b"/") => {
            ("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics())
        }
        (_, b"/metrics" | b"/") => {
            ("405 Method Not Allowed\r\nAllow: GET, HEAD", PLAIN, "figures can only be read: GET /metrics\n".to_owned())
        }
        _ => ("404 Not Found", PLAIN, "ask for /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if method == b"HEAD" { head.into_bytes() } else { (head + &body).into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_in_another_way_is_told_which_one_there_is() {
        let told = |request: &str| String::from_utf8(reply(request.as_bytes(), || "figures\n".into())).unwrap();
        for target in ["/metrics", "/", "/metrics?module=a"] {
            let got = told(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
            assert!(got.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text"), "{got}");
            assert!(got.ends_with("\r\n\r\nfigures\n"), "{got}");
        }
        let head = told("HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 8\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        let absent = told("GET /nix HTTP/1.1\r\n\r\n");
        assert!(absent.starts_with("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain"), "{absent}");
        let other = told("POST /metrics HTTP/1.1\r\n\r\n");
        assert!(other.starts_with("HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\n"), "{other}");
    }
}
