//! A server as its clients see it.

use loadline_http::{CONNECTIONS_MAX, HEAD_MAX, ListenError, Page, Server};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// Clients that connect and say next to nothing.
const SLOW: usize = 2_000;

fn serve() -> Server {
    let pages = |request: &loadline_http::PageRequest| {
        let body = format!("figures for {}\n", request.accept);
        (request.path == "/metrics").then_some(Page { kind: "text/plain", body })
    };
    Server::listen("127.0.0.1:0".parse().unwrap(), pages).unwrap()
}

fn told(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(address: SocketAddr) -> String {
    told(address, &format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nAccept: me\r\n\r\n"))
}

#[test]
fn pages_are_read_and_other_requests_are_answered_with_what_to_do() {
    let server = serve();
    let address = server.address();
    let page = get(address);
    assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 15\r\n"), "{page}");
    assert!(page.contains("Connection: close\r\n") && page.ends_with("\r\n\r\nfigures for me\n"), "{page}");
    let host = format!("Host: localhost:{}\r\n\r\n", address.port());
    let head = told(address, &format!("HEAD /metrics HTTP/1.1\r\n{host}"));
    assert!(head.contains("Content-Length: 13\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let absent = told(address, &format!("GET /nix HTTP/1.1\r\n{host}"));
    assert!(absent.starts_with("HTTP/1.1 404 Not Found\r\n"), "{absent}");
    let other = told(address, &format!("POST /metrics HTTP/1.1\r\n{host}"));
    assert!(other.starts_with("HTTP/1.1 405 ") && other.contains("\r\nAllow: GET, HEAD\r\n"), "{other}");
    let forged = told(address, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(forged.starts_with("HTTP/1.1 403 ") && !forged.contains("figures"), "{forged}");
    let long = told(address, &format!("GET /metrics HTTP/1.1\r\nCookie: {}\r\n{host}", "a".repeat(2 * HEAD_MAX)));
    assert!(long.starts_with("HTTP/1.1 431 "), "{long}");
}

#[test]
fn other_machines_cannot_be_let_in() {
    for address in ["0.0.0.0:9100", "[::]:9100", "192.0.2.1:9100", "127.0.0.2:9100", "[::ffff:127.0.0.1]:9100"] {
        let refused = Server::listen(address.parse().unwrap(), |_| None).unwrap_err();
        assert!(matches!(refused, ListenError::NotLoopback(_)), "{address}");
        assert!(refused.to_string().contains("ssh -L 9100:127.0.0.1:9100"), "{refused}");
    }
    let server = serve();
    let taken = Server::listen(server.address(), |_| None).unwrap_err();
    assert!(matches!(taken, ListenError::System { .. }), "{taken}");
}

#[test]
fn slow_clients_delay_no_other() {
    let server = serve();
    let address = server.address();
    let mut slow = std::collections::VecDeque::new();
    for place in 0..SLOW {
        let mut client = TcpStream::connect(address).unwrap();
        // A client that is cut off by now cannot be written to.
        let _ = client.write_all(&b"GET /metrics HTTP/1.1\r\nHost: "[..place % 29]);
        slow.push_back(client);
        // Some more than the server keeps: those that it cut off need not be kept here, either.
        if slow.len() > 4 * CONNECTIONS_MAX {
            slow.pop_front();
        }
        if place % 100 == 0 {
            assert!(get(address).ends_with("figures for me\n"), "after {place}");
        }
    }
    assert!(get(address).ends_with("figures for me\n"));
}

#[test]
fn a_server_that_is_dropped_lets_go_of_its_address() {
    let server = serve();
    let address = server.address();
    let waiting = TcpStream::connect(address).unwrap();
    drop(server);
    drop(waiting);
    assert!(TcpStream::connect(address).is_err());
}
