//! Answers on their way, byte by byte.

use super::*;
use crate::contents::{Settles, WriteTickets};
use crate::meter::Meter;
use crate::store::{Budget, Keeping, MemoryStore, Presence, Store, StoredDisk};
use crate::{answer, contents};
use loadline_block::Operation;
use loadline_disk::Layout;
use loadline_emulation::Slicing;
use loadline_nbd::negotiation::ExportInfo;
use loadline_nbd::reply::ReplyTo;
use loadline_nbd::{NbdError, ReplyForm};
use loadline_units::Bytes;
use proptest::prelude::*;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

const SIZE: u64 = 4 << 20;

/// An export in which every byte tells its place, on a stripe; and one of its disks.
fn export() -> (Export, Arc<StoredDisk>) {
    let budget = Arc::new(Budget::new(1 << 30));
    let store = || Store::Memory(MemoryStore::new(Arc::clone(&budget)));
    let disks: Vec<Arc<StoredDisk>> =
        (0..2).map(|_| Arc::new(StoredDisk::new(store(), Keeping { pages_max: 0, lies: false }))).collect();
    let first = Arc::clone(&disks[0]);
    let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
    let contents = contents::Contents::new(layout, disks, Arc::default(), WriteTickets::default());
    let bytes: Vec<u8> = (0..SIZE).map(|at| (at / 509 + at % 251) as u8).collect();
    contents.write(0, &bytes, contents.ticket()).unwrap();
    let info = ExportInfo { name: "data".into(), description: String::new(), size: SIZE, rotational: false };
    (Export { info, number: 0, cut: Slicing::of(layout), contents, meter: Meter::default() }, first)
}

const FORMS: [ReplyForm; 3] = [ReplyForm::Simple, ReplyForm::Structured, ReplyForm::Extended];

fn read(cookie: u64, offset: u64, length: u64, part: AnswerPart) -> Answer {
    read_in(ReplyForm::Simple, cookie, offset, length, part)
}

