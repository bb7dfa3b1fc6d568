//! A connection's way out: answers become bytes, and bytes go as far as the socket takes them.

use crate::answer::{Answer, Body, Leaves};
use crate::contents::StillContents;
use crate::export::Export;
use crate::lead::Lead;
use crate::made::{Made, PARTS_MAX};
use crate::meter::Delivered;
use crate::store::PAGE;
use loadline_block::ErrorKind;
use loadline_kernel::prefetch::prefetch;
use loadline_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
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
    waiting: VecDeque<Waiting>,
    /// A read that was begun: its header was made.
    large: Option<Large>,
    /// Its last bytes are kept back until it ends.
    held: bool,
    /// It is not known yet whether all others leave by then.
    open: bool,
    /// What came of reads that go ahead, and waits here for no turn but for the other part: what was to leave ahead and did not, or
    /// the rest where another thread was faster with it.
    alone: Vec<Answer>,
    made: Made,
    made_total: u64,
    sent_total: u64,
    /// What counts as delivered when so many bytes were sent; with how long the socket had been full until it could have left.
    marks: VecDeque<(u64, Delivered)>,
    full: Full,
}

/// An answer, and how long the socket had been full until it could have left.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    answer: Answer,
    full_before: Duration,
}

/// For how long the socket took nothing since its client had not taken what was in it.
#[derive(Debug, Default)]
struct Full {
    /// Without the time since then.
    total: Duration,
    since: Option<Instant>,
}

impl Full {
    /// How long that was until an answer could have left, which is there now.
    fn before(&self, answer: &Answer) -> Duration {
        let under_way = |since: Instant| answer.timed.map_or(Duration::ZERO, |timed| timed.completed_at.since(since));
        self.total + self.since.map_or(Duration::ZERO, under_way)
    }
}

#[derive(Debug, Clone, Copy)]
struct Large {
    answer: Answer,
    full_before: Duration,
    /// From the beginning of its range.
    at: u64,
}

impl Large {
    /// Where the rest of it begins, and how long it is.
    const fn rest(&self) -> (u64, u64) {
        (self.answer.to.offset + self.at, self.answer.length - self.at)
    }

    /// As [`Large::rest`], of what may leave while the last bytes are held back: those of its last page.
    const fn rest_held(&self) -> (u64, u64) {
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
    /// An answer that is no chunks failed after its first bytes had left: the client cannot be told but by an end of everything.
    Unfinished,
}

impl Outgoing {
    /// Adds answers, and leaves `answers` empty.
    pub(crate) fn add(&mut self, export: &Export, answers: &mut Vec<Answer>, lead: &Lead) {
        for answer in answers.drain(..) {
            match answer.leaves {
                Leaves::Ahead if self.take_alone(&answer, Leaves::Rest) => {}
                // A read that may fail yet does not begin as one that succeeded.
                Leaves::Ahead if export.contents.still().is_none() => self.alone.push(answer),
                Leaves::Whole | Leaves::Ahead => self.push(answer),
                Leaves::Rest => self.release(answer, lead),
            }
        }
    }

    /// A read ended whose bytes were to leave ahead.
    fn release(&mut self, answer: Answer, lead: &Lead) {
        let ahead = |other: &Answer| is_part(other, Leaves::Ahead, &answer);
        if let Some(large) = self.large.as_mut().filter(|large| self.held && ahead(&large.answer)) {
            if std::mem::replace(&mut self.open, false) {
                lead.learn(false);
            }
            // What failed stays so.
            large.answer.timed = answer.timed;
            large.answer.leaves = answer.leaves;
            if large.answer.error().is_none() {
                large.answer.body = answer.body;
            }
            large.full_before = self.full.before(&answer);
            self.held = false;
            return;
        }
        let whole = Answer { leaves: Leaves::Whole, ..answer };
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| ahead(&waiting.answer)) {
            // Its turn did not come.
            *waiting = Waiting { answer: whole, full_before: self.full.before(&whole) };
            return;
        }
        if !self.take_alone(&answer, Leaves::Ahead) {
            self.alone.push(answer);
        }
        self.push(whole);
    }

