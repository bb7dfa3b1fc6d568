//! The metadata service of a cloud: HTTP over a link of the machine itself, answered within a moment or not at all.

use std::io;
use std::time::Duration;
use ureq::http::{Request, Response, StatusCode};
use ureq::{Agent, Body};

/// Where all three clouds have it.
pub const LINK_LOCAL: &str = "169.254.169.254:80";
/// Bytes of an answer, at most.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct MetadataRequest<'a> {
    /// `GET`, `PUT` or `POST`.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Names and values. One of them shows the service that it was meant.
    pub headers: &'a [(&'a str, &'a str)],
    /// What follows them.
    pub body: &'a str,
}

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a connection.
    pub connection: Duration,
    /// For the whole answer.
    pub answer: Duration,
}

/// What the service answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataAnswer {
    /// Status of HTTP.
    pub status: StatusCode,
    /// What follows the headers.
    pub body: String,
}

/// Asks the service at `address`. No proxy is asked, and no redirect followed: the service is on this host.
///
/// # Errors
/// No whole answer in time. A refusal is an answer.
pub fn ask(address: &str, request: &MetadataRequest<'_>, patience: Patience) -> io::Result<MetadataAnswer> {
    let agent = Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .timeout_connect(Some(patience.connection))
        .timeout_global(Some(patience.answer));
    let mut response = send(&agent.build().into(), address, request).map_err(ureq::Error::into_io)?;
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
    Ok(MetadataAnswer { status: response.status(), body: body.map_err(ureq::Error::into_io)? })
}

fn send(agent: &Agent, address: &str, request: &MetadataRequest<'_>) -> Result<Response<Body>, ureq::Error> {
    let MetadataRequest { method, path, headers, body } = *request;
    let mut http = Request::builder().method(method).uri(format!("http://{address}{path}"));
    for (name, value) in headers {
        http = http.header(*name, *value);
    }
    if method == "GET" { agent.run(http.body(())?) } else { agent.run(http.body(body)?) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    const PATIENCE: Patience = Patience { connection: Duration::from_secs(5), answer: Duration::from_secs(60) };

    /// Asks a service that gives this answer, once; what it was asked, and the answer as it was understood.
    fn asked(request: &MetadataRequest<'_>, answer: &'static str) -> (String, io::Result<MetadataAnswer>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            while !heard.windows(4).any(|four| four == b"\r\n\r\n") {
                let mut piece = [0; 1024];
                let count = stream.read(&mut piece).unwrap();
                heard.extend_from_slice(&piece[..count]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(heard).unwrap()
        });
        let answer = ask(&address, request, PATIENCE);
        (service.join().unwrap().to_lowercase(), answer)
    }

    const QUESTION: MetadataRequest<'static> = MetadataRequest {
        method: "GET",
        path: "/x?y=1",
        headers: &[("Metadata", "true"), ("Host", "cloud")],
        body: "",
    };

    #[test]
    fn plain_and_chunked_answers_are_read_and_refusals_too() {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabcdefg",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\n\r\n",
        ] {
            let (heard, answer) = asked(&QUESTION, answer);
            assert!(heard.starts_with("get /x?y=1 http/1.1\r\n"), "{heard}");
            assert!(heard.contains("\r\nmetadata: true\r\n") && heard.contains("\r\nhost: cloud\r\n"), "{heard}");
            assert_eq!(answer.unwrap(), MetadataAnswer { status: StatusCode::OK, body: "abcdefg".into() });
        }
        let (_, refused) = asked(&QUESTION, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(refused.unwrap().status, 401);
    }

    #[test]
    fn an_answer_that_breaks_off_is_none() {
        for cut in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabcd",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nFALSE",
            "HTTP/1.1 200",
            "nonsense",
        ] {
            assert!(asked(&QUESTION, cut).1.is_err(), "{cut}");
        }
    }
}
