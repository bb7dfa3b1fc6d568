//! The way of an answer from the model to its client.
//!
//! 1. **Inbox.** Any thread that asks the model may get answers of any client. It puts them into the inbox of their connection and
//!    tries to become its sender. If another thread is sending, that one takes them too: answers are batched under one lock.
//! 2. **Queue.** Replies of one connection share one stream of bytes, so a long read delays the replies behind it (head-of-line
//!    blocking). The queue is first in, first out; bytes are copied into the send buffer only when the socket takes them.
//! 3. **Streamed read.** A long read is sent in pieces from where its bytes lie, without a copy. It is the head of the line until
//!    its last byte left.
//! 4. **Early send.** Sending a long read takes time that a real disk would have overlapped. So its bytes leave shortly before the
//!    model completes it ([`AnswerPart::Early`]), except those of its last page, which leave when it completes
//!    ([`AnswerPart::Rest`]). The client does not notice: a reply counts from its last byte. `early_send` bounds the time ahead to 1 ms,
//!    and thereby the head-of-line blocking that it adds.
//! 5. **Unmatched parts.** Different threads may deliver the two parts, in either order. If the rest overtakes the early part, the
//!    answer is sent whole, and the early part is dropped when it arrives. If the contents are not in memory, nothing is sent early.

use crate::answer::{Answer, AnswerPart, ReplyBody};
use crate::contents::StillContents;
use crate::early_send::EarlySend;
use crate::export::Export;
use crate::meter::Delivered;
use crate::send_buffer::{PARTS_MAX, SendBuffer};
use crate::store::PAGE;
use loadline_block::ErrorKind;
use loadline_kernel::prefetch::prefetch;
use loadline_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Bytes buffered before they are sent. A longer read goes in parts.
const BUFFER_MAX: usize = 256 << 10;
/// The most short reads whose bytes are prefetched together, and their longest length: all fit the processor's caches.
const FETCH_MAX: usize = 64;
const SHORT: u64 = 8 << 10;
/// Bytes of a read copied at once.
const PART_MAX: u64 = 256 << 10;
/// Bytes of a read sent at once from where they lie: the client works on them while the next are sent.
const SEND_MAX: u64 = 128 << 10;
/// Reads of at least this length are sent from where their bytes lie, without a copy.
const LONG_MIN: u64 = 32 << 10;

/// Answers on their way to one client. Its memory is bounded by the requests in flight on the connection, not by their bytes: these
/// are copied when the socket takes them.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    /// Answers whose turn comes later.
    queue: VecDeque<QueuedAnswer>,
    /// A read whose header is in the buffer, and whose bytes are being sent.
    streamed: Option<StreamedRead>,
    /// The last page of that read is held back until the model completes it.
    tail_held: bool,
    /// Whether all other pages leave in time is not known yet.
    early_pending: bool,
    /// Parts of early reads that wait for the other part.
    unmatched: Vec<Answer>,
    buffer: SendBuffer,
    buffered_total: u64,
    sent_total: u64,
    /// Answers that count as delivered when so many bytes were sent.
    marks: VecDeque<(u64, Delivered)>,
    full: FullSocket,
}

/// An answer, and how long the socket had been full until it could have left.
#[derive(Debug, Clone, Copy)]
struct QueuedAnswer {
    answer: Answer,
    full_before: Duration,
}

/// How long the socket took nothing because its client had not read what was in it.
#[derive(Debug, Default)]
struct FullSocket {
    /// Without the time since then.
    total: Duration,
    since: Option<Instant>,
}

impl FullSocket {
    /// How long that was until an answer, which has just arrived, could have left.
    fn before(&self, answer: &Answer) -> Duration {
        let under_way = |since: Instant| answer.timed.map_or(Duration::ZERO, |timed| timed.completed_at.since(since));
        self.total + self.since.map_or(Duration::ZERO, under_way)
    }
}

#[derive(Debug, Clone, Copy)]
struct StreamedRead {
    answer: Answer,
    full_before: Duration,
    /// From the beginning of its range.
    at: u64,
}

impl StreamedRead {
    /// Where the rest of it begins, and how long it is.
    const fn rest(&self) -> (u64, u64) {
        (self.answer.to.offset + self.at, self.answer.length - self.at)
    }

    /// As [`StreamedRead::rest`], without the last page, which is held back.
    const fn rest_without_tail(&self) -> (u64, u64) {
        let end = self.answer.to.offset + self.answer.length - 1;
        let (from, page) = (self.answer.to.offset + self.at, PAGE as u64);
        (from, (end / page * page).saturating_sub(from))
    }
}

