//! A connection's way out: answers become bytes, and bytes go as far as the socket takes them.

use crate::answer::{Answer, Body};
use crate::contents::StillContents;
use crate::export::Export;
use crate::made::{Made, PARTS_MAX};
use crate::meter::Delivered;
use crate::protocol::NbdError;
use crate::store::PAGE;
use loadline_block::ErrorKind;
use loadline_engine::fetch;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Bytes made before they are sent. A read beyond it goes in parts.
const MADE_MAX: usize = 256 << 10;
/// Short reads whose bytes are fetched together, and how long they are at most: all fit the processor's caches.
const FETCH_MAX: usize = 64;
const SHORT: u64 = 8 << 10;
/// Bytes of a read made at once.
const PART_MAX: u64 = 256 << 10;
/// Bytes of a read sent at once from where they lie: the client goes on with them while the next are sent.
const SEND_MAX: u64 = 128 << 10;
/// From so many bytes on a read is sent from where its bytes lie, without a copy in between.
const LONG_MIN: u64 = 32 << 10;

/// Answers on their way to one client. What it holds is bounded by the requests under way on the connection, not by their
/// bytes: these are made when the socket takes them.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    waiting: VecDeque<Answer>,
    /// A read that was begun: its header was made.
    large: Option<Large>,
    made: Made,
    made_total: u64,
    sent_total: u64,
    /// What counts as delivered when so many bytes were sent.
    marks: VecDeque<(u64, Delivered)>,
}

#[derive(Debug, Clone, Copy)]
struct Large {
    answer: Answer,
    /// From the beginning of its range.
    at: u64,
}

impl Large {
    /// Where the rest of it begins, and how long it is.
    const fn rest(&self) -> (u64, u64) {
        (self.answer.to.offset + self.at, self.answer.length - self.at)
    }
}

/// Where sending stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Everything that was there.
    All,
    /// The socket takes no more now.
    Blocked,
    /// The client is gone, or an answer could not be finished.
    Broken,
}

impl Outgoing {
    /// Adds answers, and leaves `answers` empty.
    pub(crate) fn add(&mut self, answers: &mut Vec<Answer>) {
        self.waiting.extend(answers.drain(..));
    }

    /// Answers that were delivered since the last time, as far as their last byte.
    pub(crate) fn delivered(&mut self) -> impl ExactSizeIterator<Item = Delivered> {
        let sent = self.sent_total;
        let count = self.marks.iter().take_while(|(end, _)| *end <= sent).count();
        self.marks.drain(..count).map(|(_, delivered)| delivered)
    }

    /// Makes bytes and sends them, about `bytes_max`: beyond that the socket counts as blocked.
    pub(crate) fn send(&mut self, export: &Export, socket: &OwnedFd, bytes_max: usize) -> Sent {
        let end = self.sent_total.saturating_add(bytes_max as u64);
        loop {
            let still = self.large.and_then(|_| export.contents.still());
            if self.made.is_empty() && still.is_none() {
                if self.make(export).is_err() {
                    return Sent::Broken;
                }
                if self.made.is_empty() {
                    return Sent::All;
                }
                continue;
            }
            if self.sent_total >= end {
                return Sent::Blocked;
            }
            match self.send_once(socket, still.as_ref()) {
                Ok(()) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Sent::Blocked,
                Err(_) => return Sent::Broken,
            }
        }
    }

