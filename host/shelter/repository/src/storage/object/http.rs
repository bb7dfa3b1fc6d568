//! HTTP for object stores: each request runs on the thread that waits for it, over connections that are kept.
//!
//! `object_store` signs requests and repeats them; here they are sent. A thread drives one call at a time, so what happened to its
//! requests is noted for that thread and becomes the text of an error.

use http_body_util::BodyExt as _;
use object_store::client::{
    ClientConfigKey, ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ureq::http::{Method, Request, Response, request, response};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Proxy, Timeout};

/// A connection may take this long, its name and its encryption included.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// A server that neither sends nor takes anything for this long is given up.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// An answer begins within this time after the request.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Bytes of an answer at most.
const ANSWER_MAX: u64 = 1 << 30;
/// Connections that are kept.
const IDLE_MAX: usize = 16;
/// Characters of a server's own words at most.
const WORDS_MAX: usize = 200;
/// Where systems keep the certificates that they trust.
const TRUSTED: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
/// A file of certificates that are trusted instead, as OpenSSL has it.
const TRUSTED_VARIABLE: &str = "SSL_CERT_FILE";

/// How many requests there were.
#[derive(Debug, Default)]
pub(super) struct RequestCounters {
    pub(super) requests: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) throttled: AtomicU64,
}

/// What a server answered to a request that it did not carry out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StoreRefusal {
    pub(super) status: u16,
    /// Its word for the reason, such as `SlowDown`.
    pub(super) code: Option<String>,
    /// The same in a sentence.
    pub(super) message: Option<String>,
    /// The region in which the bucket is, if the request went to another one.
    pub(super) region: Option<String>,
}

/// The last request of a call that failed.
#[derive(Debug, Clone)]
pub(super) enum FailedRequest {
    /// The server answered.
    Refused(StoreRefusal),
    /// There was no whole answer.
    Unanswered {
        /// Whom it was asked.
        host: String,
        /// Why not.
        reason: String,
        /// Whether it took too long.
        is_timeout: bool,
    },
}

/// What happened to the requests of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct CallNotes {
    pub(super) requests: u64,
    pub(super) failed: Option<FailedRequest>,
}

thread_local! {
    static NOTES: RefCell<CallNotes> = RefCell::default();
}

/// The notes of this thread since the last time.
pub(super) fn take_notes() -> CallNotes {
    NOTES.take()
}

/// Makes clients that send on the thread that waits.
#[derive(Debug, Default)]
pub(super) struct ThreadConnector {
    pub(super) counters: Arc<RequestCounters>,
}

impl HttpConnector for ThreadConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let is_plain = options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let trusted = trusted();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(trusted.clone())))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let agent = |proxy: Option<Proxy>| -> Agent {
            let config = Agent::config_builder()
                .https_only(!is_plain)
                .http_status_as_error(false)
                .max_redirects(0)
                .max_redirects_will_error(false)
                .user_agent(concat!("loadline/", env!("CARGO_PKG_VERSION")))
                .timeout_connect(Some(CONNECT_TIME))
                .timeout_resolve(Some(CONNECT_TIME))
                .timeout_recv_response(Some(ANSWER_TIME))
                .timeout_per_read(Some(SILENCE_MAX))
                .timeout_per_write(Some(SILENCE_MAX))
                .max_idle_connections(IDLE_MAX)
                .max_idle_connections_per_host(IDLE_MAX)
                .tls_config(tls.clone())
                .proxy(proxy);
            config.build().into()
        };
        // What is on this machine or on its link is asked without a proxy.
        let (agent, direct) = (agent(Proxy::try_from_env()), agent(None));
        let is_trusting = !trusted.is_empty();
        Ok(HttpClient::new(ThreadClient { agent, direct, is_trusting, counters: Arc::clone(&self.counters) }))
    }
}

/// Certificates that this machine trusts.
fn trusted() -> Vec<Certificate<'static>> {
    let files = std::env::var_os(TRUSTED_VARIABLE).map(PathBuf::from).into_iter();
    let pem = files.chain(TRUSTED.iter().map(PathBuf::from)).find_map(|path| std::fs::read(Path::new(&path)).ok());
    let items = pem.unwrap_or_default();
    let certificates = parse_pem(&items).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    certificates.collect()
}

#[derive(Debug)]
struct ThreadClient {
    agent: Agent,
    direct: Agent,
    is_trusting: bool,
    counters: Arc<RequestCounters>,
}

