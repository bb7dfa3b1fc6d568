//! A small S3 server for tests, in this process: it stores, lists in pages, compares tags, and misbehaves when it is asked to.
//!
//! It knows the XML dialect of Google Cloud Storage too, which differs by tokens and by generations in place of tags.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The key that it accepts.
pub(crate) const KEY: &str = "key";
/// The token that it accepts.
pub(crate) const TOKEN: &str = "token";
/// Objects of one page of a list.
const PAGE: usize = 4;

/// How the server misbehaves, until it is asked not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerFault {
    /// So many requests are put off because there are too many.
    SlowDown(u64),
    /// So many answers end in the middle of their contents.
    CutsAnswers(u64),
    /// After so many more requests nobody answers any more.
    DiesAfter(u64),
}

#[derive(Debug, Default)]
struct ServerState {
    objects: BTreeMap<String, Vec<u8>>,
    fault: Option<ServerFault>,
    requests: u64,
}

/// The server; its threads end with the test's process.
#[derive(Debug)]
pub(crate) struct S3Server {
    port: u16,
    state: Arc<Mutex<ServerState>>,
}

struct Asked {
    method: String,
    target: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl S3Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state: Arc<Mutex<ServerState>> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { port, state }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn set(&self, fault: Option<ServerFault>) {
        self.state.lock().unwrap().fault = fault;
    }

    pub(crate) fn requests(&self) -> u64 {
        self.state.lock().unwrap().requests
    }

    /// Every object by its path in the bucket.
    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.state.lock().unwrap().objects.clone()
    }
}

/// Answers the requests of a connection until it ends.
fn serve(stream: &TcpStream, state: &Mutex<ServerState>) {
    let mut reader = BufReader::new(stream);
    while let Ok(Some(asked)) = read(&mut reader) {
        if answer(&asked, state, stream).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

fn read(reader: &mut impl BufRead) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length: &String| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { method, target, headers, body }))
}

/// What is sent: status, headers besides the length, contents.
struct Sent(u16, String, Vec<u8>);

fn refusal(status: u16, code: &str, message: &str) -> Sent {
    let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>");
    Sent(status, String::new(), text.into_bytes())
}

fn answer(asked: &Asked, state: &Mutex<ServerState>, mut stream: &TcpStream) -> io::Result<()> {
    let mut cuts = false;
    let sent = {
        let mut state = state.lock().unwrap();
        let next = |left: u64| left.checked_sub(1).filter(|left| *left > 0);
        match state.fault {
            Some(ServerFault::DiesAfter(0)) => return Err(io::ErrorKind::ConnectionReset.into()),
            Some(ServerFault::DiesAfter(left)) => state.fault = Some(ServerFault::DiesAfter(left - 1)),
            _ => {}
        }
        state.requests += 1;
        if let Some(ServerFault::SlowDown(left)) = state.fault {
            state.fault = next(left).map(ServerFault::SlowDown);
            refusal(503, "SlowDown", "Please reduce your request rate.")
        } else {
            let sent = carried_out(asked, &mut state.objects);
            if let Some(ServerFault::CutsAnswers(left)) = state.fault
                && sent.2.len() > 1
            {
                state.fault = next(left).map(ServerFault::CutsAnswers);
                cuts = true;
            }
            sent
        }
    };
    let Sent(status, headers, body) = sent;
    let head = format!(
        "HTTP/1.1 {status} Status\r\nContent-Length: {}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if cuts {
        stream.write_all(&body[..body.len() / 2])?;
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    stream.write_all(if asked.method == "HEAD" { b"" } else { &body })
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn tag(bytes: &[u8]) -> String {
    format!("\"{:016x}\"", sum(bytes))
}

fn headers_of(bytes: &[u8]) -> String {
    format!("ETag: {}\r\nx-goog-generation: {}\r\n", tag(bytes), sum(bytes))
}

fn carried_out(asked: &Asked, objects: &mut BTreeMap<String, Vec<u8>>) -> Sent {
    let header = |name: &str| asked.headers.get(name).map(String::as_str);
    let is_known = |text: &str| text.contains(&format!("Credential={KEY}/")) || text == format!("Bearer {TOKEN}");
    if !header("authorization").is_some_and(is_known) {
        return refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.");
    }
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let Some(path) = path.strip_prefix("/bucket").map(|path| path.trim_start_matches('/').replace("%2F", "/")) else {
        return refusal(404, "NoSuchBucket", "The specified bucket does not exist");
    };
    if path.is_empty() {
        return listed(query, objects);
    }
    let found = objects.get(&path);
    match asked.method.as_str() {
        "PUT" => {
            let conflicts = header("if-none-match").is_some() && found.is_some()
                || header("if-match").is_some_and(|wanted| found.is_none_or(|found| tag(found) != wanted))
                || header("x-goog-if-generation-match")
                    .is_some_and(|wanted| found.map_or(0, |found| sum(found)).to_string() != wanted);
            if conflicts {
                return refusal(412, "PreconditionFailed", "At least one of the pre-conditions did not hold");
            }
            let headers = headers_of(&asked.body);
            objects.insert(path, asked.body.clone());
            Sent(200, headers, Vec::new())
        }
        "DELETE" => {
            objects.remove(&path);
            Sent(204, String::new(), Vec::new())
        }
        _ => match found {
            None => refusal(404, "NoSuchKey", "The specified key does not exist."),
            Some(bytes) => read_object(bytes, header("range")),
        },
    }
}

fn read_object(bytes: &[u8], range: Option<&str>) -> Sent {
    let headers = headers_of(bytes);
    let Some((from, to)) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
        return Sent(200, headers, bytes.to_vec());
    };
    let (from, to) = (from.parse::<usize>().unwrap(), to.parse::<usize>().unwrap().min(bytes.len() - 1));
    if from >= bytes.len() {
        return refusal(416, "InvalidRange", "The requested range is not satisfiable");
    }
    let range = format!("{headers}Content-Range: bytes {from}-{to}/{}\r\n", bytes.len());
    Sent(206, range, bytes[from..=to].to_vec())
}

fn listed(query: &str, objects: &BTreeMap<String, Vec<u8>>) -> Sent {
    let value = |name: &str| {
        let found = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
        found.map_or_else(String::new, |(_, value)| value.replace("%2F", "/"))
    };
    let (prefix, after) = (value("prefix"), value("continuation-token"));
    let mut all = objects.iter().filter(|(path, _)| path.starts_with(&prefix) && **path > after);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult>");
    let page: Vec<_> = all.by_ref().take(PAGE).collect();
    for (path, bytes) in &page {
        write!(
            text,
            "<Contents><Key>{path}</Key><Size>{}</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
             <ETag>{}</ETag></Contents>",
            bytes.len(),
            tag(bytes).replace('"', "&quot;")
        )
        .unwrap();
    }
    let more = all.next().is_some();
    write!(text, "<IsTruncated>{more}</IsTruncated><KeyCount>{}</KeyCount>", page.len()).unwrap();
    if let (true, Some((last, _))) = (more, page.last()) {
        write!(text, "<NextContinuationToken>{last}</NextContinuationToken>").unwrap();
    }
    text.push_str("</ListBucketResult>");
    Sent(200, String::new(), text.into_bytes())
}
