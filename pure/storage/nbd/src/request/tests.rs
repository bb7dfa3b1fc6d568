//! Requests, byte by byte.

use super::*;
use proptest::prelude::*;

const SIZE: u64 = 1 << 30;

fn rules(form: ReplyForm) -> Rules {
    Rules { size: SIZE, form, allocation: form != ReplyForm::Simple, knows_block_sizes: true }
}

fn bytes(form: ReplyForm, flags: u16, kind: u16, cookie: u64, offset: u64, length: u64) -> Vec<u8> {
    let extended = form == ReplyForm::Extended;
    let magic = if extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC };
    let mut bytes = magic.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    if extended {
        bytes.extend(length.to_be_bytes());
    } else {
        bytes.extend((length as u32).to_be_bytes());
    }
    bytes
}

/// What one request becomes.
fn one(form: ReplyForm, flags: u16, kind: u16, offset: u64, length: u64) -> Result<NbdRequest, NbdError> {
    let mut bytes = bytes(form, flags, kind, 7, offset, length);
    if kind == code::WRITE {
        bytes.resize(bytes.len() + length as usize, 1);
    }
    let mut input = &bytes[..];
    let mut incoming = Incoming::new(rules(form));
    loop {
        match incoming.next(&mut input).unwrap().expect("the request is there in full") {
            Message::Request(request) | Message::Data { whole: Some(request), .. } => return Ok(request),
            Message::Refused { error, cookie: 7, .. } => return Err(error),
            Message::Data { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn every_command_is_understood() {
    use ReplyForm::{Simple, Structured};
    for (form, flags, kind, command) in [
        (Simple, 0, 0, Command::Read),
        (Structured, flag::DF, 0, Command::Read),
        (Simple, flag::FUA, 1, Command::Write),
        (Simple, 0, 4, Command::Trim),
        (Simple, 0, 5, Command::Cache),
        (Simple, 0, 6, Command::Zero { hole: true }),
        (Simple, flag::FAST_ZERO, 6, Command::Zero { hole: true }),
        (Simple, flag::NO_HOLE | flag::FUA, 6, Command::Zero { hole: false }),
        (Structured, 0, 7, Command::Status { one: false }),
        (Structured, flag::REQ_ONE, 7, Command::Status { one: true }),
    ] {
        let expected = NbdRequest { command, durable: flags & flag::FUA != 0, cookie: 7, offset: 4_096, length: 1_024 };
        assert_eq!(one(form, flags, kind, 4_096, 1_024), Ok(expected));
    }
    assert_eq!(one(Simple, 0, 3, 0, 0).unwrap().command, Command::Flush);
}

#[test]
fn errors_are_those_of_the_specification() {
    use NbdError::{Invalid, NoSpace, NotSupported, Overflow};
    use ReplyForm::{Extended, Simple, Structured};
    for (form, flags, kind, offset, length, error) in [
        (Simple, 0, 0, SIZE, 512, Invalid),
        (Simple, 0, 0, u64::MAX - 511, 512, Invalid),
        (Simple, 0, 1, SIZE, 512, NoSpace),
        (Simple, 0, 6, SIZE - 512, 1_024, NoSpace),
        (Simple, 0, 4, SIZE - 512, 1_024, Invalid),
        (Simple, 0, 5, SIZE, 512, Invalid),
        (Structured, 0, 7, SIZE, 512, Invalid),
        (Simple, 0, 7, 0, 512, Invalid),
        (Simple, 0, 0, 1, 512, Invalid),
        (Simple, 0, 1, 0, 511, Invalid),
        (Simple, 0, 0, 0, 0, Invalid),
        (Simple, 0, 3, 512, 0, Invalid),
        (Simple, flag::DF, 0, 0, 512, Invalid),
        (Simple, flag::NO_HOLE, 1, 0, 512, Invalid),
        (Simple, flag::PAYLOAD_LEN, 0, 0, 512, Invalid),
        (Simple, 0x8000, 0, 0, 512, Invalid),
        (Simple, 0, 9, 0, 512, Invalid),
        (Simple, flag::FAST_ZERO | flag::NO_HOLE, 6, 0, 512, NotSupported),
        (Simple, 0, 0, 0, (1 << 25) + 512, Invalid),
        (Structured, 0, 0, 0, (1 << 25) + 512, Overflow),
        (Extended, flag::PAYLOAD_LEN, 3, 0, 0, Invalid),
    ] {
        assert_eq!(one(form, flags, kind, offset, length), Err(error), "{form:?} {flags} {kind} {offset} {length}");
    }
}

#[test]
fn who_was_told_of_no_blocks_may_ask_for_any_bytes() {
    let rules = Rules { knows_block_sizes: false, ..rules(ReplyForm::Simple) };
    for (kind, offset, length) in
        [(0, 1, 1_048_591), (0, 0, (1 << 25) + 1), (1, 7, (1 << 25) + 1), (4, 5, 3), (6, 9, 1)]
    {
        let mut input = bytes(ReplyForm::Simple, 0, kind, 7, offset, length);
        input.resize(input.len() + if kind == code::WRITE { length as usize } else { 0 }, 1);
        let (mut incoming, mut input) = (Incoming::new(rules), &input[..]);
        match incoming.next(&mut input).unwrap().unwrap() {
            Message::Request(request) | Message::Data { whole: Some(request), .. } => {
                assert_eq!((request.offset, request.length), (offset, length));
            }
            other => panic!("{other:?}"),
        }
    }
    let mut input = &bytes(ReplyForm::Simple, 0, 0, 7, SIZE - 1, 2)[..];
    let beyond = Incoming::new(rules).next(&mut input).unwrap();
    assert!(matches!(beyond, Some(Message::Refused { error: NbdError::Invalid, .. })), "{beyond:?}");
}

#[test]
fn lengths_at_the_borders_of_numbers_are_let_through_where_they_fit_and_refused_elsewhere() {
    use NbdError::{Invalid, NoSpace, Overflow};
    use ReplyForm::{Extended, Simple, Structured};
    const MAX_32: u64 = u32::MAX as u64;
    // As many bytes as there can be whole blocks of.
    let size = u64::MAX - 511;
    let one = |form, knows_block_sizes, kind, offset, length| {
        let rules = Rules { size, form, allocation: form != Simple, knows_block_sizes };
        let input = bytes(form, 0, kind, 7, offset, length);
        let (mut incoming, mut input) = (Incoming::new(rules), &input[..]);
        match incoming.next(&mut input).unwrap() {
            Some(Message::Request(request)) => {
                assert_eq!((request.offset, request.length), (offset, length));
                Ok(())
            }
            Some(Message::Refused { cookie: 7, error, .. }) => Err(error),
            other => panic!("{other:?}"),
        }
    };
    let (read, trim, cache, zero, status) =
        (code::READ, code::TRIM, code::CACHE, code::WRITE_ZEROES, code::BLOCK_STATUS);
    for (form, knows_block_sizes, kind, offset, length, expected) in [
        (Simple, false, read, 0, MAX_32, Ok(())),
        // What stands before the bytes of a chunk counts in its length, which has 32 bits.
        (Structured, false, read, 0, MAX_32 - 8, Ok(())),
        (Structured, false, read, 0, MAX_32 - 7, Err(Overflow)),
        (Structured, false, read, 0, MAX_32, Err(Overflow)),
        (Structured, false, read, size - MAX_32 + 8, MAX_32 - 8, Ok(())),
        (Structured, true, read, 0, 1 << 31, Err(Overflow)),
        (Extended, true, read, 0, 1 << 31, Err(Overflow)),
        (Extended, true, read, 0, u64::MAX - 511, Err(Overflow)),
        (Extended, true, read, 512, u64::MAX - 511, Err(Invalid)),
        (Extended, true, read, u64::MAX - 511, u64::MAX - 511, Err(Invalid)),
        (Extended, true, read, 0, u64::MAX, Err(Invalid)),
        (Extended, true, read, u64::MAX, 512, Err(Invalid)),
        (Extended, true, zero, 512, u64::MAX - 511, Err(NoSpace)),
        (Extended, true, zero, u64::MAX - 511, 512, Err(NoSpace)),
    ]
    .into_iter()
    .chain([trim, cache, zero, status].into_iter().flat_map(|kind| {
        [
            (Structured, false, kind, 0, MAX_32, Ok(())),
            (Extended, true, kind, 0, 0, Err(Invalid)),
            (Extended, true, kind, 0, 1 << 31, Ok(())),
            (Extended, true, kind, 0, 1 << 32, Ok(())),
            (Extended, true, kind, size - (1 << 32), 1 << 32, Ok(())),
            (Extended, true, kind, 0, size, Ok(())),
            (Extended, true, kind, 0, u64::MAX, Err(Invalid)),
        ]
    })) {
        let found = one(form, knows_block_sizes, kind, offset, length);
        assert_eq!(found, expected, "{form:?} {knows_block_sizes} {kind} {offset} {length}");
        if let (Ok(()), code::READ) = (found, kind) {
            let mut header = Vec::new();
            crate::reply::ReplyTo { form, cookie: 7, offset }.data(&mut header, length);
            let told = if form == Simple { length } else { u64::from(WireReader(&header[16..20]).u32().unwrap()) - 8 };
            assert_eq!(told, length);
        }
    }
}

#[test]
fn no_more_bytes_are_taken_than_a_request_may_carry_whatever_it_says() {
    let form = ReplyForm::Extended;
    let most = u64::from(PAYLOAD_MAX);
    for kind in 0..9 {
        for length in [most + 1, 1 << 31, u64::from(u32::MAX) - 7, u64::from(u32::MAX), 1 << 32, u64::MAX - 7, u64::MAX]
        {
            let input = bytes(form, flag::PAYLOAD_LEN, kind, 7, u64::MAX, length);
            assert_eq!(Incoming::new(rules(form)).next(&mut &input[..]), Err(Violation::Payload(length)));
        }
        // What it may carry is passed over, where the request makes no sense: at the end of all numbers too.
        let mut input = bytes(form, flag::PAYLOAD_LEN, kind, 7, u64::MAX, 3);
        input.extend([1, 2, 3]);
        if kind == code::DISCONNECT {
            continue;
        }
        let (mut incoming, mut input) = (Incoming::new(rules(form)), &input[..]);
        let found = incoming.next(&mut input);
        assert!(matches!(found, Ok(Some(Message::Refused { .. }))) && input.is_empty(), "{kind}: {found:?}");
    }
    for length in [(1 << 25) + 1, 1 << 31, u64::from(u32::MAX) - 7, u64::from(u32::MAX)] {
        let input = bytes(ReplyForm::Structured, 0, code::WRITE, 7, 0, length);
        let found = Incoming::new(rules(ReplyForm::Structured)).next(&mut &input[..]);
        assert_eq!(found, Err(Violation::Payload(length)));
    }
}

#[test]
fn extended_headers_carry_long_lengths_and_say_what_they_carry() {
    let form = ReplyForm::Extended;
    let far = Rules { size: 1 << 50, ..rules(form) };
    let mut input = &bytes(form, 0, 4, 7, 0, 1 << 40)[..];
    let Ok(Some(Message::Request(request))) = Incoming::new(far).next(&mut input) else { panic!("it is a trim") };
    assert_eq!(request.length, 1 << 40);
    // A write without the flag has no bytes and is refused; bytes that a command does not take are passed over.
    let mut all = bytes(form, 0, 1, 1, 0, 512);
    all.extend(bytes(form, flag::PAYLOAD_LEN, 0, 2, 0, 3));
    all.extend([1, 2, 3]);
    all.extend(bytes(form, flag::PAYLOAD_LEN, 1, 3, 0, 512));
    all.extend([9; 512]);
    let (mut incoming, mut input) = (Incoming::new(rules(form)), &all[..]);
    for cookie in [1, 2] {
        match incoming.next(&mut input).unwrap().unwrap() {
            Message::Refused { cookie: found, error: NbdError::Invalid, .. } => assert_eq!(found, cookie),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(incoming.next(&mut input), Ok(Some(Message::Data { offset: 0, whole: Some(_), .. }))));
    assert!(input.is_empty());
}

#[test]
fn what_is_no_request_ends_the_connection() {
    let mut incoming = Incoming::new(rules(ReplyForm::Simple));
    assert_eq!(incoming.next(&mut &b"GET / HTTP"[..]), Err(Violation::Magic(0x4745_5420)));
    let huge = bytes(ReplyForm::Simple, 0, 1, 0, 0, u64::from(u32::MAX));
    assert_eq!(incoming.next(&mut &huge[..]), Err(Violation::Payload(u64::from(u32::MAX))));
    let last = bytes(ReplyForm::Simple, 0, 2, 0, 0, 0);
    assert_eq!(incoming.next(&mut &last[..]), Ok(Some(Message::Disconnect)));
}

/// Everything that comes out of bytes, data joined.
fn all(form: ReplyForm, pieces: &[&[u8]]) -> Vec<String> {
    let (mut incoming, mut buffer, mut found) = (Incoming::new(rules(form)), Vec::new(), Vec::new());
    let mut data: Vec<u8> = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        let mut input = &buffer[..];
        loop {
            match incoming.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Message::Data { bytes, whole, .. })) => {
                    data.extend(bytes);
                    if let Some(whole) = whole {
                        found.push(format!("{whole:?} {:?}", std::mem::take(&mut data)));
                    }
                }
                Ok(Some(other)) => found.push(format!("{other:?}")),
                Err(violation) => {
                    found.push(format!("{violation:?}"));
                    return found;
                }
            }
        }
        let left = input.len();
        buffer.drain(..buffer.len() - left);
    }
    found
}

fn any_request(form: ReplyForm) -> impl Strategy<Value = Vec<u8>> {
    let flags = prop_oneof![Just(0), 0u16..64];
    // After a good-bye nothing follows.
    let kinds = (0u16..9).prop_filter("requests", |kind| *kind != code::DISCONNECT);
    (flags, kinds, any::<u64>(), 0u64..40, 0u64..6).prop_map(move |(flags, kind, cookie, offset, length)| {
        let (offset, length) = (offset * 256, length * 256);
        let mut bytes = bytes(form, flags, kind, cookie, offset, length);
        let carries = if form == ReplyForm::Extended { flags & flag::PAYLOAD_LEN != 0 } else { kind == code::WRITE };
        if carries {
            bytes.resize(bytes.len() + length as usize, cookie as u8);
        }
        bytes
    })
}

proptest! {
    #[test]
    fn it_does_not_matter_how_bytes_are_cut(
        (form, requests) in prop::sample::select(vec![ReplyForm::Simple, ReplyForm::Structured, ReplyForm::Extended])
            .prop_flat_map(|form| (Just(form), prop::collection::vec(any_request(form), 0..8))),
        cuts in prop::collection::vec(1usize..900, 0..30),
    ) {
        let whole = requests.concat();
        let (mut pieces, mut rest) = (Vec::new(), &whole[..]);
        for cut in cuts {
            let (piece, others) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = others;
        }
        pieces.push(rest);
        let found = all(form, &pieces);
        prop_assert_eq!(&found, &all(form, &[&whole]));
        prop_assert_eq!(found.len(), requests.len());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        all(ReplyForm::Simple, &[&bytes]);
        all(ReplyForm::Extended, &[&[&EXTENDED_REQUEST_MAGIC.to_be_bytes()[..], &bytes].concat()]);
    }
}

proptest! {
    #[test]
    fn bytes_that_came_another_way_are_awaited_no_more(length in 1u64..300, here in 0u64..400, came in 0u64..1_000) {
        let length = length * 512;
        let mut stream = bytes(ReplyForm::Simple, 0, code::WRITE, 7, 4_096, length);
        stream.resize(stream.len() + (here * 512).min(length - 1) as usize, 1);
        let mut incoming = Incoming::new(rules(ReplyForm::Simple));
        let mut input = &stream[..];
        let mut taken = 0;
        while let Some(message) = incoming.next(&mut input).unwrap() {
            let Message::Data { offset, bytes, whole: None } = message else { panic!("{message:?}") };
            prop_assert_eq!(offset, 4_096 + taken);
            taken += bytes.len() as u64;
        }
        let awaited = Awaited { offset: 4_096 + taken, left: length - taken };
        prop_assert_eq!(incoming.awaited(), Some(awaited));
        // What is in `input` was taken as well, and as much as follows on it.
        let count = (input.len() as u64 + came * 512).min(awaited.left);
        let whole = incoming.came(count);
        prop_assert_eq!(whole.is_some(), count == awaited.left);
        let rest = vec![1; (awaited.left - count) as usize];
        let request = match whole {
            Some(request) => request,
            None => match incoming.next(&mut &rest[..]).unwrap() {
                Some(Message::Data { offset, whole: Some(request), .. }) => {
                    prop_assert_eq!(offset, awaited.offset + count);
                    request
                }
                other => panic!("{other:?}"),
            },
        };
        prop_assert_eq!((request.offset, request.length, incoming.awaited()), (4_096, length, None));
        prop_assert_eq!(incoming.next(&mut &[][..]), Ok(None));
    }
}

#[test]
fn nothing_is_awaited_of_a_write_that_is_refused() {
    let mut incoming = Incoming::new(rules(ReplyForm::Simple));
    let stream = bytes(ReplyForm::Simple, 0, code::WRITE, 7, SIZE, 4_096);
    assert_eq!(incoming.next(&mut &stream[..]), Ok(None));
    assert_eq!(incoming.awaited(), None);
}

#[test]
fn writes_are_looked_ahead_at_as_far_as_they_are_here_and_nothing_is_taken() {
    let mut here = Vec::new();
    let requests = [(0, 0, 0), (1, 8_192, 512), (3, 0, 0), (1, 0, 4_096), (1, SIZE, 512), (1, 4_096, 1_024)];
    for (kind, offset, length) in requests {
        here.extend(bytes(ReplyForm::Simple, 0, kind, 7, offset, length));
        here.resize(here.len() + if kind == code::WRITE { length as usize } else { 0 }, 1);
    }
    let ahead = |incoming: &Incoming, here: &[u8]| incoming.writes_ahead(here).collect::<Vec<u64>>();
    let mut incoming = Incoming::new(rules(ReplyForm::Simple));
    // The one beyond the end is refused.
    assert_eq!(ahead(&incoming, &here), [8_192, 0, 4_096]);
    assert_eq!(ahead(&incoming, &here[..here.len() - 1]), [8_192, 0]);
    let mut input = &here[..];
    let mut writes = 0;
    while let Some(message) = incoming.next(&mut input).unwrap() {
        writes += usize::from(matches!(message, Message::Data { whole: Some(_), .. }));
    }
    assert_eq!((writes, input.len()), (3, 0));
    assert_eq!(ahead(&incoming, b"no request at all, and long enough for one"), [0; 0]);
}