/// Where sending stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Everything that was there.
    All,
    /// The socket takes no more now.
    Blocked,
    /// The client is gone.
    Broken,
    /// A read failed after its first bytes had left, in a form of replies that cannot report it. Only closing the connection can.
    Unfinished,
}

impl SendQueue {
    /// Adds answers, and leaves `answers` empty.
    pub(crate) fn add(&mut self, export: &Export, answers: &mut Vec<Answer>, early_send: &EarlySend) {
        for answer in answers.drain(..) {
            match answer.part {
                AnswerPart::Early if self.take_unmatched(&answer, AnswerPart::Rest) => {}
                // A read that may still fail must not begin like one that succeeded.
                AnswerPart::Early if export.contents.still().is_none() => self.unmatched.push(answer),
                AnswerPart::Whole | AnswerPart::Early => self.push(answer),
                AnswerPart::Rest => self.release(answer, early_send),
            }
        }
    }

    /// The model completed a read whose early part was to leave before.
    fn release(&mut self, answer: Answer, early_send: &EarlySend) {
        let ahead = |other: &Answer| is_part(other, AnswerPart::Early, &answer);
        if let Some(large) = self.streamed.as_mut().filter(|large| self.tail_held && ahead(&large.answer)) {
            if std::mem::replace(&mut self.early_pending, false) {
                early_send.learn(false);
            }
            // A failed read stays failed.
            large.answer.timed = answer.timed;
            large.answer.part = answer.part;
            if large.answer.error().is_none() {
                large.answer.body = answer.body;
            }
            large.full_before = self.full.before(&answer);
            self.tail_held = false;
            return;
        }
        let whole = Answer { part: AnswerPart::Whole, ..answer };
        if let Some(waiting) = self.queue.iter_mut().find(|waiting| ahead(&waiting.answer)) {
            // Its turn had not come yet.
            *waiting = QueuedAnswer { answer: whole, full_before: self.full.before(&whole) };
            return;
        }
        if !self.take_unmatched(&answer, AnswerPart::Early) {
            self.unmatched.push(answer);
        }
        self.push(whole);
    }

    fn push(&mut self, answer: Answer) {
        self.queue.push_back(QueuedAnswer { answer, full_before: self.full.before(&answer) });
    }

    /// Removes the other part of an answer from the unmatched ones; returns whether it was there.
    fn take_unmatched(&mut self, answer: &Answer, part: AnswerPart) -> bool {
        let found = self.unmatched.iter().position(|other| is_part(other, part, answer));
        found.map(|place| self.unmatched.swap_remove(place)).is_some()
    }

    /// Once all early bytes of a read have left, reports whether that was in time.
    pub(crate) fn learn_early_send(&mut self, now: Instant, early_send: &EarlySend) {
        if self.early_pending && self.is_stalled() {
            self.early_pending = false;
            let timed = self.streamed.and_then(|large| large.answer.timed);
            early_send.learn(timed.is_some_and(|timed| now <= timed.completed_at));
        }
    }

    /// Whether nothing may leave before a read ends.
    fn is_stalled(&self) -> bool {
        self.buffer.is_empty() && self.rest().is_some_and(|(_, left)| left == 0)
    }

    /// The bytes of the streamed read that may leave now.
    fn rest(&self) -> Option<(u64, u64)> {
        self.streamed.as_ref().map(|large| if self.tail_held { large.rest_without_tail() } else { large.rest() })
    }

    /// Answers whose last byte left since the last call.
    pub(crate) fn delivered(&mut self) -> impl ExactSizeIterator<Item = Delivered> {
        let sent = self.sent_total;
        let count = self.marks.iter().take_while(|(end, _)| *end <= sent).count();
        let full = self.full.total;
        self.marks.drain(..count).map(move |(_, delivered)| {
            let waited = full.saturating_sub(delivered.waited);
            Delivered { waited, ..delivered }
        })
    }

    /// Answers that will not leave, as the client is gone; and those of which some bytes had left.
    pub(crate) fn into_unsent(self) -> (impl Iterator<Item = Answer>, impl Iterator<Item = Delivered>) {
        // An early part ends with its other part.
        let large = self.streamed.filter(|large| large.answer.part != AnswerPart::Early);
        let begun = self.marks.into_iter().map(|(_, delivered)| delivered);
        let begun = begun.chain(large.map(|large| Delivered::of(&large.answer)));
        (self.queue.into_iter().map(|waiting| waiting.answer), begun)
    }