fn read_in(form: ReplyForm, cookie: u64, offset: u64, length: u64, part: AnswerPart) -> Answer {
    let to = ReplyTo { form, cookie, offset };
    let at = Instant::from_ns(cookie);
    let timed = Some(answer::ModelTimes { operation: Operation::Read, due_at: at, completed_at: at });
    Answer { connection: 1, to, body: ReplyBody::Data, export: 0, settles: Settles::Nothing, length, part, timed }
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
    fn take(&mut self, queue: &mut SendQueue, export: &Export, answers: &[Answer]) -> Sent {
        queue.add(export, &mut answers.to_vec(), &EarlySend::default());
        loop {
            let sent = queue.send(export, &self.ours, 100_000, || Instant::ZERO);
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
    assert_eq!(client.take(&mut SendQueue::default(), export, answers), Sent::All);
    client.got
}

#[test]
fn a_read_that_goes_ahead_keeps_its_last_bytes_back_and_what_comes_behind_it() {
    let (export, _) = export();
    let (mut queue, mut client) = (SendQueue::default(), Client::new());
    let (offset, length) = (512, 300_000);
    let first = |part| read(7, offset, length, part);
    let second = read(8, 4_096, 4_096, AnswerPart::Whole);
    let expected = whole(&export, &[first(AnswerPart::Whole), second]);
    assert_eq!(client.take(&mut queue, &export, &[first(AnswerPart::Early), second]), Sent::All);
    // The header, and all pages but the last one.
    let last = (offset + length - 1) % PAGE as u64 + 1;
    assert!(client.got == expected[..16 + (length - last) as usize]);
    assert_eq!(queue.delivered().len(), 0);
    // The read ends at its cookie, in nanoseconds: they left later, which is told once, and more time is wanted next.
    let early_send = EarlySend::default();
    let before = early_send.of(length);
    queue.learn_early_send(Instant::from_ns(8), &early_send);
    let after = early_send.of(length);
    assert!(after > before);
    queue.learn_early_send(Instant::from_ns(9), &early_send);
    assert_eq!(early_send.of(length), after);
    assert_eq!(client.take(&mut queue, &export, &[first(AnswerPart::Rest)]), Sent::All);
    assert!(client.got == expected);
    assert_eq!(queue.delivered().len(), 2);
}

#[test]
fn of_a_read_whose_contents_are_not_at_hand_nothing_goes_ahead_and_it_may_fail() {
    let (export, disk) = export();
    let (mut queue, mut client) = (SendQueue::default(), Client::new());
    disk.set_presence(Presence::Waiting);
    assert_eq!(client.take(&mut queue, &export, &[read(7, 0, 100_000, AnswerPart::Early)]), Sent::All);
    assert!(client.got.is_empty());
    assert_eq!(client.take(&mut queue, &export, &[read(7, 0, 100_000, AnswerPart::Rest)]), Sent::All);
    assert_eq!((client.got.len(), &client.got[4..8]), (16, &5_u32.to_be_bytes()[..]));
    // One that began cannot be taken back.
    disk.set_presence(Presence::Live);
    assert_eq!(client.take(&mut queue, &export, &[read(9, 0, 100_000, AnswerPart::Early)]), Sent::All);
    let body = ReplyBody::Error { error: NbdError::Io, read: true };
    let failed = Answer { body, ..read(9, 0, 100_000, AnswerPart::Rest) };
    assert_eq!(client.take(&mut queue, &export, &[failed]), Sent::Unfinished);
    assert_eq!(queue.delivered().len(), 1);
    let (waiting, begun) = queue.into_unsent();
    assert_eq!(waiting.count(), 0);
    assert_eq!(begun.map(|delivered| delivered.error).collect::<Vec<_>>(), [Some(ErrorKind::Io)]);
}

#[test]
fn a_long_read_whose_disk_goes_away_under_way_failed_and_what_waits_behind_it_is_left() {
    let (export, disk) = export();
    for part in [AnswerPart::Whole, AnswerPart::Early] {
        let (mut queue, mut client) = (SendQueue::default(), Client::new());
        let mut answers = vec![read(7, 0, SIZE, part), read(8, 0, 512, AnswerPart::Whole)];
        queue.add(&export, &mut answers, &EarlySend::default());
        assert_eq!(queue.send(&export, &client.ours, usize::MAX, || Instant::ZERO), Sent::Blocked);
        disk.set_presence(Presence::Gone);
        let taken = client.take(&mut queue, &export, &[]);
        if part == AnswerPart::Early {
            // When it ends, and not before, as with any other.
            assert_eq!(taken, Sent::All);
            assert_eq!(client.take(&mut queue, &export, &[read(7, 0, SIZE, AnswerPart::Rest)]), Sent::Unfinished);
        } else {
            assert_eq!(taken, Sent::Unfinished);
        }
        disk.set_presence(Presence::Live);
        let (waiting, begun) = queue.into_unsent();
        assert_eq!(waiting.map(|answer| answer.to.cookie).collect::<Vec<_>>(), [8]);
        assert_eq!(begun.map(|delivered| delivered.error).collect::<Vec<_>>(), [Some(ErrorKind::Io)]);
    }
}

/// A chunk that a client got: flags, kind, cookie, payload.
type Chunk<'a> = (u16, u16, u64, &'a [u8]);

/// Takes the chunks apart that a client got.
fn chunks(form: ReplyForm, mut got: &[u8]) -> Vec<Chunk<'_>> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let mut chunks = Vec::new();
    while !got.is_empty() {
        let (header, length) = if form == ReplyForm::Extended { (32, 24..32) } else { (20, 16..20) };
        let length = number(&got[length]) as usize;
        let (chunk, rest) = got.split_at(header + length);
        let field = |range: std::ops::Range<usize>| number(&chunk[range]);
        chunks.push((field(4..6) as u16, field(6..8) as u16, field(8..16), &chunk[header..]));
        got = rest;
    }
    chunks
}