    fn push(&mut self, answer: Answer) {
        self.waiting.push_back(Waiting { answer, full_before: self.full.before(&answer) });
    }

    /// Takes the other part of an answer from those that stand alone; says whether it was there.
    fn take_alone(&mut self, answer: &Answer, leaves: Leaves) -> bool {
        let found = self.alone.iter().position(|other| is_part(other, leaves, answer));
        found.map(|place| self.alone.swap_remove(place)).is_some()
    }

    /// It is `now`: tells whether all bytes of a read but its last ones have left before it ends, once they have.
    pub(crate) fn tell(&mut self, now: Instant, lead: &Lead) {
        if self.open && self.is_waiting() {
            self.open = false;
            let timed = self.large.and_then(|large| large.answer.timed);
            lead.learn(timed.is_some_and(|timed| now <= timed.completed_at));
        }
    }

    /// Whether nothing may leave before a read ends.
    fn is_waiting(&self) -> bool {
        self.made.is_empty() && self.rest().is_some_and(|(_, left)| left == 0)
    }

    /// What may leave now of the read that was begun.
    fn rest(&self) -> Option<(u64, u64)> {
        self.large.as_ref().map(|large| if self.held { large.rest_held() } else { large.rest() })
    }

    /// Answers that were delivered since the last time, as far as their last byte.
    pub(crate) fn delivered(&mut self) -> impl ExactSizeIterator<Item = Delivered> {
        let sent = self.sent_total;
        let count = self.marks.iter().take_while(|(end, _)| *end <= sent).count();
        let full = self.full.total;
        self.marks.drain(..count).map(move |(_, delivered)| {
            let waited = full.saturating_sub(delivered.waited);
            Delivered { waited, ..delivered }
        })
    }

    /// What was to leave and will not, as the client is gone; and what of it had been begun.
    pub(crate) fn left(self) -> (impl Iterator<Item = Answer>, impl Iterator<Item = Delivered>) {
        // What went ahead ends by its other part.
        let large = self.large.filter(|large| large.answer.leaves != Leaves::Ahead);
        let begun = self.marks.into_iter().map(|(_, delivered)| delivered);
        let begun = begun.chain(large.map(|large| Delivered::of(&large.answer)));
        (self.waiting.into_iter().map(|waiting| waiting.answer), begun)
    }

