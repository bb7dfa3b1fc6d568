//! Notices of clouds, as their metadata services have them: what to ask, and notices out of what is answered.

use crate::config::Cloud;
use loadline_units::Duration;
use serde::Deserialize;

/// Why an answer is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoticeError {
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

/// The text of an answer that granted what was asked for.
///
/// # Errors
/// It did not.
pub fn granted(status: u16, body: &str) -> Result<&str, NoticeError> {
    if (200..300).contains(&status) { Ok(body) } else { Err(NoticeError::Status(status)) }
}

/// The notices in an answer; none is the usual one.
///
/// # Errors
/// It refuses, or says something unknown. An unknown word is never taken for "nothing".
pub fn notices(cloud: Cloud, status: u16, body: &str) -> Result<Vec<CloudNotice>, NoticeError> {
    // AWS has no document as long as nothing is planned.
    if cloud == Cloud::Aws && status == 404 {
        return Ok(Vec::new());
    }
    let text = granted(status, body)?;
    match cloud {
        Cloud::Azure => azure(text),
        Cloud::Aws => aws(text),
        Cloud::Gcp => gcp(text),
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

    const PREEMPT: &str = r#"{"DocumentIncarnation":2,"Events":[{"EventId":"C7061BAC-AFDC-4513-B24B-AA5F13A16123",
        "EventStatus":"Scheduled","EventType":"Preempt","ResourceType":"VirtualMachine","Resources":["w_0"],
        "NotBefore":"Mon, 11 Apr 2022 22:26:58 GMT","Description":"","EventSource":"Platform","DurationInSeconds":-1}]}"#;

    #[test]
    fn azures_events_are_read_and_a_freeze_loses_nothing() {
        let found = notices(Cloud::Azure, 200, PREEMPT).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].loses_disk && found[0].what == "Preempt");
        assert_eq!(found[0].at.as_deref(), Some("Mon, 11 Apr 2022 22:26:58 GMT"));
        let freeze = notices(Cloud::Azure, 200, &PREEMPT.replace("Preempt", "Freeze")).unwrap();
        assert!(!freeze[0].loses_disk);
        let done = notices(Cloud::Azure, 200, &PREEMPT.replace("Scheduled", "Completed")).unwrap();
        assert!(done.is_empty());
        assert_eq!(notices(Cloud::Azure, 200, r#"{"DocumentIncarnation":1,"Events":[]}"#), Ok(Vec::new()));
        assert_eq!(MetadataRequest::azure_start("C7").body, "{\"StartRequests\":[{\"EventId\":\"C7\"}]}");
    }

    #[test]
    fn aws_has_no_document_until_there_is_one() {
        assert_eq!(notices(Cloud::Aws, 404, "<html>"), Ok(Vec::new()));
        let found = notices(Cloud::Aws, 200, r#"{"action": "terminate", "time": "2017-09-18T08:22:00Z"}"#);
        assert_eq!(found.unwrap()[0].what, "terminate");
        assert_eq!(notices(Cloud::Aws, 401, ""), Err(NoticeError::Status(401)));
        let asked = MetadataRequest::poll(Cloud::Aws, Some("t"));
        assert_eq!(asked.headers, [("X-aws-ec2-metadata-token", "t".to_owned())]);
    }

    #[test]
    fn gcp_says_true_or_false_and_nothing_else_passes_for_false() {
        assert_eq!(notices(Cloud::Gcp, 200, "FALSE"), Ok(Vec::new()));
        assert_eq!(notices(Cloud::Gcp, 200, "TRUE\n").unwrap().len(), 1);
        assert!(notices(Cloud::Gcp, 200, "").is_err());
        assert_eq!(notices(Cloud::Gcp, 403, "FALSE"), Err(NoticeError::Status(403)));
    }

    proptest! {
        #[test]
        fn any_body_is_an_answer_or_an_error(body: String) {
            for cloud in [Cloud::Azure, Cloud::Aws, Cloud::Gcp] {
                let _ = notices(cloud, 200, &body);
            }
        }
    }
}
