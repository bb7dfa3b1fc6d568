//! Notices of clouds, out of the bytes of their metadata services: HTTP responses in, notices out.

use crate::config::Cloud;
use loadline_units::Duration;
use serde::Deserialize;
use std::fmt::Write as _;

/// Bytes of an answer, at most.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// An answer of a metadata service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataAnswer {
    /// Status of HTTP.
    pub status: u16,
    /// What follows the headers.
    pub body: Vec<u8>,
}

/// Why an answer is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoticeError {
    /// It is no HTTP.
    #[error("the metadata service does not speak HTTP")]
    NotHttp,
    /// It is not whole.
    #[error("the answer of the metadata service is not whole")]
    Torn,
    /// It refuses.
    #[error("the metadata service answers with status {0}")]
    Status(u16),
    /// It says something unknown.
    #[error("the notice is not understood: {0}")]
    Unknown(String),
}

/// What a cloud says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudNotice {
    /// Its id; to let an event begin early, Azure wants it back.
    pub id: String,
    /// What will happen, in the cloud's word.
    pub what: String,
    /// The contents of the ephemeral disk will be gone.
    pub loses_disk: bool,
    /// When, in the cloud's words, if it says.
    pub at: Option<String>,
}

/// A request for notices: what is sent, word by word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataRequest {
    /// `GET`, `PUT` or `POST`.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// Names and values.
    pub headers: Vec<(&'static str, String)>,
    /// What follows them.
    pub body: String,
}

const AZURE_PATH: &str = "/metadata/scheduledevents?api-version=2020-07-01";

impl MetadataRequest {
    /// As bytes of HTTP/1.1 for this host.
    #[must_use]
    pub fn to_bytes(&self, host: &str) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            write!(text, "{name}: {value}\r\n").expect("text takes everything");
        }
        if self.method != "GET" {
            write!(text, "Content-Length: {}\r\n", self.body.len()).expect("text takes everything");
        }
        text.push_str("\r\n");
        text.push_str(&self.body);
        text.into_bytes()
    }

    /// What AWS wants first: a token, whose text goes with every other request.
    #[must_use]
    pub fn aws_token() -> Self {
        let headers = vec![("X-aws-ec2-metadata-token-ttl-seconds", "21600".to_owned())];
        Self { method: "PUT", path: "/latest/api/token".into(), headers, body: String::new() }
    }

    /// Asks for notices.
    #[must_use]
    pub fn poll(cloud: Cloud, token: Option<&str>) -> Self {
        let (path, headers) = match cloud {
            Cloud::Azure => (AZURE_PATH, vec![("Metadata", "true".to_owned())]),
            Cloud::Aws => {
                let token = token.map(|token| ("X-aws-ec2-metadata-token", token.to_owned()));
                ("/latest/meta-data/spot/instance-action", token.into_iter().collect())
            }
            Cloud::Gcp => ("/computeMetadata/v1/instance/preempted", vec![("Metadata-Flavor", "Google".to_owned())]),
        };
        Self { method: "GET", path: path.into(), headers, body: String::new() }
    }

    /// Tells Azure that an event may begin early: everything is saved.
    #[must_use]
    pub fn azure_start(id: &str) -> Self {
        let body = serde_json::json!({"StartRequests": [{"EventId": id}]}).to_string();
        let headers = vec![("Metadata", "true".to_owned()), ("Content-Type", "application/json".to_owned())];
        Self { method: "POST", path: AZURE_PATH.into(), headers, body }
    }
}

impl Cloud {
    /// How often to ask.
    #[must_use]
    pub const fn poll_period(self) -> Duration {
        match self {
            Self::Azure | Self::Gcp => Duration::from_s(1),
            Self::Aws => Duration::from_s(5),
        }
    }
}

impl MetadataAnswer {
    /// Reads the bytes of a connection that was closed behind them.
    ///
    /// # Errors
    /// They are no whole answer.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoticeError> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or(NoticeError::NotHttp)?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| NoticeError::NotHttp)?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let is_http = first.next().is_some_and(|version| version.starts_with("HTTP/1."));
        let status = first.next().and_then(|code| code.parse().ok()).filter(|_| is_http).ok_or(NoticeError::NotHttp)?;
        let headers: Vec<(String, &str)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim()))
            .collect();
        let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
        let body = &bytes[end + 4..];
        let body = if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            unchunked(body).ok_or(NoticeError::Torn)?
        } else if let Some(length) = header("content-length") {
            let length: usize = length.parse().map_err(|_| NoticeError::NotHttp)?;
            body.get(..length).ok_or(NoticeError::Torn)?.to_vec()
        } else {
            body.to_vec()
        };
        Ok(Self { status, body })
    }

    /// The text of an answer that granted what was asked for.
    ///
    /// # Errors
    /// It did not.
    pub fn text(&self) -> Result<&str, NoticeError> {
        if !(200..300).contains(&self.status) {
            return Err(NoticeError::Status(self.status));
        }
        std::str::from_utf8(&self.body).map_err(|_| NoticeError::Unknown("it is no text".into()))
    }

    /// The notices in it; none is the usual answer.
    ///
    /// # Errors
    /// It refuses, or says something unknown. An unknown word is never taken for "nothing".
    pub fn notices(&self, cloud: Cloud) -> Result<Vec<CloudNotice>, NoticeError> {
        // AWS has no document as long as nothing is planned.
        if cloud == Cloud::Aws && self.status == 404 {
            return Ok(Vec::new());
        }
        let text = self.text()?;
        match cloud {
            Cloud::Azure => azure(text),
            Cloud::Aws => aws(text),
            Cloud::Gcp => gcp(text),
        }
    }
}

fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        bytes = &bytes[end + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size.checked_add(2)?..)?;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AzureDocument {
    #[serde(default)]
    events: Vec<AzureEvent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AzureEvent {
    event_id: String,
    event_type: String,
    #[serde(default)]
    event_status: String,
    #[serde(default)]
    not_before: String,
}

fn azure(text: &str) -> Result<Vec<CloudNotice>, NoticeError> {
    let document: AzureDocument =
        serde_json::from_str(text).map_err(|error| NoticeError::Unknown(error.to_string()))?;
    let notices = document.events.into_iter().filter(|event| event.event_status != "Completed").map(|event| {
        // "Freeze" pauses the machine. Whether a reboot keeps the disk differs by machine: it is saved as if it did not.
        let loses_disk = event.event_type != "Freeze";
        let at = Some(event.not_before).filter(|text| !text.is_empty());
        CloudNotice { id: event.event_id, what: event.event_type, loses_disk, at }
    });
    Ok(notices.collect())
}

#[derive(Deserialize)]
struct AwsDocument {
    action: String,
    time: String,
}

fn aws(text: &str) -> Result<Vec<CloudNotice>, NoticeError> {
    let document: AwsDocument = serde_json::from_str(text).map_err(|error| NoticeError::Unknown(error.to_string()))?;
    Ok(vec![CloudNotice {
        id: document.time.clone(),
        loses_disk: true,
        what: document.action,
        at: Some(document.time),
    }])
}

fn gcp(text: &str) -> Result<Vec<CloudNotice>, NoticeError> {
    match text.trim() {
        "TRUE" => {
            Ok(vec![CloudNotice { id: "preempted".into(), what: "preempted".into(), loses_disk: true, at: None }])
        }
        "FALSE" => Ok(Vec::new()),
        other => Err(NoticeError::Unknown(other.chars().take(60).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(status: u16, body: &str) -> MetadataAnswer {
        let bytes =
            format!("HTTP/1.1 {status} OK\r\nServer: IMDS/150.870.65\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        MetadataAnswer::parse(bytes.as_bytes()).unwrap()
    }

    const PREEMPT: &str = r#"{"DocumentIncarnation":2,"Events":[{"EventId":"C7061BAC-AFDC-4513-B24B-AA5F13A16123",
        "EventStatus":"Scheduled","EventType":"Preempt","ResourceType":"VirtualMachine","Resources":["w_0"],
        "NotBefore":"Mon, 11 Apr 2022 22:26:58 GMT","Description":"","EventSource":"Platform","DurationInSeconds":-1}]}"#;

    #[test]
    fn azures_events_are_read_and_a_freeze_loses_nothing() {
        let notices = answer(200, PREEMPT).notices(Cloud::Azure).unwrap();
        assert_eq!(notices.len(), 1);
        assert!(notices[0].loses_disk && notices[0].what == "Preempt");
        assert_eq!(notices[0].at.as_deref(), Some("Mon, 11 Apr 2022 22:26:58 GMT"));
        let freeze = answer(200, &PREEMPT.replace("Preempt", "Freeze")).notices(Cloud::Azure).unwrap();
        assert!(!freeze[0].loses_disk);
        let done = answer(200, &PREEMPT.replace("Scheduled", "Completed")).notices(Cloud::Azure).unwrap();
        assert!(done.is_empty());
        let none = answer(200, r#"{"DocumentIncarnation":1,"Events":[]}"#);
        assert_eq!(none.notices(Cloud::Azure), Ok(Vec::new()));
        let sent = MetadataRequest::azure_start("C7").to_bytes("h");
        assert!(String::from_utf8(sent).unwrap().ends_with("\r\n\r\n{\"StartRequests\":[{\"EventId\":\"C7\"}]}"));
    }

    #[test]
    fn aws_has_no_document_until_there_is_one() {
        assert_eq!(answer(404, "<html>").notices(Cloud::Aws), Ok(Vec::new()));
        let notices = answer(200, r#"{"action": "terminate", "time": "2017-09-18T08:22:00Z"}"#).notices(Cloud::Aws);
        assert_eq!(notices.unwrap()[0].what, "terminate");
        assert_eq!(answer(401, "").notices(Cloud::Aws), Err(NoticeError::Status(401)));
        let sent = String::from_utf8(MetadataRequest::poll(Cloud::Aws, Some("t")).to_bytes("h")).unwrap();
        assert!(sent.contains("X-aws-ec2-metadata-token: t\r\n"), "{sent}");
    }

    #[test]
    fn gcp_says_true_or_false_and_nothing_else_passes_for_false() {
        assert_eq!(answer(200, "FALSE").notices(Cloud::Gcp), Ok(Vec::new()));
        assert_eq!(answer(200, "TRUE\n").notices(Cloud::Gcp).unwrap().len(), 1);
        assert!(answer(200, "").notices(Cloud::Gcp).is_err());
        assert_eq!(answer(403, "FALSE").notices(Cloud::Gcp), Err(NoticeError::Status(403)));
    }

    #[test]
    fn a_chunked_answer_is_joined_and_a_cut_one_is_no_answer() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nFAL\r\n2\r\nSE\r\n0\r\n\r\n";
        assert_eq!(MetadataAnswer::parse(whole).unwrap().notices(Cloud::Gcp), Ok(Vec::new()));
        for end in 0..whole.len() - 3 {
            assert!(MetadataAnswer::parse(&whole[..end]).is_err(), "{end}");
        }
        let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nFALSE";
        assert_eq!(MetadataAnswer::parse(cut), Err(NoticeError::Torn));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(bytes: Vec<u8>, body: String) {
            for cloud in [Cloud::Azure, Cloud::Aws, Cloud::Gcp] {
                let _ = MetadataAnswer::parse(&bytes).and_then(|answer| answer.notices(cloud));
                let _ = answer(200, &body).notices(cloud);
            }
        }
    }
}