    /// Buffers bytes and sends about `bytes_max` of them. Beyond that the socket counts as blocked.
    pub(crate) fn send(
        &mut self,
        export: &Export,
        socket: &OwnedFd,
        bytes_max: usize,
        now: impl Fn() -> Instant,
    ) -> Sent {
        let end = self.sent_total.saturating_add(bytes_max as u64);
        // As far as it was full until now.
        let full = self.full.since.map_or(Duration::ZERO, |since| now().since(since));
        loop {
            if self.streamed.is_some_and(|large| large.answer.error().is_some()) {
                if self.tail_held {
                    return Sent::All;
                }
                if !self.break_off() {
                    return Sent::Unfinished;
                }
            }
            if self.is_stalled() {
                return Sent::All;
            }
            let still = self.streamed.and_then(|_| export.contents.still());
            if self.buffer.is_empty() && still.is_none() {
                self.fill_buffer(export);
                if self.buffer.is_empty() && self.streamed.is_none_or(|large| large.answer.error().is_none()) {
                    return Sent::All;
                }
                continue;
            }
            if self.sent_total >= end {
                // A socket with room may not report that before its client has read most of what is in it.
                if !takes_more(socket) {
                    self.full.since.get_or_insert_with(now);
                }
                return Sent::Blocked;
            }
            match self.send_once(socket, still.as_ref()) {
                Ok(()) => {
                    if self.full.since.take().is_some() {
                        self.full.total = self.full.total + full;
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    self.full.since.get_or_insert_with(now);
                    return Sent::Blocked;
                }
                Err(_) => return Sent::Broken,
            }
        }
    }

    /// Sends the buffer, and then bytes of the streamed read from where they lie.
    fn send_once(&mut self, socket: &OwnedFd, still: Option<&StillContents<'_>>) -> rustix::io::Result<()> {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        let end = self.streamed.filter(|_| !self.tail_held).map(|large| large.answer.to.end());
        let mut count = self.buffer.slices(&mut slices);
        let made = self.buffered_total - self.sent_total;
        // Streamed bytes come behind the whole buffer.
        let all_made = slices[..count].iter().map(|slice| slice.len() as u64).sum::<u64>() == made;
        if let (Some(still), Some((from, left)), true) = (still, self.rest(), all_made) {
            let mut after = left;
            still.bytes(from, left.min(SEND_MAX), &mut |bytes| {
                if count < PARTS_MAX {
                    prefetch(bytes);
                    slices[count] = IoSlice::new(bytes);
                    count += 1;
                    after -= bytes.len() as u64;
                }
            });
            // The end of the reply fits too.
            if let Some(end) = end.as_ref().filter(|end| !end.is_empty() && after == 0 && count < PARTS_MAX) {
                slices[count] = IoSlice::new(end);
                count += 1;
            }
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = sendmsg(socket.as_fd(), &slices[..count], &mut SendAncillaryBuffer::default(), flags)? as u64;
        self.buffer.advance(sent.min(made) as usize);
        self.sent_total += sent;
        if let Some(beyond) = sent.checked_sub(made).filter(|beyond| *beyond > 0) {
            self.buffered_total += beyond;
            self.streamed_bytes_sent(beyond, still.expect("nothing goes beyond what was made but from contents"));
        }
        Ok(())
    }

    /// Counts bytes of the streamed read that were sent from where they lie.
    fn streamed_bytes_sent(&mut self, count: u64, still: &StillContents<'_>) {
        let mut large = self.streamed.take().expect("bytes of a read were sent");
        // Some of them may be of the end of the reply.
        let of_end = count.saturating_sub(large.rest().1);
        large.at += count - of_end;
        // The rest of the page is copied now, so that no later write is visible in a part of it.
        let (from, left) = large.rest();
        let torn = (from.next_multiple_of(PAGE as u64) - from).min(left);
        still.bytes(from, torn, &mut |bytes| self.buffer.bytes(bytes));
        self.buffered_total += torn;
        large.at += torn;
        if large.rest().1 == 0 {
            self.end(&large, of_end as usize);
        } else {
            self.streamed = Some(large);
        }
    }

    /// Buffers the end of a reply, of which `sent` bytes were sent already.
    fn end(&mut self, large: &StreamedRead, sent: usize) {
        let end = large.answer.to.end();
        self.buffer.bytes(&end[sent..]);
        self.buffered_total += (end.len() - sent) as u64;
        self.mark(&large.answer, large.full_before, None);
    }

    /// Reports that the streamed read failed; the remaining announced bytes are zeroes. `false`: its form of replies cannot.
    fn break_off(&mut self) -> bool {
        let Some(large) = self.streamed.filter(|large| large.answer.to.may_fail_late()) else { return false };
        let ReplyBody::Error { error, .. } = large.answer.body else { return false };
        let (from, left) = large.rest();
        self.buffer.zeroes(left as usize);
        let count = self.buffer.own(|own| {
            let start = own.len();
            large.answer.to.failed(own, error, from);
            own.len() - start
        });
        self.buffered_total += left + count as u64;
        self.mark(&large.answer, large.full_before, Some(error.kind()));
        self.streamed = None;
        true
    }

    /// Buffers answers, up to [`BUFFER_MAX`].
    fn fill_buffer(&mut self, export: &Export) {
        let mut length = 0;
        let short = self.queue.iter().take(FETCH_MAX).filter(|waiting| waiting.answer.has_at_most(SHORT));
        if self.queue.len() > 1 {
            export.contents.fetch(short.map(|QueuedAnswer { answer, .. }| (answer.to.offset, answer.length)));
        }
        while length < BUFFER_MAX {
            if let Some((from, left)) = self.rest() {
                let now = left.min(PART_MAX);
                if now == 0 {
                    break;
                }
                let mut large = self.streamed.take().expect("there is a rest of it");
                let before = self.buffer.mark();
                if let Err(error) = export.contents.read(from, now, &mut self.buffer) {
                    self.buffer.back_to(before);
                    large.answer.body = ReplyBody::Error { error, read: true };
                    self.streamed = Some(large);
                    return;
                }
                length += now as usize;
                self.buffered_total += now;
                large.at += now;
                if large.at < large.answer.length {
                    self.streamed = Some(large);
                } else {
                    self.end(&large, 0);
                }
                continue;
            }
            let Some(waiting) = self.queue.pop_front() else { break };
            length += self.answer(export, &waiting);
            if self.streamed.is_some() && export.contents.still().is_some() {
                break;
            }
        }
    }

    /// Begins an answer; returns how many bytes were buffered.
    fn answer(&mut self, export: &Export, waiting: &QueuedAnswer) -> usize {
        let QueuedAnswer { answer, full_before } = waiting;
        let Answer { to, length, .. } = *answer;
        export.settle(answer);
        let buffer = &mut self.buffer;
        let header = |buffer: &mut SendBuffer, write: &dyn Fn(&mut Vec<u8>)| {
            buffer.own(|own| {
                let start = own.len();
                write(own);
                own.len() - start
            })
        };
        let mut failed = answer.error();
        let count = match answer.body {
            ReplyBody::Data => {
                self.tail_held = answer.part == AnswerPart::Early;
                self.early_pending = self.tail_held;
                if self.tail_held || length > PART_MAX || length >= LONG_MIN && export.contents.still().is_some() {
                    let count = header(buffer, &|own| to.data_begun(own, length));
                    self.buffered_total += count as u64;
                    self.streamed = Some(StreamedRead { answer: *answer, full_before: *full_before, at: 0 });
                    return count;
                }
                let (count, error) = data(export, buffer, answer);
                failed = error;
                count
            }
            ReplyBody::Done | ReplyBody::Written => header(buffer, &|own| to.done(own)),
            ReplyBody::Error { error, read } => header(buffer, &|own| to.error(own, error, read)),
            ReplyBody::Extents { one } => {
                let extents = export.contents.extents(to.offset, length, one);
                header(buffer, &|own| to.extents(own, &extents))
            }
        };
        self.buffered_total += count as u64;
        self.mark(answer, *full_before, failed);
        count
    }

    fn mark(&mut self, answer: &Answer, full_before: Duration, error: Option<ErrorKind>) {
        let delivered = Delivered { error, waited: full_before, ..Delivered::of(answer) };
        self.marks.push_back((self.buffered_total, delivered));
    }
}

/// Whether the socket takes more bytes.
fn takes_more(socket: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&now)), Ok(0))
}

/// Whether `other` is this part of the read that `answer` belongs to.
fn is_part(other: &Answer, part: AnswerPart, answer: &Answer) -> bool {
    let range = |answer: &Answer| (answer.to.cookie, answer.to.offset, answer.length);
    other.part == part && range(other) == range(answer)
}

/// Buffers a read in one piece, or an error if the contents cannot be read. Returns the bytes buffered, and the error.
fn data(export: &Export, buffer: &mut SendBuffer, answer: &Answer) -> (usize, Option<ErrorKind>) {
    let Answer { to, length, .. } = *answer;
    let start = buffer.mark();
    let header = buffer.own(|own| {
        let before = own.len();
        to.data(own, length);
        own.len() - before
    });
    match export.contents.read(to.offset, length, buffer) {
        Ok(()) => (header + length as usize, None),
        Err(error) => {
            buffer.back_to(start);
            let count = buffer.own(|own| {
                let before = own.len();
                to.error(own, error, true);
                own.len() - before
            });
            (count, Some(error.kind()))
        }
    }
}

#[cfg(test)]
mod tests;