#[test]
fn in_chunks_a_long_read_whose_disk_goes_away_under_way_is_told_from_where_on_and_others_follow_it() {
    const LENGTH: u64 = SIZE - 512;
    for form in [ReplyForm::Structured, ReplyForm::Extended] {
        for (part, fault) in [(AnswerPart::Whole, false), (AnswerPart::Early, false), (AnswerPart::Early, true)] {
            let (export, disk) = export();
            let (mut queue, mut client) = (SendQueue::default(), Client::new());
            let read = |cookie, offset, length, part| read_in(form, cookie, offset, length, part);
            let mut answers = vec![read(7, 512, LENGTH, part)];
            queue.add(&export, &mut answers, &EarlySend::default());
            assert_eq!(queue.send(&export, &client.ours, usize::MAX, || Instant::ZERO), Sent::Blocked);
            let mut rest = read(7, 512, LENGTH, AnswerPart::Rest);
            if fault {
                // All but its last page had left when it failed.
                assert_eq!(client.take(&mut queue, &export, &[]), Sent::All);
                rest.body = ReplyBody::Error { error: NbdError::Denied, read: true };
            } else {
                disk.set_presence(Presence::Gone);
                assert_eq!(client.take(&mut queue, &export, &[]), Sent::All);
            }
            if part == AnswerPart::Early {
                // It is told when it ends, and not before, as with any other.
                assert_eq!(queue.delivered().len(), 0);
                assert_eq!(client.take(&mut queue, &export, &[rest]), Sent::All);
            }
            let kind = if fault { ErrorKind::Denied } else { ErrorKind::Io };
            assert_eq!(queue.delivered().map(|delivered| delivered.error).collect::<Vec<_>>(), [Some(kind)]);
            disk.set_presence(Presence::Live);
            assert_eq!(client.take(&mut queue, &export, &[read(8, 0, 512, AnswerPart::Whole)]), Sent::All);
            assert_eq!(queue.delivered().map(|delivered| delivered.error).collect::<Vec<_>>(), [None]);

            let got = chunks(form, &client.got);
            let [(0, 1, 7, data), (1, 0x8002, 7, error), (1, 1, 8, next)] = got[..] else {
                panic!(
                    "{form:?} {part:?}: {:?}",
                    got.iter().map(|chunk| (chunk.0, chunk.1, chunk.2)).collect::<Vec<_>>()
                )
            };
            let code = if fault { NbdError::Denied } else { NbdError::Io }.code();
            assert_eq!(error[..6], [&code.to_be_bytes()[..], &[0; 2]].concat());
            let failed_at = u64::from_be_bytes(error[6..].try_into().unwrap());
            assert!((512..512 + LENGTH).contains(&failed_at), "{failed_at}");
            assert_eq!((&data[..8], data.len() as u64), (&512_u64.to_be_bytes()[..], 8 + LENGTH));
            // What stands before the error is as on the disk, and what stands behind it is nothing.
            let mut expected = SendBuffer::default();
            export.contents.read(512, failed_at - 512, &mut expected).unwrap();
            let (sound, padding) = data[8..].split_at((failed_at - 512) as usize);
            assert!(sound == expected.to_vec() && padding.iter().all(|byte| *byte == 0));
            assert!(fault == (padding.len() <= PAGE) && !sound.is_empty());
            let mut expected = SendBuffer::default();
            export.contents.read(0, 512, &mut expected).unwrap();
            assert!(next[8..] == expected.to_vec());
        }
    }
}

#[test]
fn in_chunks_a_long_read_has_one_with_bytes_and_one_that_ends_it() {
    for form in [ReplyForm::Structured, ReplyForm::Extended] {
        let (export, _) = export();
        for (offset, length) in [(0, LONG_MIN), (512, 300_000), (4_096, SIZE - 8_192)] {
            for part in [AnswerPart::Whole, AnswerPart::Early] {
                let (mut queue, mut client) = (SendQueue::default(), Client::new());
                assert_eq!(client.take(&mut queue, &export, &[read_in(form, 7, offset, length, part)]), Sent::All);
                if part == AnswerPart::Early {
                    // No chunk is there in full.
                    assert!((client.got.len() as u64) < length && queue.delivered().len() == 0);
                    let rest = read_in(form, 7, offset, length, AnswerPart::Rest);
                    assert_eq!(client.take(&mut queue, &export, &[rest]), Sent::All);
                }
                assert_eq!(queue.delivered().len(), 1);
                let got = chunks(form, &client.got);
                let [(0, 1, 7, data), (1, 0, 7, [])] = got[..] else { panic!("{form:?} {part:?}") };
                let mut expected = SendBuffer::default();
                export.contents.read(offset, length, &mut expected).unwrap();
                assert!(data[..8] == offset.to_be_bytes() && data[8..] == expected.to_vec());
            }
        }
    }
}