    /// Sends what was made, and then, where contents stay as they are, bytes of the read that was begun.
    fn send_once(&mut self, socket: &OwnedFd, still: Option<&StillContents<'_>>) -> rustix::io::Result<()> {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        let mut count = self.made.slices(&mut slices);
        let made = self.made_total - self.sent_total;
        // What does not fit comes next time, and behind what was made.
        let all_made = slices[..count].iter().map(|slice| slice.len() as u64).sum::<u64>() == made;
        if let (Some(still), Some(large), true) = (still, &self.large, all_made) {
            let (from, left) = large.rest();
            still.bytes(from, left.min(SEND_MAX), &mut |bytes| {
                if count < PARTS_MAX {
                    fetch(bytes);
                    slices[count] = IoSlice::new(bytes);
                    count += 1;
                }
            });
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = sendmsg(socket.as_fd(), &slices[..count], &mut SendAncillaryBuffer::default(), flags)? as u64;
        self.made.advance(sent.min(made) as usize);
        self.sent_total += sent;
        if let Some(beyond) = sent.checked_sub(made).filter(|beyond| *beyond > 0) {
            self.made_total += beyond;
            self.went_on(beyond, still.expect("nothing goes beyond what was made but from contents"));
        }
        Ok(())
    }

    /// Bytes of the read that was begun were sent from where they lie.
    fn went_on(&mut self, count: u64, still: &StillContents<'_>) {
        let mut large = self.large.take().expect("bytes of a read were sent");
        large.at += count;
        // The rest of a page comes of the same time: no write is seen in part of it.
        let (from, left) = large.rest();
        let torn = (from.next_multiple_of(PAGE as u64) - from).min(left);
        still.bytes(from, torn, &mut |bytes| self.made.bytes(bytes));
        self.made_total += torn;
        large.at += torn;
        if large.rest().1 == 0 {
            self.mark(&large.answer, None);
        } else {
            self.large = Some(large);
        }
    }

    /// Makes bytes out of answers, up to [`MADE_MAX`].
    fn make(&mut self, export: &Export) -> Result<(), NbdError> {
        let mut length = 0;
        let short = self.waiting.iter().take(FETCH_MAX).filter(|answer| answer.has_at_most(SHORT));
        if self.waiting.len() > 1 {
            export.contents.fetch(short.map(|answer| (answer.to.offset, answer.length)));
        }
        while length < MADE_MAX {
            if let Some(Large { answer, at }) = self.large.take() {
                let now = (answer.length - at).min(PART_MAX);
                export.contents.read(answer.to.offset + at, now, &mut self.made)?;
                length += now as usize;
                self.made_total += now;
                if at + now < answer.length {
                    self.large = Some(Large { answer, at: at + now });
                } else {
                    self.mark(&answer, None);
                }
                continue;
            }
            let Some(answer) = self.waiting.pop_front() else { break };
            length += self.answer(export, &answer);
            if self.large.is_some() && export.contents.still().is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Begins an answer; gives how many bytes that made.
    fn answer(&mut self, export: &Export, answer: &Answer) -> usize {
        let Answer { to, length, .. } = *answer;
        export.settle(answer);
        let made = &mut self.made;
        let header = |made: &mut Made, write: &dyn Fn(&mut Vec<u8>)| {
            made.own(|own| {
                let start = own.len();
                write(own);
                own.len() - start
            })
        };
        let mut failed = answer.error();
        let count = match answer.body {
            Body::Data => {
                if length > PART_MAX || length >= LONG_MIN && export.contents.still().is_some() {
                    let count = header(made, &|own| to.data(own, length));
                    self.made_total += count as u64;
                    self.large = Some(Large { answer: *answer, at: 0 });
                    return count;
                }
                let (count, error) = data(export, made, answer);
                failed = error;
                count
            }
            Body::Done | Body::Written => header(made, &|own| to.done(own)),
            Body::Error { error, read } => header(made, &|own| to.error(own, error, read)),
            Body::Extents { one } => {
                let extents = export.contents.extents(to.offset, length, one);
                header(made, &|own| to.extents(own, &extents))
            }
        };
        self.made_total += count as u64;
        self.mark(answer, failed);
        count
    }

    fn mark(&mut self, answer: &Answer, error: Option<ErrorKind>) {
        let delivered = Delivered { timed: answer.timed, length: answer.length, error };
        self.marks.push_back((self.made_total, delivered));
    }
}

/// A read in one piece; an error in its place where the contents cannot be read. Gives how many bytes that made, and the error.
fn data(export: &Export, made: &mut Made, answer: &Answer) -> (usize, Option<ErrorKind>) {
    let Answer { to, length, .. } = *answer;
    let start = made.mark();
    let header = made.own(|own| {
        let before = own.len();
        to.data(own, length);
        own.len() - before
    });
    match export.contents.read(to.offset, length, made) {
        Ok(()) => (header + length as usize, None),
        Err(error) => {
            made.back_to(start);
            let count = made.own(|own| {
                let before = own.len();
                to.error(own, error, true);
                own.len() - before
            });
            (count, Some(error.kind()))
        }
    }
}
