//! The process that reads documents: it limits itself first, then reads one document after the other.

use super::wire::{Answer, read_caps, read_request, write_answer};
use super::{PageText, cut, office, pdf_reader};
use crate::item::{ContentKind, ItemFailure};
use loadline_pipeline::CrawlCaps;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::io::Result;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Files that the process may have open.
const FILES_MAX: u64 = 16;

/// Makes the text of a document.
type ReadDocument = dyn Fn(ContentKind, &[u8], &CrawlCaps) -> std::result::Result<PageText, ItemFailure>;

/// Reads the documents of a crawl that started this process, until there are no more. Its standard input is a socket to the crawl.
///
/// # Errors
/// The limits cannot be set, or the crawl is gone.
pub fn serve_documents() -> Result<()> {
    serve_with(&|kind, body, caps| match kind {
        ContentKind::Pdf => pdf_reader::of_pdf(body, caps),
        _ => office::of_office(body, caps),
    })
}

/// The same with any reader.
pub(super) fn serve_with(read: &ReadDocument) -> Result<()> {
    let mut stream = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let caps = read_caps(&mut stream)?;
    limit(&caps)?;
    // A document that a library panics on is a failure of that document; nobody reads the message.
    std::panic::set_hook(Box::new(|_| {}));
    while let Some((kind, body)) = read_request(&mut stream)? {
        limit_processor(&caps)?;
        let before_ns = processor_ns();
        let mut page = catch_unwind(AssertUnwindSafe(|| read(kind, &body, &caps)))
            .unwrap_or_else(|_| Err(ItemFailure::of("the library that reads it failed")));
        if let Ok(page) = &mut page {
            cut(page, &caps);
        }
        let cpu_ns = processor_ns() - before_ns;
        write_answer(&mut stream, Answer { page, cpu_ns })?;
    }
    Ok(())
}

/// No files, no core dump, no more memory than the caps say on top of what the program itself has.
fn limit(caps: &CrawlCaps) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let own = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let own_kib: u64 = own.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default();
    let to = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::As, to((own_kib << 10) + caps.extract_memory.get()))?;
    setrlimit(Resource::Nofile, to(FILES_MAX))?;
    setrlimit(Resource::Fsize, to(0))?;
    setrlimit(Resource::Core, to(0))?;
    Ok(())
}

/// The processor time of one more document, in whole seconds as the kernel counts them.
fn limit_processor(caps: &CrawlCaps) -> Result<()> {
    let most = (processor_ns() + caps.extract_cpu.as_ns()).div_ceil(1_000_000_000);
    setrlimit(Resource::Cpu, Rlimit { current: Some(most), maximum: None })?;
    Ok(())
}

/// Processor time of the process so far.
fn processor_ns() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}
