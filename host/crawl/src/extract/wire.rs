//! What a crawl and the process that reads documents say to each other, over a pair of sockets.

use super::PageText;
use crate::item::{ContentKind, ItemFailure};
use loadline_pipeline::CrawlCaps;
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes of an answer without its text, at most: a title and notes.
const HEAD_MAX: u32 = 64 << 10;
/// Bytes of a request's body, at most.
const BODY_MAX: u64 = 1 << 30;

/// When a document has to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn after(time: loadline_units::Duration) -> Self {
        Self(Instant::now() + Duration::from_nanos(time.as_ns()))
    }
    pub(super) fn is_over(self) -> bool {
        Instant::now() >= self.0
    }
    /// The time that is left; an error if there is none.
    fn left(self) -> Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// What came of a document.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) page: std::result::Result<PageText, ItemFailure>,
    /// Processor time of the process.
    pub(super) cpu_ns: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct AnswerHead {
    failure: Option<String>,
    title: String,
    notes: Vec<String>,
    cpu_ns: u64,
    text_bytes: u64,
}

fn write_json(stream: &mut UnixStream, value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_vec(value)?;
    let length = u32::try_from(json.len()).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    stream.write_all(&length.to_le_bytes())?;
    stream.write_all(&json)
}

/// What may be spent on a document: the first that is said.
pub(super) fn write_caps(stream: &mut UnixStream, caps: &CrawlCaps) -> Result<()> {
    write_json(stream, caps)
}

/// Fills a buffer before the deadline, if there is one.
fn fill(stream: &mut UnixStream, mut buffer: &mut [u8], deadline: Option<Deadline>) -> Result<()> {
    while !buffer.is_empty() {
        if let Some(deadline) = deadline {
            stream.set_read_timeout(Some(deadline.left()?))?;
        }
        match stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => buffer = &mut buffer[count..],
            // A timeout of a socket is `WouldBlock`: `left` decides.
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn read_json<T: for<'de> Deserialize<'de>>(stream: &mut UnixStream, deadline: Option<Deadline>) -> Result<T> {
    let mut length = [0; 4];
    fill(stream, &mut length, deadline)?;
    let length = u32::from_le_bytes(length);
    if length > HEAD_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut json = vec![0; length as usize];
    fill(stream, &mut json, deadline)?;
    Ok(serde_json::from_slice(&json)?)
}

pub(super) fn read_caps(stream: &mut UnixStream) -> Result<CrawlCaps> {
    read_json(stream, None)
}

pub(super) fn write_request(stream: &mut UnixStream, kind: ContentKind, body: &[u8], deadline: Deadline) -> Result<()> {
    let mut head = vec![u8::from(kind == ContentKind::Pdf)];
    head.extend_from_slice(&(body.len() as u64).to_le_bytes());
    let mut rest: &[u8] = &head;
    let mut body = Some(body);
    loop {
        while !rest.is_empty() {
            stream.set_write_timeout(Some(deadline.left()?))?;
            match stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
        match body.take() {
            Some(body) => rest = body,
            None => return Ok(()),
        }
    }
}

/// The next document; `None`: there are no more.
pub(super) fn read_request(stream: &mut UnixStream) -> Result<Option<(ContentKind, Vec<u8>)>> {
    let mut kind = [0];
    match fill(stream, &mut kind, None) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut length = [0; 8];
    fill(stream, &mut length, None)?;
    let length = u64::from_le_bytes(length);
    if length > BODY_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length as usize];
    fill(stream, &mut body, None)?;
    Ok(Some((if kind == [1] { ContentKind::Pdf } else { ContentKind::Office }, body)))
}

pub(super) fn write_answer(stream: &mut UnixStream, answer: Answer) -> Result<()> {
    let Answer { page, cpu_ns } = answer;
    let (page, failure) = match page {
        Ok(page) => (page, None),
        Err(failure) => (PageText::default(), Some(failure.reason.into_owned())),
    };
    let head = AnswerHead {
        failure,
        title: page.title,
        notes: page.notes.into_iter().map(std::borrow::Cow::into_owned).collect(),
        cpu_ns,
        text_bytes: page.text.len() as u64,
    };
    write_json(stream, &head)?;
    stream.write_all(page.text.as_bytes())
}

/// The answer to a request. The process may be anything by now: nothing that it says is believed beyond its bounds.
pub(super) fn read_answer(stream: &mut UnixStream, text_max: u64, deadline: Deadline) -> Result<Answer> {
    let head: AnswerHead = read_json(stream, Some(deadline))?;
    if head.text_bytes > text_max {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; head.text_bytes as usize];
    fill(stream, &mut text, Some(deadline))?;
    let text = String::from_utf8(text).map_err(|_| Error::from(ErrorKind::InvalidData))?;
    let page = match head.failure {
        Some(reason) => Err(ItemFailure::of(reason)),
        None => Ok(PageText {
            title: head.title,
            text,
            notes: head.notes.into_iter().map(Into::into).collect(),
            ..PageText::default()
        }),
    };
    Ok(Answer { page, cpu_ns: head.cpu_ns })
}
