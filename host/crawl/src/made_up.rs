//! A made-up site for tests and demonstrations: a seeded graph of pages, with what goes wrong on real ones.

pub(crate) mod documents;

use loadline_pipeline::MadeUpPlan;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The host that its pages are of. Nobody else can have it (RFC 2606).
pub(crate) const START: &str = "http://made-up.invalid/p/0";
/// Links of a page to others.
const CHILDREN: u64 = 8;
/// Of so many pages, one leads to a document.
const DOCUMENT_EVERY: u64 = 16;
/// Paragraphs of a document.
const PARAGRAPHS: u64 = 3;
/// Bytes of a word of its pages.
const WORD: u64 = 6;
/// How often a server looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A server of such a site on this machine. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct MadeUpSite {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Site {
    plan: MadeUpPlan,
    /// Requests so far to the page that asks to be left alone.
    busy: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// splitmix64 of a seed and a number.
pub(crate) fn draw(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl MadeUpSite {
    /// Begins to serve.
    pub(crate) fn serve(plan: MadeUpPlan) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop: Arc<AtomicBool> = Arc::default();
        let site = Arc::new(Site { plan, busy: AtomicU64::new(0), stop: Arc::clone(&stop) });
        let thread = std::thread::Builder::new().name("made-up".to_owned()).spawn(move || listen(&listener, &site))?;
        Ok(Self { address, stop, thread: Some(thread) })
    }
}

