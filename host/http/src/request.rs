//! What a client asks for.

use httparse::Status;

/// Bytes of a request's head at most.
pub const HEAD_MAX: usize = 8 << 10;
/// Its headers at most.
const HEADERS_MAX: usize = 64;
/// The port that an address goes without.
const PORT_UNNAMED: u16 = 80;

/// What is asked of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All of it.
    Get,
    /// What describes it.
    Head,
}

/// A request that may be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// What is asked of the page.
    pub method: Method,
    /// The page, without what stands behind a question mark.
    pub path: String,
    /// The forms that the client reads, as it wrote them; empty where it does not say.
    pub accept: String,
}

/// Why a request is not answered with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRefusal {
    /// It is no HTTP/1.
    Malformed,
    /// Its head is longer than [`HEAD_MAX`], or has too many headers.
    TooLong,
    /// It wants to change something.
    Method,
    /// It names the server by another name than its own.
    Host,
    /// There is no such page.
    Absent,
}

impl RequestRefusal {
    /// The status line's number and words, and what to do instead.
    pub(crate) const fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Malformed => ("400 Bad Request", "this is no request of HTTP/1.1"),
            Self::TooLong => ("431 Request Header Fields Too Large", "a request may have 8 KiB and 64 headers"),
            Self::Method => ("405 Method Not Allowed", "pages can only be read: GET or HEAD"),
            Self::Host => (
                "403 Forbidden",
                "ask by 127.0.0.1, [::1] or localhost with the port: others may be a page of another site that asks through a browser",
            ),
            Self::Absent => ("404 Not Found", "there is no such page"),
        }
    }
}

impl PageRequest {
    /// Reads the head of a request to the server at this port; `None` while it is not whole.
    ///
    /// The header `Host` must be `127.0.0.1:PORT`, `[::1]:PORT` or `localhost:PORT`, and nothing else: not once more, and no longer.
    ///
    /// # Errors
    /// It is not to be answered.
    pub fn parse(head: &[u8], port: u16) -> Result<Option<Self>, RequestRefusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(head) {
            Ok(Status::Complete(length)) if length <= HEAD_MAX => {}
            Ok(Status::Partial) if head.len() < HEAD_MAX => return Ok(None),
            Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(RequestRefusal::TooLong),
            Err(_) => return Err(RequestRefusal::Malformed),
        }
        let values = |name: &'static str| {
            let own = parsed.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
            own.map(|header| header.value)
        };
        let mut hosts = values("host");
        if !hosts.next().is_some_and(|host| is_own_name(host, port)) || hosts.next().is_some() {
            return Err(RequestRefusal::Host);
        }
        let method = match parsed.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            _ => return Err(RequestRefusal::Method),
        };
        let target = parsed.path.unwrap_or_default();
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        if !path.starts_with('/') {
            return Err(RequestRefusal::Absent);
        }
        let accept: Vec<_> = values("accept").map(String::from_utf8_lossy).collect();
        Ok(Some(Self { method, path: path.to_owned(), accept: accept.join(",") }))
    }
}

