//! The client against servers that answer one way or the other.

use loadline_web::{Deadline, Rest, Url, WebClient, WebError, WebRequest, WebResponse};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

/// Gives these answers, one for each request, each on a connection of its own where it says `close`; what was asked comes back.
fn serve(answers: Vec<&'static str>) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (heard, asked) = channel();
    std::thread::spawn(move || {
        let mut open = None;
        for answer in answers {
            let mut stream = open.take().unwrap_or_else(|| BufReader::new(listener.accept().unwrap().0));
            let mut request = String::new();
            while !request.ends_with("\r\n\r\n") {
                assert!(stream.read_line(&mut request).unwrap() > 0, "the client went away within {request:?}");
            }
            heard.send(request).unwrap();
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            open = (!answer.contains("close")).then_some(stream);
        }
        // The last connection stays open until the client is done with it.
        let _ = open.map(|mut stream| stream.read_line(&mut String::new()));
    });
    (address, asked)
}

fn url() -> Url {
    Url::parse("https://prices.example/list?a='b'").unwrap()
}

fn ask<'c>(client: &'c WebClient, rest: Option<Rest<'_>>, deadline: Deadline<'c>) -> Result<WebResponse<'c>, WebError> {
    let request = WebRequest { url: &url(), headers: &[("X-Key", "k")], rest };
    client.slot(&url()).ask(&request, deadline)
}

/// The whole body of one answer.
fn body_of(answer: &'static str) -> Result<String, WebError> {
    let (address, _asked) = serve(vec![answer]);
    let client = WebClient::new(1, Some(address));
    let mut text = String::new();
    let mut response = ask(&client, None, Deadline::after(LONG))?;
    response.body.read_to_string(&mut text).map_err(WebError::of_body)?;
    Ok(text)
}

#[test]
fn bodies_end_by_their_length_by_chunks_and_with_the_connection() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabcdefg",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcdefg",
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabcdefgh",
    ] {
        assert_eq!(body_of(answer).unwrap(), "abcdefg", "{answer}");
    }
    assert!(body_of("HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n").unwrap().is_empty());
}

#[test]
fn bodies_that_break_off_say_so() {
    let failed = |answer| body_of(answer).unwrap_err();
    let short = failed("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nabcdefg");
    assert!(matches!(short, WebError::ShortBody), "{short}");
    let chunk = failed("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabcdefg");
    assert!(matches!(chunk, WebError::ShortChunk), "{chunk}");
    let none = failed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nabcdefg\r\n");
    assert!(matches!(none, WebError::NoChunks), "{none}");
    let nothing = failed("close");
    assert!(matches!(nothing, WebError::NoAnswer | WebError::NoHttp), "{nothing}");
}

#[test]
fn a_connection_is_kept_for_the_next_request_and_the_rest_of_a_body_is_asked_for_by_its_tag() {
    let (address, asked) = serve(vec![
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n\r\nb",
    ]);
    let client = WebClient::new(1, Some(address));
    let mut text = String::new();
    for rest in [None, Some(Rest { from: 1, etag: "\"e\"" })] {
        ask(&client, rest, Deadline::after(LONG)).unwrap().body.read_to_string(&mut text).unwrap();
    }
    assert_eq!(text, "ab");
    let whole = asked.recv().unwrap();
    assert!(whole.starts_with("GET /list?a=%27b%27 HTTP/1.1\r\nHost: prices.example\r\n"), "{whole}");
    assert!(whole.contains("\r\nAccept-Encoding: gzip\r\nX-Key: k\r\n\r\n"), "{whole}");
    assert!(asked.recv().unwrap().contains("\r\nRange: bytes=1-\r\nIf-Range: \"e\"\r\n"));
}

#[test]
fn a_connection_whose_answer_is_not_understood_is_closed() {
    let two = "HTTP/1.1 200 close\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc";
    let (address, _asked) = serve(vec![two, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb"]);
    let client = WebClient::new(1, Some(address));
    let failed = ask(&client, None, Deadline::after(LONG)).err();
    assert!(matches!(failed, Some(WebError::TwoLengths)), "{failed:?}");
    let mut text = String::new();
    ask(&client, None, Deadline::after(LONG)).unwrap().body.read_to_string(&mut text).unwrap();
    assert_eq!(text, "b");
}

#[test]
fn a_deadline_and_a_wish_end_what_would_never_come() {
    let (address, _asked) = serve(vec!["HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabc"]);
    let client = WebClient::new(1, Some(address));
    let soon = Deadline::after(Duration::from_millis(300));
    let mut response = ask(&client, None, soon).unwrap();
    let late = WebError::of_body(response.body.read_to_end(&mut Vec::new()).unwrap_err());
    assert!(matches!(late, WebError::LateBody), "{late}");

    let (address, _asked) = serve(vec!["HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabc"]);
    let client = WebClient::new(1, Some(address));
    let looks = std::cell::Cell::new(0);
    let stop = || looks.replace(looks.get() + 1) >= 5;
    let patient = Deadline { at: Instant::now() + LONG, connect: LONG, stop: Some(&stop) };
    let mut response = ask(&client, None, patient).unwrap();
    let stopped = WebError::of_body(response.body.read_to_end(&mut Vec::new()).unwrap_err());
    assert!(matches!(stopped, WebError::Stopped), "{stopped}");
}
