//! A connection's way out: answers become bytes, and bytes go as far as the socket takes them.

use crate::answer::{Answer, Body, Leaves};
use crate::contents::StillContents;
use crate::export::Export;
use crate::lead::Lead;
use crate::made::{Made, PARTS_MAX};
use crate::meter::Delivered;
use crate::store::PAGE;
use loadline_block::ErrorKind;
use loadline_engine::fetch;
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
    /// An answer failed after its first bytes had left: the client cannot be told but by an end of everything.
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
                return if self.held { Sent::All } else { Sent::Unfinished };
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
        let mut count = self.made.slices(&mut slices);
        let made = self.made_total - self.sent_total;
        // What does not fit comes next time, and behind what was made.
        let all_made = slices[..count].iter().map(|slice| slice.len() as u64).sum::<u64>() == made;
        if let (Some(still), Some((from, left)), true) = (still, self.rest(), all_made) {
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
            self.mark(&large.answer, large.full_before, None);
        } else {
            self.large = Some(large);
        }
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
                if let Err(error) = export.contents.read(from, now, &mut self.made) {
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
                    self.mark(&large.answer, large.full_before, None);
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
                    let count = header(made, &|own| to.data(own, length));
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
mod tests {
    use super::*;
    use crate::contents::{Order, Settles};
    use crate::driver::Cut;
    use crate::meter::Meter;
    use crate::protocol::negotiation::ExportInfo;
    use crate::protocol::reply::ReplyTo;
    use crate::protocol::{NbdError, ReplyForm};
    use crate::store::{Budget, Disk, Keeping, MemoryStore, Presence, Store};
    use crate::{answer, contents};
    use loadline_block::Operation;
    use loadline_disk::Layout;
    use loadline_units::Bytes;
    use proptest::prelude::*;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    const SIZE: u64 = 4 << 20;

    /// An export in which every byte tells its place, on a stripe; and one of its disks.
    fn export() -> (Export, Arc<Disk>) {
        let budget = Arc::new(Budget::new(1 << 30));
        let store = || Store::Memory(MemoryStore::new(Arc::clone(&budget)));
        let disks: Vec<Arc<Disk>> =
            (0..2).map(|_| Arc::new(Disk::new(store(), Keeping { pages_max: 0, lies: false }))).collect();
        let first = Arc::clone(&disks[0]);
        let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
        let contents = contents::Contents::new(layout, disks, Arc::default(), Order::default());
        let bytes: Vec<u8> = (0..SIZE).map(|at| (at / 509 + at % 251) as u8).collect();
        contents.write(0, &bytes, contents.ticket()).unwrap();
        let info = ExportInfo { name: "data".into(), description: String::new(), size: SIZE, rotational: false };
        (Export { info, number: 0, cut: Cut::of(layout), contents, meter: Meter::default() }, first)
    }

    fn read(cookie: u64, offset: u64, length: u64, leaves: Leaves) -> Answer {
        let to = ReplyTo { form: ReplyForm::Simple, cookie, offset };
        let at = Instant::from_ns(cookie);
        let timed = Some(answer::Timed { operation: Operation::Read, due_at: at, completed_at: at });
        Answer { connection: 1, to, body: Body::Data, export: 0, settles: Settles::Nothing, length, leaves, timed }
    }

    /// A client and what it got so far.
    struct Client {
        ours: OwnedFd,
        theirs: UnixStream,
        got: Vec<u8>,
    }

    impl Client {
        fn new() -> Self {
            let (ours, theirs) = UnixStream::pair().unwrap();
            theirs.set_nonblocking(true).unwrap();
            Self { ours: ours.into(), theirs, got: Vec::new() }
        }
        /// Has all sent that may leave.
        fn take(&mut self, outgoing: &mut Outgoing, export: &Export, answers: &[Answer]) -> Sent {
            outgoing.add(export, &mut answers.to_vec(), &Lead::default());
            loop {
                let sent = outgoing.send(export, &self.ours, 100_000, || Instant::ZERO);
                // It ends with "try again".
                let _ = std::io::Read::read_to_end(&mut self.theirs, &mut self.got);
                if sent != Sent::Blocked {
                    return sent;
                }
            }
        }
    }

    /// What a client gets of these answers when they leave in one piece.
    fn whole(export: &Export, answers: &[Answer]) -> Vec<u8> {
        let mut client = Client::new();
        assert_eq!(client.take(&mut Outgoing::default(), export, answers), Sent::All);
        client.got
    }

    #[test]
    fn a_read_that_goes_ahead_keeps_its_last_bytes_back_and_what_comes_behind_it() {
        let (export, _) = export();
        let (mut outgoing, mut client) = (Outgoing::default(), Client::new());
        let (offset, length) = (512, 300_000);
        let first = |leaves| read(7, offset, length, leaves);
        let second = read(8, 4_096, 4_096, Leaves::Whole);
        let expected = whole(&export, &[first(Leaves::Whole), second]);
        assert_eq!(client.take(&mut outgoing, &export, &[first(Leaves::Ahead), second]), Sent::All);
        // The header, and all pages but the last one.
        let last = (offset + length - 1) % PAGE as u64 + 1;
        assert!(client.got == expected[..16 + (length - last) as usize]);
        assert_eq!(outgoing.delivered().len(), 0);
        // The read ends at its cookie, in nanoseconds: they left later, which is told once, and more time is wanted next.
        let lead = Lead::default();
        let before = lead.of(length);
        outgoing.tell(Instant::from_ns(8), &lead);
        let after = lead.of(length);
        assert!(after > before);
        outgoing.tell(Instant::from_ns(9), &lead);
        assert_eq!(lead.of(length), after);
        assert_eq!(client.take(&mut outgoing, &export, &[first(Leaves::Rest)]), Sent::All);
        assert!(client.got == expected);
        assert_eq!(outgoing.delivered().len(), 2);
    }

    #[test]
    fn of_a_read_whose_contents_are_not_at_hand_nothing_goes_ahead_and_it_may_fail() {
        let (export, disk) = export();
        let (mut outgoing, mut client) = (Outgoing::default(), Client::new());
        disk.set_presence(Presence::Waiting);
        assert_eq!(client.take(&mut outgoing, &export, &[read(7, 0, 100_000, Leaves::Ahead)]), Sent::All);
        assert!(client.got.is_empty());
        assert_eq!(client.take(&mut outgoing, &export, &[read(7, 0, 100_000, Leaves::Rest)]), Sent::All);
        assert_eq!((client.got.len(), &client.got[4..8]), (16, &5_u32.to_be_bytes()[..]));
        // One that began cannot be taken back.
        disk.set_presence(Presence::Live);
        assert_eq!(client.take(&mut outgoing, &export, &[read(9, 0, 100_000, Leaves::Ahead)]), Sent::All);
        let body = Body::Error { error: NbdError::Io, read: true };
        let failed = Answer { body, ..read(9, 0, 100_000, Leaves::Rest) };
        assert_eq!(client.take(&mut outgoing, &export, &[failed]), Sent::Unfinished);
        assert_eq!(outgoing.delivered().len(), 1);
        let (waiting, begun) = outgoing.left();
        assert_eq!(waiting.count(), 0);
        assert_eq!(begun.map(|delivered| delivered.error).collect::<Vec<_>>(), [Some(ErrorKind::Io)]);
    }

    #[test]
    fn a_long_read_whose_disk_goes_away_under_way_failed_and_what_waits_behind_it_is_left() {
        let (export, disk) = export();
        for leaves in [Leaves::Whole, Leaves::Ahead] {
            let (mut outgoing, mut client) = (Outgoing::default(), Client::new());
            let mut answers = vec![read(7, 0, SIZE, leaves), read(8, 0, 512, Leaves::Whole)];
            outgoing.add(&export, &mut answers, &Lead::default());
            assert_eq!(outgoing.send(&export, &client.ours, usize::MAX, || Instant::ZERO), Sent::Blocked);
            disk.set_presence(Presence::Gone);
            let taken = client.take(&mut outgoing, &export, &[]);
            if leaves == Leaves::Ahead {
                // When it ends, and not before, as with any other.
                assert_eq!(taken, Sent::All);
                assert_eq!(client.take(&mut outgoing, &export, &[read(7, 0, SIZE, Leaves::Rest)]), Sent::Unfinished);
            } else {
                assert_eq!(taken, Sent::Unfinished);
            }
            disk.set_presence(Presence::Live);
            let (waiting, begun) = outgoing.left();
            assert_eq!(waiting.map(|answer| answer.to.cookie).collect::<Vec<_>>(), [8]);
            assert_eq!(begun.map(|delivered| delivered.error).collect::<Vec<_>>(), [Some(ErrorKind::Io)]);
        }
    }

    #[test]
    fn what_waits_for_its_client_to_take_bytes_is_told_apart() {
        let (export, _) = export();
        let s = |second: u64| Instant::ZERO + Duration::from_s(second);
        let completed = |cookie: u64, length: u64, second: u64| {
            let timed = answer::Timed { operation: Operation::Read, due_at: s(0), completed_at: s(second) };
            Answer { timed: Some(timed), ..read(cookie, 0, length, Leaves::Whole) }
        };
        let (mut outgoing, mut client) = (Outgoing::default(), Client::new());
        let mut go = |client: &mut Client, answers: &[Answer], second: u64| {
            outgoing.add(&export, &mut answers.to_vec(), &Lead::default());
            let sent = outgoing.send(&export, &client.ours, usize::MAX, || s(second));
            (sent, outgoing.delivered().map(|delivered| delivered.waited).collect::<Vec<_>>())
        };
        let drain = |client: &mut Client| {
            let _ = std::io::Read::read_to_end(&mut client.theirs, &mut client.got);
        };
        // It leaves at 3 s as far as it can, is held up until 10 s, and others come behind it meanwhile.
        assert_eq!(go(&mut client, &[completed(1, 300_000, 1)], 3), (Sent::Blocked, vec![]));
        assert_eq!(go(&mut client, &[completed(2, 512, 7)], 8), (Sent::Blocked, vec![]));
        drain(&mut client);
        let waited = [7, 3].map(Duration::from_s).to_vec();
        assert_eq!(go(&mut client, &[], 10), (Sent::All, waited));
        drain(&mut client);
        // Nothing of that is left for those that come later.
        assert_eq!(go(&mut client, &[completed(3, 512, 12)], 20), (Sent::All, vec![Duration::ZERO]));
        // A bound on a turn is this machine's.
        drain(&mut client);
        let both = [completed(4, LONG_MIN, 21), completed(5, LONG_MIN, 21)];
        outgoing.add(&export, &mut both.to_vec(), &Lead::default());
        assert_eq!(outgoing.send(&export, &client.ours, 1, || s(22)), Sent::Blocked);
        assert_eq!(outgoing.send(&export, &client.ours, usize::MAX, || s(30)), Sent::All);
        assert_eq!(outgoing.delivered().map(|delivered| delivered.waited).collect::<Vec<_>>(), [Duration::ZERO; 2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The parts of reads that go ahead come in any order, as threads hand them over, and others between them.
        #[test]
        fn however_reads_go_ahead_a_client_gets_the_bytes_of_each(
            reads in prop::collection::vec((0..SIZE / 512, 1u64..600_000, any::<bool>(), any::<bool>(), any::<bool>()), 1..12),
        ) {
            let (export, _) = export();
            let (mut outgoing, mut client) = (Outgoing::default(), Client::new());
            let mut expected: std::collections::BTreeMap<u64, Vec<u8>> = std::collections::BTreeMap::new();
            let mut begun: VecDeque<Answer> = VecDeque::new();
            for (cookie, (block, length, ahead, ends, overtaken)) in reads.into_iter().enumerate() {
                let (cookie, offset) = (cookie as u64, block * 512);
                let answer = |leaves| read(cookie, offset, length.min(SIZE - offset), leaves);
                expected.insert(cookie, whole(&export, &[answer(Leaves::Whole)]));
                let ahead = ahead && length.min(SIZE - offset) >= LONG_MIN;
                let (first, second) = match (ahead, overtaken) {
                    (false, _) => (Leaves::Whole, None),
                    (true, false) => (Leaves::Ahead, Some(Leaves::Rest)),
                    (true, true) => (Leaves::Rest, Some(Leaves::Ahead)),
                };
                client.take(&mut outgoing, &export, &[answer(first)]);
                begun.extend(second.map(answer));
                if ends && let Some(rest) = begun.pop_front() {
                    client.take(&mut outgoing, &export, &[rest]);
                }
            }
            for rest in begun {
                client.take(&mut outgoing, &export, &[rest]);
            }
            prop_assert_eq!(outgoing.delivered().len(), expected.len());
            prop_assert!(outgoing.alone.is_empty());
            let mut got = client.got.as_slice();
            while !got.is_empty() {
                let cookie = u64::from_be_bytes(got[8..16].try_into().unwrap());
                let own = expected.remove(&cookie).unwrap();
                prop_assert!(got.starts_with(&own));
                got = &got[own.len()..];
            }
            prop_assert!(expected.is_empty());
        }
    }
}