/// Whether a header `Host` is a name of this machine for itself, with the port.
fn is_own_name(host: &[u8], port: u16) -> bool {
    ["127.0.0.1", "[::1]", "localhost"].into_iter().any(|name| {
        let whole = format!("{name}:{port}");
        host.eq_ignore_ascii_case(whole.as_bytes())
            || port == PORT_UNNAMED && host.eq_ignore_ascii_case(name.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PORT: u16 = 9_100;

    fn asked(request: &str) -> Result<Option<PageRequest>, RequestRefusal> {
        PageRequest::parse(request.as_bytes(), PORT)
    }

    #[test]
    fn a_request_names_the_server_by_an_address_of_this_machine() {
        for host in ["127.0.0.1:9100", "[::1]:9100", "localhost:9100", "LocalHost:9100"] {
            let request =
                asked(&format!("GET /metrics?a=b HTTP/1.1\r\nHost: {host}\r\nAccept: a\r\naccept: b\r\n\r\n"));
            let wanted = PageRequest { method: Method::Get, path: "/metrics".into(), accept: "a,b".into() };
            assert_eq!(request, Ok(Some(wanted)), "{host}");
        }
        let forged = [
            "evil.example",
            "evil.example:9100",
            "127.0.0.1",
            "localhost",
            "[::1]",
            "127.0.0.1:9101",
            "127.0.0.1:91000",
            "127.0.0.1:09100",
            "127.0.0.1.evil.example:9100",
            "evil.127.0.0.1:9100",
            "localhost.:9100",
            "localhost.evil:9100",
            "127.0.0.2:9100",
            "127.1:9100",
            "0.0.0.0:9100",
            "[::]:9100",
            "::1:9100",
            "[::ffff:127.0.0.1]:9100",
            "2130706433:9100",
            "user@127.0.0.1:9100",
            "127.0.0.1:9100@evil",
            "127.0.0.1:9100/",
            "127.0.0.1:9100,evil",
            "127.0.0.1:9100 evil",
            "localhost:9100#",
            "localhost:+9100",
            "localhost:",
            ":9100",
            "",
            "http://localhost:9100",
        ];
        for host in forged {
            for line in [format!("Host: {host}\r\n"), format!("Host: localhost:9100\r\nhost: {host}\r\n")] {
                assert_eq!(asked(&format!("GET / HTTP/1.1\r\n{line}\r\n")), Err(RequestRefusal::Host), "{host}");
            }
        }
        assert_eq!(asked("GET / HTTP/1.1\r\n\r\n"), Err(RequestRefusal::Host));
        assert_eq!(asked("GET / HTTP/1.0\r\n\r\n"), Err(RequestRefusal::Host));
        assert!(PageRequest::parse(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", PORT_UNNAMED).is_ok());
    }

    #[test]
    fn what_is_no_question_for_a_page_is_refused_and_what_is_not_whole_is_waited_for() {
        let own = "Host: localhost:9100\r\n";
        assert_eq!(asked(&format!("POST / HTTP/1.1\r\n{own}\r\n")), Err(RequestRefusal::Method));
        // A forged name is refused whatever else is wrong.
        assert_eq!(asked("POST / HTTP/1.1\r\nHost: evil:9100\r\n\r\n"), Err(RequestRefusal::Host));
        for target in ["http://localhost:9100/metrics", "*"] {
            assert_eq!(asked(&format!("GET {target} HTTP/1.1\r\n{own}\r\n")), Err(RequestRefusal::Absent), "{target}");
        }
        assert_eq!(asked("\x16\x03\x01\x02"), Err(RequestRefusal::Malformed));
        assert_eq!(asked(&format!("GET / HTTP/1.1\r\n{own}")), Ok(None));
        let endless = format!("GET / HTTP/1.1\r\n{own}Cookie: {}", "a".repeat(HEAD_MAX));
        assert_eq!(asked(&endless), Err(RequestRefusal::TooLong));
        let many = "A: b\r\n".repeat(HEADERS_MAX);
        assert_eq!(asked(&format!("GET / HTTP/1.1\r\n{own}{many}\r\n")), Err(RequestRefusal::TooLong));
    }

    proptest! {
        #[test]
        fn bytes_of_strangers_are_answered_only_with_an_own_name(head in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(Some(_)) = PageRequest::parse(&head, PORT) {
                let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
                prop_assert!(text.contains("localhost:9100") || text.contains("127.0.0.1:9100") || text.contains("[::1]:9100"));
            }
        }

        #[test]
        fn a_request_is_read_the_same_however_it_comes_in_parts(
            path in "/[!-~&&[^?]]{0,30}", accept in "[ -~]{0,40}", cut in 0usize..200,
        ) {
            let whole = format!("GET {path} HTTP/1.1\r\nHost: [::1]:9100\r\nAccept: {accept}\r\n\r\n");
            let request = asked(&whole).unwrap().unwrap();
            prop_assert_eq!(&request.path, &path);
            prop_assert_eq!(&request.accept, accept.trim());
            if cut < whole.len() {
                prop_assert_eq!(asked(&whole[..cut]), Ok(None));
            }
        }
    }
}