impl Drop for MadeUpSite {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(listener: &TcpListener, site: &Arc<Site>) {
    while !site.stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((socket, _)) => {
                let site = Arc::clone(site);
                let served = std::thread::Builder::new().name("made-up page".to_owned());
                // Without a thread the client sees a closed connection.
                let _ = served.spawn(move || drop(site.serve(socket)));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

impl Site {
    /// Answers the requests of a connection until one side ends it.
    fn serve(&self, socket: TcpStream) -> std::io::Result<()> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK_EVERY))?;
        let mut writer = socket.try_clone()?;
        let mut reader = BufReader::new(socket);
        loop {
            let mut path = String::new();
            let mut line = String::new();
            loop {
                match reader.read_line(&mut line) {
                    Ok(0) => return Ok(()),
                    Ok(_) => {}
                    Err(error)
                        if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
                    {
                        if self.stop.load(Ordering::Relaxed) {
                            return Ok(());
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                }
                if line == "\r\n" {
                    break;
                }
                if let Some(rest) = line.strip_prefix("GET ") {
                    rest.split(' ').next().unwrap_or("/").clone_into(&mut path);
                }
                line.clear();
            }
            if !self.answer(&path, &mut writer)? {
                return Ok(());
            }
        }
    }

    /// Answers one request; whether the connection stays.
    fn answer(&self, path: &str, writer: &mut TcpStream) -> std::io::Result<bool> {
        let page = |writer: &mut TcpStream, body: &str| {
            whole(writer, "200 OK", "Content-Type: text/html\r\n", body.as_bytes())
        };
        if let Some(number) = path.strip_prefix("/p/").and_then(|number| number.parse::<u64>().ok()) {
            self.wait(number);
            if number >= self.plan.pages {
                return whole(writer, "404 Not Found", "", b"no such page");
            }
            return page(writer, &self.page(number));
        }
        if let Some(name) = path.strip_prefix("/documents/") {
            return self.document(name, writer);
        }
        match path {
            "/robots.txt" => whole(writer, "200 OK", "", b"User-agent: *\nDisallow: /private/\n"),
            "/loop/a" => whole(writer, "302 Found", "Location: /loop/b\r\n", b""),
            "/loop/b" => whole(writer, "302 Found", "Location: /loop/a\r\n", b""),
            "/error" => whole(writer, "500 Internal Server Error", "", b"out of order"),
            "/busy" if self.busy.fetch_add(1, Ordering::Relaxed) == 0 => {
                whole(writer, "429 Too Many Requests", "Retry-After: 0\r\n", b"")
            }
            "/busy" => page(writer, "<p>not busy any more"),
            "/bomb" => whole(writer, "200 OK", "Content-Type: text/html\r\nContent-Encoding: gzip\r\n", &bomb()),
            "/charset" => {
                whole(writer, "200 OK", "Content-Type: text/html; charset=utf-8\r\n", b"<p>s\xfc\xdf und sch\xf6n")
            }
            "/picture" => whole(writer, "200 OK", "Content-Type: image/png\r\n", b"\x89PNG"),
            "/short" => {
                writer
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>short")?;
                Ok(false)
            }
            "/endless" => self.endless(writer),
            "/nested" => page(writer, &"<ul><li>".repeat(50_000)),
            path if path.starts_with("/redirect/") => {
                let number: u64 = path["/redirect/".len()..].parse().unwrap_or_default();
                whole(writer, "301 Moved Permanently", &format!("Location: /redirect/{}\r\n", number + 1), b"")
            }
            path if path.starts_with("/day/") => {
                let number: u64 = path["/day/".len()..].parse().unwrap_or_default();
                page(writer, &format!("<p>day {number}<a href=\"/day/{}\">next</a>", number + 1))
            }
            _ => whole(writer, "404 Not Found", "", b"nothing here"),
        }
    }

    /// The latency of a page, by its law: the mean, with a spread around it.
    fn wait(&self, number: u64) {
        let mean = self.plan.latency.as_ns();
        if mean == 0 {
            return;
        }
        // Exponential by inverse: -ln(u), bounded at 8 means.
        let spread = self.plan.spread;
        let unit = (draw(self.plan.seed ^ 0x0051_7e00, number) >> 11) as f64 / (1u64 << 53) as f64;
        let factor = 1.0 + spread * ((-(1.0 - unit).ln()).min(8.0) - 1.0);
        std::thread::sleep(Duration::from_nanos((mean as f64 * factor.max(0.0)) as u64));
    }

    fn page(&self, number: u64) -> String {
        let mut html = format!("<!doctype html><title>Page {number}</title><body>");
        for child in (number * CHILDREN + 1)..=(number + 1) * CHILDREN {
            if child < self.plan.pages {
                writeln!(html, "<a href=\"/p/{child}\">{child}</a>").expect("a text takes more");
            }
        }
        if number == 0 && self.plan.bad {
            for bad in [
                "loop/a",
                "error",
                "busy",
                "bomb",
                "charset",
                "picture",
                "short",
                "endless",
                "nested",
                "redirect/0",
                "day/0",
                "missing",
                "private/x",
            ] {
                writeln!(html, "<a href=\"/{bad}\">{bad}</a>").expect("a text takes more");
            }
        }
        if self.plan.documents {
            if number.is_multiple_of(DOCUMENT_EVERY) {
                let document = number / DOCUMENT_EVERY;
                let kind = documents::KINDS[document as usize % documents::KINDS.len()];
                writeln!(html, "<a href=\"/documents/{document}.{kind}\">{kind}</a>").expect("a text takes more");
            }
            let bad = if number == 0 && self.plan.bad { documents::BAD.as_slice() } else { &[] };
            for bad in bad {
                writeln!(html, "<a href=\"/documents/{bad}\">{bad}</a>").expect("a text takes more");
            }
        }
        html.push_str("<p>");
        self.words(number, &mut html);
        html
    }

    /// A document by its name.
    fn document(&self, name: &str, writer: &mut TcpStream) -> std::io::Result<bool> {
        let made = name.split_once('.').and_then(|(number, kind)| {
            let number: u64 = number.parse().ok()?;
            self.wait(number);
            let paragraphs: Vec<String> = (0..PARAGRAPHS)
                .map(|paragraph| {
                    let mut text = String::new();
                    self.words(self.plan.pages + number * PARAGRAPHS + paragraph, &mut text);
                    text
                })
                .collect();
            let paragraphs: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
            documents::document(kind, &format!("Document {number}"), &paragraphs)
        });
        match made.or_else(|| documents::bad(name)) {
            Some(body) => {
                let headers = format!("Content-Type: {}\r\n", documents::content_type(name));
                whole(writer, "200 OK", &headers, &body)
            }
            None => whole(writer, "404 Not Found", "", b"no such document"),
        }
    }

    /// Words of a page or a paragraph.
    fn words(&self, number: u64, html: &mut String) {
        let seed = self.plan.seed;
        // Half to one and a half of the mean size.
        let size = self.plan.size.get();
        let words = (size / 2 + draw(seed, number) % size.max(1)) / WORD;
        for word in 0..words {
            // Few words are frequent, as in any language.
            let place = draw(seed ^ number, word);
            let rank = (place >> 32) % (1 + place % 5_000);
            write!(html, "w{rank:04} ").expect("a text takes more");
        }
    }

    /// A body without an end.
    fn endless(&self, writer: &mut TcpStream) -> std::io::Result<bool> {
        writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>")?;
        let words = b"again ".repeat(10_000);
        while !self.stop.load(Ordering::Relaxed) {
            writer.write_all(&words)?;
        }
        Ok(false)
    }
}

fn whole(writer: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<bool> {
    let mut answer = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    writer.write_all(&answer)?;
    Ok(true)
}

/// 96 MiB of nothing, compressed.
fn bomb() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..96 {
        encoder.write_all(&zeros).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it")
}
