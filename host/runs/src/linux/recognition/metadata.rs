//! Asks the metadata service of a cloud what this machine is.

use loadline_kernel::metadata::{self, MetadataRequest, Patience};
use std::io;
use std::time::Duration;

/// A service on the same host answers in far less.
const PATIENCE: Patience = Patience { connection: Duration::from_millis(250), answer: Duration::from_secs(2) };

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// It cannot be reached, or breaks off.
    #[error(
        "the metadata service at {address} does not answer: {source}; is the route to it closed for this user or container?"
    )]
    Unreachable {
        /// Where it was sought.
        address: String,
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

/// The body of the answer.
///
/// # Errors
/// No answer in time, or another status than 200.
pub(super) fn ask(address: &str, request: &MetadataRequest<'_>) -> Result<String, MetadataError> {
    let answer = metadata::ask(address, request, PATIENCE)
        .map_err(|source| MetadataError::Unreachable { address: address.to_owned(), source })?;
    if answer.status != 200 {
        let status = format!("HTTP/1.1 {}", answer.status);
        return Err(MetadataError::Refused { path: request.path.to_owned(), status });
    }
    Ok(answer.body)
}

#[cfg(test)]
pub(crate) mod served {
    //! A metadata service made for tests.

    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Serves each question of `answers` (the beginning of the request, a header that must be in it, the whole answer) as often
    /// as it is asked, and 401 to any other; gives its address. Ends with the process.
    pub(crate) fn service(answers: Vec<(&'static str, &'static str, String)>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
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

    #[test]
    fn refusals_and_silence_say_what_to_look_at() {
        let question = MetadataRequest { method: "GET", path: "/x", headers: &[("Metadata", "true")], body: "" };
        let refused = ask(&served::service(Vec::new()), &question).unwrap_err().to_string();
        assert!(refused.contains("refuses /x: HTTP/1.1 401"), "{refused}");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = listener.local_addr().unwrap().to_string();
        drop(listener);
        assert!(ask(&closed, &question).unwrap_err().to_string().contains("does not answer"));
    }
}