#[async_trait::async_trait]
impl HttpService for ThreadClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let host = parts.uri.authority().map_or_else(String::new, |authority| authority.as_str().to_owned());
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        NOTES.with_borrow_mut(|notes| notes.requests += 1);
        match self.exchange(parts, &body) {
            Ok((parts, bytes)) => {
                self.judge(&parts, &bytes);
                Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(bytes)))
            }
            Err(error) => {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                let kind = kind_of(&error);
                let is_timeout = matches!(error, ureq::Error::Timeout(_));
                let reason = self.reason(&error);
                let failed = FailedRequest::Unanswered { host, reason, is_timeout };
                NOTES.with_borrow_mut(|notes| notes.failed = Some(failed));
                Err(HttpError::new(kind, error))
            }
        }
    }
}

impl ThreadClient {
    /// Sends a request and reads the whole answer.
    fn exchange(&self, parts: request::Parts, body: &[u8]) -> Result<(response::Parts, Vec<u8>), ureq::Error> {
        let agent = if is_near(parts.uri.host().unwrap_or_default()) { &self.direct } else { &self.agent };
        let has_body = !body.is_empty() || matches!(parts.method, Method::PUT | Method::POST);
        let request = Request::from_parts(parts, ());
        let answer: Response<Body> = if has_body { agent.run(request.map(|()| body))? } else { agent.run(request)? };
        let (parts, body) = answer.into_parts();
        Ok((parts, body.into_with_config().limit(ANSWER_MAX).read_to_vec()?))
    }

    /// Counts and notes an answer that is none.
    fn judge(&self, parts: &response::Parts, bytes: &[u8]) {
        let status = parts.status;
        if status.is_success() || status.as_u16() == 304 {
            return;
        }
        if status.is_server_error() || matches!(status.as_u16(), 408 | 429) {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(status.as_u16(), 429 | 503) {
            self.counters.throttled.fetch_add(1, Ordering::Relaxed);
        }
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(words);
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(16 << 10)]);
        let refusal = StoreRefusal {
            status: status.as_u16(),
            code: between(&text, "<Code>", "</Code>")
                .or_else(|| header("x-ms-error-code"))
                .or_else(|| between(&text, "\"error\":\"", "\"")),
            message: between(&text, "<Message>", "</Message>")
                .or_else(|| between(&text, "\"error_description\":\"", "\""))
                .or_else(|| between(&text, "\"message\":\"", "\"")),
            region: header("x-amz-bucket-region").filter(|_| status.is_redirection() || status.as_u16() == 400),
        };
        NOTES.with_borrow_mut(|notes| notes.failed = Some(FailedRequest::Refused(refusal)));
    }

    fn reason(&self, error: &ureq::Error) -> String {
        match error {
            ureq::Error::Rustls(_) if !self.is_trusting => {
                "this machine trusts no certificates: install ca-certificates".to_owned()
            }
            ureq::Error::RequireHttpsOnly(_) => "it is not encrypted: write https://".to_owned(),
            ureq::Error::HostNotFound => "its name is not known".to_owned(),
            ureq::Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
                "the connection ended before the whole answer".to_owned()
            }
            other => other.to_string(),
        }
    }
}

/// Whether an address is this machine's own or on its link, as metadata services are.
fn is_near(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unicast_link_local(),
        Err(_) => host == "localhost" || host == "metadata.google.internal",
    }
}

/// Which failures are worth another try: `object_store` repeats by these kinds.
fn kind_of(error: &ureq::Error) -> HttpErrorKind {
    match error {
        ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::ConnectProxyFailed(_) => HttpErrorKind::Connect,
        ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
        // A head or a chunk that ends in the middle.
        ureq::Error::Protocol(_) => HttpErrorKind::Interrupted,
        ureq::Error::BodyExceedsLimit(_) => HttpErrorKind::Decode,
        ureq::Error::Io(error) => match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => HttpErrorKind::Timeout,
            ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable => HttpErrorKind::Connect,
            ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected
            | ErrorKind::UnexpectedEof => HttpErrorKind::Interrupted,
            _ => HttpErrorKind::Unknown,
        },
        _ => HttpErrorKind::Unknown,
    }
}

/// What a server said between two marks.
fn between(text: &str, begin: &str, end: &str) -> Option<String> {
    let rest = text.split_once(begin)?.1;
    Some(words(rest.split_once(end)?.0)).filter(|found| !found.is_empty())
}

/// Words of strangers: one line, and not too long.
fn words(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS_MAX).collect();
    text.trim().to_owned()
}
