//! Asks the metadata service of a cloud: HTTP over a link-local address, answered within a moment or not at all.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

/// Where all three clouds have it.
pub(super) const LINK_LOCAL: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(169, 254, 169, 254), 80));
/// A service on the same host takes a connection in far less.
const CONNECT_TIME: Duration = Duration::from_millis(250);
/// And has answered by then.
const ANSWER_TIME: Duration = Duration::from_secs(2);
/// What is read of an answer at most.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// It cannot be reached, or breaks off.
    #[error(
        "the metadata service at {address} does not answer: {source}; is the route to it closed for this user or container?"
    )]
    Unreachable {
        /// Where it was sought.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// It answers something else than what was asked for.
    #[error("the metadata service refuses {path}: {status}; is it turned off for this machine?")]
    Refused {
        /// What was asked for.
        path: String,
        /// The first line of the answer.
        status: String,
    },
}

/// One request: what is asked for and how.
pub(super) struct Question<'a> {
    /// `GET` or `PUT`.
    pub(super) method: &'a str,
    /// With the query.
    pub(super) path: &'a str,
    /// Whom it is for.
    pub(super) host: &'a str,
    /// A header and its value, by which the service knows that it was meant.
    pub(super) header: (&'a str, &'a str),
}

/// The body of the answer.
///
/// # Errors
/// No answer in time, or another status than 200.
pub(super) fn ask(address: SocketAddr, question: &Question<'_>) -> Result<String, MetadataError> {
    let answer = exchange(address, question).map_err(|source| MetadataError::Unreachable { address, source })?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(MetadataError::Refused { path: question.path.to_owned(), status: status.to_owned() });
    }
    let chunked = lines.filter_map(|line| line.split_once(':')).any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked")
    });
    let cut_off = || {
        let source = io::Error::new(io::ErrorKind::UnexpectedEof, "the answer breaks off");
        MetadataError::Unreachable { address, source }
    };
    if chunked { joined(body).ok_or_else(cut_off) } else { Ok(body.to_owned()) }
}

/// Sends the question and reads until the other end closes, or time is up.
fn exchange(address: SocketAddr, question: &Question<'_>) -> io::Result<Vec<u8>> {
    let Question { method, path, host, header: (name, value) } = question;
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIME)?;
    let until = Instant::now() + ANSWER_TIME;
    stream.set_write_timeout(Some(ANSWER_TIME))?;
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{name}: {value}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(text.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(answer),
            count => answer.extend_from_slice(&buffer[..count]),
        }
        if answer.len() as u64 > ANSWER_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is longer than a metadata service's"));
        }
    }
}

/// A body that came in chunks, each with its length before it in hexadecimal; `None` where it breaks off.
fn joined(mut body: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n")?;
        let length = usize::from_str_radix(length.split(';').next()?.trim(), 16).ok()?;
        if length == 0 {
            return Some(whole);
        }
        whole.push_str(rest.get(..length)?);
        body = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

#[cfg(test)]
pub(crate) mod served {
    //! A metadata service made for tests.

    use super::*;
    use std::net::TcpListener;

    /// Serves each question of `answers` (the beginning of the request, a header that must be in it, the whole answer) as often
    /// as it is asked, and 401 to any other; gives its address. Ends with the process.
    pub(crate) fn service(answers: Vec<(&'static str, &'static str, String)>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = String::new();
                let mut buffer = [0; 1024];
                while !request.contains("\r\n\r\n") {
                    let count = stream.read(&mut buffer).unwrap();
                    request.push_str(&String::from_utf8_lossy(&buffer[..count]));
                }
                let known = answers.iter().find(|(begin, header, _)| {
                    request.starts_with(begin) && request.lines().any(|line| line.eq_ignore_ascii_case(header))
                });
                let refusal = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned();
                let answer = known.map_or(refusal, |(_, _, answer)| answer.clone());
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    /// A body as servers commonly send it.
    pub(crate) fn plain(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question<'static> {
        Question { method: "GET", path: "/x", host: "169.254.169.254", header: ("Metadata", "true") }
    }

    #[test]
    fn plain_and_chunked_answers_are_read() {
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\n\r\n";
        for answer in [served::plain("abcdefg"), chunked.to_owned()] {
            let address = served::service(vec![("GET /x HTTP/1.1", "metadata: true", answer)]);
            assert_eq!(ask(address, &question()).unwrap(), "abcdefg");
        }
        let cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabcd".to_owned();
        let address = served::service(vec![("GET /x HTTP/1.1", "metadata: true", cut)]);
        assert!(ask(address, &question()).unwrap_err().to_string().contains("breaks off"));
    }

    #[test]
    fn refusals_and_silence_say_what_to_look_at() {
        let address = served::service(Vec::new());
        let refused = ask(address, &question()).unwrap_err().to_string();
        assert!(refused.contains("refuses /x: HTTP/1.1 401"), "{refused}");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = listener.local_addr().unwrap();
        drop(listener);
        assert!(ask(closed, &question()).unwrap_err().to_string().contains("does not answer"));
    }
}
