//! One queue of a device: requests come, answers go, all by the thread that made it.

use super::layout::{self, COMMIT_AND_FETCH, FETCH, REQUEST, Request};
use crate::system_calls::page_bytes;
use io_uring::{IoUring, opcode, squeue, types};
use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Stands for no tag, but for the file that wakes the queue's thread.
const WAKE: u64 = u64::MAX;

/// Who has a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// The kernel, which will send a request by it.
    Kernel,
    /// A request came with it, and is to be answered.
    Here,
    /// Nobody: the device is being stopped.
    Ended,
}

/// Whether more requests may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// They may.
    Open,
    /// The kernel sends none any more, and was answered all that it sent.
    Ended,
}

/// A queue of requests. The driver takes its commands from one thread only: it stays where it was made.
pub struct Queue {
    // Goes before the file and the mapping.
    ring: IoUring,
    requests: Requests,
    device: Arc<File>,
    number: u16,
    tags: Vec<Tag>,
    wake: Arc<File>,
    _stays: PhantomData<*const ()>,
}

impl Queue {
    /// Asks the kernel for `depth` requests at once. `device` is `/dev/ublkcN`; `wake`, an eventfd that does not block, ends a wait when
    /// something is written to it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(device: &Arc<File>, number: u16, depth: u16, wake: &Arc<File>) -> io::Result<Self> {
        let requests = Requests::map(device, number, depth)?;
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_single_issuer().setup_defer_taskrun();
        let ring = builder.build((u32::from(depth) + 1).next_power_of_two())?;
        let (device, wake) = (Arc::clone(device), Arc::clone(wake));
        let mut queue =
            Self { ring, requests, device, number, tags: vec![Tag::Kernel; depth.into()], wake, _stays: PhantomData };
        queue.watch_wake()?;
        for tag in 0..depth {
            queue.push(&queue.entry(FETCH, tag, -1))?;
        }
        queue.ring.submit()?;
        Ok(queue)
    }

    /// Sends what was answered, and waits until requests come, which are added to `requests`, or somebody wakes it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait(&mut self, requests: &mut Vec<Request>) -> io::Result<State> {
        if self.tags.iter().all(|tag| *tag == Tag::Ended) {
            return Ok(State::Ended);
        }
        match self.ring.submit_and_wait(1) {
            Ok(_) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
            Err(error) => return Err(error),
        }
        let mut woken = false;
        for answer in self.ring.completion() {
            if answer.user_data() == WAKE {
                woken = true;
                continue;
            }
            let tag = answer.user_data() as u16;
            let Some(state) = self.tags.get_mut(usize::from(tag)) else { continue };
            if answer.result() == 0 {
                *state = Tag::Here;
                requests.push(self.requests.get(tag));
            } else {
                *state = Tag::Ended;
            }
        }
        if woken {
            // Whatever it counted, this is one look at what there is to do.
            let _ = (&*self.wake).read(&mut [0; 8]);
            self.watch_wake()?;
        }
        Ok(State::Open)
    }

    /// Answers a request when the queue waits next: with the bytes done, or a negative number of the system's. `false`: no request
    /// with this tag is here.
    ///
    /// # Errors
    /// The system refuses.
    pub fn answer(&mut self, tag: u16, result: i32) -> io::Result<bool> {
        if self.tags.get(usize::from(tag)) != Some(&Tag::Here) {
            return Ok(false);
        }
        self.push(&self.entry(COMMIT_AND_FETCH, tag, result))?;
        self.tags[usize::from(tag)] = Tag::Kernel;
        Ok(true)
    }

    /// Tags of requests that are here and not answered.
    pub fn unanswered(&self) -> impl Iterator<Item = u16> {
        (0..).zip(&self.tags).filter(|(_, state)| **state == Tag::Here).map(|(tag, _)| tag)
    }

    fn entry(&self, code: u32, tag: u16, result: i32) -> squeue::Entry {
        let device = types::Fd(self.device.as_raw_fd());
        let command = layout::queue(self.number, tag, result);
        opcode::UringCmd16::new(device, code).cmd(command).build().user_data(tag.into())
    }

    fn watch_wake(&mut self) -> io::Result<()> {
        let wake = types::Fd(self.wake.as_raw_fd());
        self.push(&opcode::PollAdd::new(wake, libc::POLLIN as u32).build().user_data(WAKE))
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: no entry of a queue points to memory.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("device", &self.device).field("number", &self.number).finish_non_exhaustive()
    }
}

/// A request as the kernel writes it (`struct ublksrv_io_desc`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Written {
    words: [u32; 2],
    sector: u64,
    _address: u64,
}

const _: () = assert!(size_of::<Written>() == REQUEST);

/// What the kernel tells of the requests of a queue: memory that it writes and this reads.
struct Requests {
    at: NonNull<Written>,
    bytes: usize,
    depth: u16,
}

impl Requests {
    fn map(device: &File, queue: u16, depth: u16) -> io::Result<Self> {
        let page = page_bytes();
        let bytes = (usize::from(depth) * REQUEST).next_multiple_of(page as usize);
        let offset = libc::off64_t::try_from(layout::requests_at(queue, page));
        let offset = offset.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let address =
            unsafe { libc::mmap64(ptr::null_mut(), bytes, libc::PROT_READ, flags, device.as_raw_fd(), offset) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("a mapping at address 0"))?;
        Ok(Self { at, bytes, depth })
    }

    /// The request that came last with this tag; where none did it is any.
    fn get(&self, tag: u16) -> Request {
        assert!(tag < self.depth, "tag {tag} of a queue of {}", self.depth);
        // SAFETY: the mapping begins with a page and has room for `depth` requests, which any bytes are; the kernel may write
        // meanwhile, so that nothing is to be assumed of what was read before.
        let Written { words, sector, .. } = unsafe { self.at.add(usize::from(tag)).read_volatile() };
        Request::of(tag, words, sector)
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own, and no reference into it is given out.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{FromRawFd, OwnedFd};

    #[test]
    fn a_file_that_is_no_device_gives_no_requests_and_takes_no_answers() {
        if let Err(error) = IoUring::new(2) {
            println!("skipped: queues of requests (io_uring: {error})");
            return;
        }
        // SAFETY: eventfd takes no pointers, and what it gives belongs to nobody else.
        let wake = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_NONBLOCK)) };
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mut queue = Queue::open(&Arc::new(file), 1, 4, &Arc::new(File::from(wake))).unwrap();
        let mut requests = Vec::new();
        while queue.wait(&mut requests).unwrap() == State::Open {}
        assert!(requests.is_empty());
        assert_eq!(queue.unanswered().count(), 0);
        assert!(!queue.answer(0, 0).unwrap() && !queue.answer(4, 0).unwrap());
    }
}