#[test]
fn what_ends_a_long_read_takes_no_system_call_of_its_own() {
    use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};
    let (export, _) = export();
    for (length, parts) in [
        (LONG_MIN, &[AnswerPart::Whole][..]),
        (SEND_MAX, &[AnswerPart::Whole]),
        (300_000, &[AnswerPart::Whole]),
        (SIZE - 512, &[AnswerPart::Whole]),
        (100_000, &[AnswerPart::Early, AnswerPart::Rest]),
        (300_000, &[AnswerPart::Early, AnswerPart::Rest]),
    ] {
        let calls = FORMS.map(|form| {
            // It keeps apart what was sent in one call.
            let (ours, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None).unwrap();
            let (mut queue, mut received, mut calls) = (SendQueue::default(), vec![0; 1 << 20], 0);
            for part in parts {
                queue.add(&export, &mut vec![read_in(form, 7, 512, length, *part)], &EarlySend::default());
                let mut sent = Sent::Blocked;
                while sent == Sent::Blocked {
                    sent = queue.send(&export, &ours, SEND_MAX as usize, || Instant::ZERO);
                    while recv(&theirs, &mut received, RecvFlags::empty()).is_ok() {
                        calls += 1;
                    }
                }
                assert_eq!(sent, Sent::All);
            }
            assert_eq!(queue.delivered().len(), 1);
            calls
        });
        assert!(calls[1..] == [calls[0]; 2], "{length} {parts:?}: {calls:?}");
    }
}

#[test]
fn what_waits_for_its_client_to_take_bytes_is_told_apart() {
    let (export, _) = export();
    let s = |second: u64| Instant::ZERO + Duration::from_s(second);
    let completed = |cookie: u64, length: u64, second: u64| {
        let timed = answer::ModelTimes { operation: Operation::Read, due_at: s(0), completed_at: s(second) };
        Answer { timed: Some(timed), ..read(cookie, 0, length, AnswerPart::Whole) }
    };
    let (mut queue, mut client) = (SendQueue::default(), Client::new());
    let mut go = |client: &mut Client, answers: &[Answer], second: u64| {
        queue.add(&export, &mut answers.to_vec(), &EarlySend::default());
        let sent = queue.send(&export, &client.ours, usize::MAX, || s(second));
        (sent, queue.delivered().map(|delivered| delivered.waited).collect::<Vec<_>>())
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
    queue.add(&export, &mut both.to_vec(), &EarlySend::default());
    assert_eq!(queue.send(&export, &client.ours, 1, || s(22)), Sent::Blocked);
    assert_eq!(queue.send(&export, &client.ours, usize::MAX, || s(30)), Sent::All);
    assert_eq!(queue.delivered().map(|delivered| delivered.waited).collect::<Vec<_>>(), [Duration::ZERO; 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// The parts of reads that go ahead come in any order, as threads hand them over, and others between them.
    #[test]
    fn however_reads_go_ahead_a_client_gets_the_bytes_of_each(
        form in prop::sample::select(FORMS.to_vec()),
        reads in prop::collection::vec((0..SIZE / 512, 1u64..600_000, any::<bool>(), any::<bool>(), any::<bool>()), 1..12),
    ) {
        let (export, _) = export();
        let (mut queue, mut client) = (SendQueue::default(), Client::new());
        let mut expected: std::collections::BTreeMap<u64, Vec<u8>> = std::collections::BTreeMap::new();
        let mut begun: VecDeque<Answer> = VecDeque::new();
        for (cookie, (block, length, ahead, ends, overtaken)) in reads.into_iter().enumerate() {
            let (cookie, offset) = (cookie as u64, block * 512);
            let answer = |part| read_in(form, cookie, offset, length.min(SIZE - offset), part);
            expected.insert(cookie, whole(&export, &[answer(AnswerPart::Whole)]));
            let ahead = ahead && length.min(SIZE - offset) >= LONG_MIN;
            let (first, second) = match (ahead, overtaken) {
                (false, _) => (AnswerPart::Whole, None),
                (true, false) => (AnswerPart::Early, Some(AnswerPart::Rest)),
                (true, true) => (AnswerPart::Rest, Some(AnswerPart::Early)),
            };
            client.take(&mut queue, &export, &[answer(first)]);
            begun.extend(second.map(answer));
            if ends && let Some(rest) = begun.pop_front() {
                client.take(&mut queue, &export, &[rest]);
            }
        }
        for rest in begun {
            client.take(&mut queue, &export, &[rest]);
        }
        prop_assert_eq!(queue.delivered().len(), expected.len());
        prop_assert!(queue.unmatched.is_empty());
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