    /// Makes bytes and sends them, about `bytes_max`: beyond that the socket counts as blocked.
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
            if self.large.is_some_and(|large| large.answer.error().is_some()) {
                if self.held {
                    return Sent::All;
                }
                if !self.break_off() {
                    return Sent::Unfinished;
                }
            }
            if self.is_waiting() {
                return Sent::All;
            }
            let still = self.large.and_then(|_| export.contents.still());
            if self.made.is_empty() && still.is_none() {
                self.make(export);
                if self.made.is_empty() && self.large.is_none_or(|large| large.answer.error().is_none()) {
                    return Sent::All;
                }
                continue;
            }
            if self.sent_total >= end {
                // It may have room, and yet not call for more before the client has taken most of what is in it.
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

    /// Sends what was made, and then, where contents stay as they are, bytes of the read that was begun.
    fn send_once(&mut self, socket: &OwnedFd, still: Option<&StillContents<'_>>) -> rustix::io::Result<()> {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        let end = self.large.filter(|_| !self.held).map(|large| large.answer.to.end());
        let mut count = self.made.slices(&mut slices);
        let made = self.made_total - self.sent_total;
        // What does not fit comes next time, and behind what was made.
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
            // It needs no turn of its own.
            if let Some(end) = end.as_ref().filter(|end| !end.is_empty() && after == 0 && count < PARTS_MAX) {
                slices[count] = IoSlice::new(end);
                count += 1;
            }
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
        // Beyond its bytes, some of its end.
        let of_end = count.saturating_sub(large.rest().1);
        large.at += count - of_end;
        // The rest of a page comes of the same time: no write is seen in part of it.
        let (from, left) = large.rest();
        let torn = (from.next_multiple_of(PAGE as u64) - from).min(left);
        still.bytes(from, torn, &mut |bytes| self.made.bytes(bytes));
        self.made_total += torn;
        large.at += torn;
        if large.rest().1 == 0 {
            self.end(&large, of_end as usize);
        } else {
            self.large = Some(large);
        }
    }

    /// All bytes of a read were sent or made: makes what ends its answer, of which so many bytes were `sent`.
    fn end(&mut self, large: &Large, sent: usize) {
        let end = large.answer.to.end();
        self.made.bytes(&end[sent..]);
        self.made_total += (end.len() - sent) as u64;
        self.mark(&large.answer, large.full_before, None);
    }

    /// Says of a read that was begun that it failed; the bytes that were promised are zeroes from there on. `false`: its answer has no
    /// place for it.
    fn break_off(&mut self) -> bool {
        let Some(large) = self.large.filter(|large| large.answer.to.may_fail_late()) else { return false };
        let Body::Error { error, .. } = large.answer.body else { return false };
        let (from, left) = large.rest();
        self.made.zeroes(left as usize);
        let count = self.made.own(|own| {
            let start = own.len();
            large.answer.to.failed(own, error, from);
            own.len() - start
        });
        self.made_total += left + count as u64;
        self.mark(&large.answer, large.full_before, Some(error.kind()));
        self.large = None;
        true
    }

    /// Makes bytes out of answers, up to [`MADE_MAX`].
    fn make(&mut self, export: &Export) {
        let mut length = 0;
        let short = self.waiting.iter().take(FETCH_MAX).filter(|waiting| waiting.answer.has_at_most(SHORT));
        if self.waiting.len() > 1 {
            export.contents.fetch(short.map(|Waiting { answer, .. }| (answer.to.offset, answer.length)));
        }
        while length < MADE_MAX {
            if let Some((from, left)) = self.rest() {
                let now = left.min(PART_MAX);
                if now == 0 {
                    break;
                }
                let mut large = self.large.take().expect("there is a rest of it");
                let before = self.made.mark();
                if let Err(error) = export.contents.read(from, now, &mut self.made) {
                    self.made.back_to(before);
                    large.answer.body = Body::Error { error, read: true };
                    self.large = Some(large);
                    return;
                }
                length += now as usize;
                self.made_total += now;
                large.at += now;
                if large.at < large.answer.length {
                    self.large = Some(large);
                } else {
                    self.end(&large, 0);
                }
                continue;
            }
            let Some(waiting) = self.waiting.pop_front() else { break };
            length += self.answer(export, &waiting);
            if self.large.is_some() && export.contents.still().is_some() {
                break;
            }
        }
    }

    /// Begins an answer; gives how many bytes that made.
    fn answer(&mut self, export: &Export, waiting: &Waiting) -> usize {
        let Waiting { answer, full_before } = waiting;
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
                self.held = answer.leaves == Leaves::Ahead;
                self.open = self.held;
                if self.held || length > PART_MAX || length >= LONG_MIN && export.contents.still().is_some() {
                    let count = header(made, &|own| to.data_begun(own, length));
                    self.made_total += count as u64;
                    self.large = Some(Large { answer: *answer, full_before: *full_before, at: 0 });
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
        self.mark(answer, *full_before, failed);
        count
    }

    fn mark(&mut self, answer: &Answer, full_before: Duration, error: Option<ErrorKind>) {
        let delivered = Delivered { error, waited: full_before, ..Delivered::of(answer) };
        self.marks.push_back((self.made_total, delivered));
    }
}

/// Whether the system says that a socket takes more bytes.
fn takes_more(socket: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&now)), Ok(0))
}

/// Whether `other` is this part of the read that `answer` is a part of.
fn is_part(other: &Answer, leaves: Leaves, answer: &Answer) -> bool {
    let range = |answer: &Answer| (answer.to.cookie, answer.to.offset, answer.length);
    other.leaves == leaves && range(other) == range(answer)
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

#[cfg(test)]
mod tests;
