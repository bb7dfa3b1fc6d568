//! PDF and Office files: read by another process, within limits. When it dies, one item is lost.

use super::PageText;
use super::wire::{Answer, Deadline, read_answer, write_request};
use crate::item::{ContentKind, ItemFailure};
use loadline_pipeline::CrawlCaps;
use rustix::process::Signal;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A process reads so many documents, then a new one begins: what its libraries leave behind goes with it.
const DOCUMENTS_MAX: u32 = 1_000;
/// Bytes of a dead process's last words that are looked at.
const LAST_WORDS: u64 = 4_096;

/// The command that reads documents: it calls [`serve_documents`](crate::serve_documents).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Reads documents for one worker.
#[derive(Debug)]
pub(crate) struct DocumentReader {
    command: Option<ReaderCommand>,
    caps: CrawlCaps,
    process: Option<ReaderProcess>,
}

#[derive(Debug)]
struct ReaderProcess {
    child: Child,
    stream: UnixStream,
    documents: u32,
}

impl ReaderProcess {
    fn start(command: &ReaderCommand, caps: &CrawlCaps) -> std::io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut process = Self { child, stream: ours, documents: 0 };
        super::wire::write_caps(&mut process.stream, caps)?;
        Ok(process)
    }
    /// Ends it; how it ended, with what it wrote last.
    fn end(mut self) -> (Option<i32>, String) {
        // It may be dead already.
        let _ = self.child.kill();
        let signal = self.child.wait().ok().and_then(|status| status.signal());
        let mut words = Vec::new();
        if let Some(errors) = self.child.stderr.take() {
            // What it wrote is a hint and nothing more.
            let _ = errors.take(LAST_WORDS).read_to_end(&mut words);
        }
        (signal, String::from_utf8_lossy(&words).into_owned())
    }
}

impl DocumentReader {
    pub(crate) const fn new(command: Option<ReaderCommand>, caps: CrawlCaps) -> Self {
        Self { command, caps, process: None }
    }

    /// The text of a document, and the processor time that it took.
    pub(crate) fn read(&mut self, kind: ContentKind, body: &[u8]) -> (Result<PageText, ItemFailure>, u64) {
        let Some(command) = &self.command else {
            return (Err(ItemFailure::of("this program starts no process that reads documents")), 0);
        };
        // One that ended between two documents costs none of them.
        let is_usable = self
            .process
            .as_mut()
            .is_some_and(|of| of.documents < DOCUMENTS_MAX && matches!(of.child.try_wait(), Ok(None)));
        let process = if is_usable { self.process.take() } else { None };
        if let Some(old) = self.process.take() {
            old.end();
        }
        let started = process.map_or_else(|| ReaderProcess::start(command, &self.caps), Ok);
        let Ok(mut process) = started else {
            return (Err(ItemFailure::of("the process that reads documents does not start")), 0);
        };
        let deadline = Deadline::after(self.caps.extract_time);
        let asked = write_request(&mut process.stream, kind, body, deadline);
        let answered = asked.and_then(|()| read_answer(&mut process.stream, self.caps.text.get(), deadline));
        match answered {
            Ok(Answer { page, cpu_ns }) => {
                process.documents += 1;
                self.process = Some(process);
                (page, cpu_ns)
            }
            Err(error) => {
                let is_late = deadline.is_over() && error.kind() == std::io::ErrorKind::TimedOut;
                let (signal, words) = process.end();
                (Err(ItemFailure::of(death(is_late, signal, &words))), 0)
            }
        }
    }
}

impl Drop for DocumentReader {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end();
        }
    }
}

/// Why a process died, in words that are the same for all of a kind.
fn death(is_late: bool, signal: Option<i32>, words: &str) -> &'static str {
    let cpu = Signal::XCPU.as_raw();
    match signal {
        _ if is_late => "reading it takes longer than caps.extract_time",
        Some(signal) if signal == cpu => "reading it takes more processor time than caps.extract_cpu",
        _ if words.contains("memory allocation of") => "reading it takes more memory than caps.extract_memory",
        _ => "the process that reads documents died",
    }
}

#[cfg(test)]
mod tests {
    use super::super::served::serve_with;
    use super::*;
    use loadline_units::{Bytes, Duration};

    /// The process: it does what the documents say.
    #[test]
    #[ignore = "the tests of readers start it"]
    fn a_reader_that_does_as_it_is_asked() {
        serve_with(&|_, body, _| match body {
            b"memory" => Ok(PageText { text: vec!["x"; 1 << 30].concat(), ..PageText::default() }),
            b"processor" => loop {
                std::hint::black_box(0);
            },
            b"time" => loop {
                std::thread::park();
            },
            b"death" => std::process::abort(),
            b"panic" => panic!("as it was asked"),
            b"failure" => Err(ItemFailure::of("a reason")),
            text => {
                let text = String::from_utf8_lossy(text).into_owned();
                Ok(PageText { text, title: "title".to_owned(), notes: vec!["note".into()], ..PageText::default() })
            }
        })
        .unwrap();
    }

    fn reader() -> DocumentReader {
        let name = "extract::reader::tests::a_reader_that_does_as_it_is_asked";
        let arguments = ["--exact", name, "--ignored", "--test-threads=1"].map(OsString::from).to_vec();
        let command = ReaderCommand { program: std::env::current_exe().unwrap(), arguments };
        let caps = CrawlCaps {
            extract_memory: Bytes::mib(64),
            extract_cpu: Duration::from_s(1),
            extract_time: Duration::from_s(60),
            ..CrawlCaps::default()
        };
        DocumentReader::new(Some(command), caps)
    }

    #[test]
    fn a_reader_that_dies_costs_one_document_and_its_reason_is_named() {
        let mut reader = reader();
        for (document, reason) in [
            (&b"memory"[..], "reading it takes more memory than caps.extract_memory"),
            (b"processor", "reading it takes more processor time than caps.extract_cpu"),
            (b"death", "the process that reads documents died"),
            (b"panic", "the library that reads it failed"),
            (b"failure", "a reason"),
        ] {
            assert_eq!(reader.read(ContentKind::Pdf, document).0.unwrap_err().reason, reason);
            let page = reader.read(ContentKind::Office, b"words").0.unwrap();
            assert_eq!((page.text.as_str(), page.title.as_str(), page.notes.len()), ("words", "title", 1));
        }
        reader.caps.extract_time = Duration::from_ms(300);
        let late = reader.read(ContentKind::Pdf, b"time").0.unwrap_err();
        assert_eq!(late.reason, "reading it takes longer than caps.extract_time");
    }

    #[test]
    fn a_reader_that_is_killed_between_documents_costs_none() {
        let mut reader = reader();
        assert!(reader.read(ContentKind::Pdf, b"words").0.is_ok());
        let process = reader.process.as_mut().unwrap();
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        assert!(reader.read(ContentKind::Pdf, b"words").0.is_ok());
        let mut none = DocumentReader::new(None, CrawlCaps::default());
        assert!(none.read(ContentKind::Pdf, b"words").0.is_err());
    }
}
