//! The negotiation, byte by byte.

use super::super::OPTION_REPLY_MAGIC;
use super::*;
use proptest::prelude::*;

fn exports() -> Vec<ExportInfo> {
    let export = |name: &str, rotational| ExportInfo {
        name: name.into(),
        description: format!("what {name} is"),
        size: 1 << 30,
        rotational,
    };
    vec![export("data", false), export("data/0", true)]
}

fn flags(flags: u32) -> Vec<u8> {
    flags.to_be_bytes().to_vec()
}

fn option(code: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = OPTION_MAGIC.to_be_bytes().to_vec();
    bytes.extend(code.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn named(name: &str, rest: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes()[..], name.as_bytes(), rest].concat()
}

fn meta(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = named(name, &(queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend(named(query, &[]));
    }
    data
}

/// What the server sends and how it ends, given pieces of bytes.
fn talk(pieces: &[&[u8]]) -> (Vec<u8>, NegotiationStep) {
    let (mut negotiation, mut out, mut buffer) = (Negotiation::default(), Vec::new(), Vec::new());
    let exports = exports();
    let mut last = NegotiationStep::More;
    for piece in pieces {
        buffer.extend_from_slice(piece);
        let mut input = &buffer[..];
        loop {
            last = negotiation.feed(&mut input, &exports, &mut out);
            if last != NegotiationStep::Next {
                break;
            }
        }
        let left = input.len();
        buffer.drain(..buffer.len() - left);
        if last != NegotiationStep::More {
            break;
        }
    }
    (out, last)
}

/// Replies as option, kind and data.
fn replies(mut out: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !out.is_empty() {
        let mut take = WireReader(out);
        assert_eq!(take.u64(), Some(OPTION_REPLY_MAGIC));
        let (code, kind) = (take.u32().unwrap(), take.u32().unwrap());
        found.push((code, kind, take.counted().unwrap().to_vec()));
        out = take.0;
    }
    found
}

#[test]
fn go_tells_about_the_export_and_takes_it() {
    let go = named("data/0", &[0, 2, 0, 1, 0, 2]);
    let (out, step) = talk(&[&flags(3), &option(8, &[]), &option(7, &go)]);
    assert_eq!(
        step,
        NegotiationStep::Transmit(Agreement {
            export: 1,
            form: ReplyForm::Structured,
            allocation: false,
            knows_block_sizes: true
        })
    );
    let replies = replies(&out);
    let kinds: Vec<(u32, u32)> = replies.iter().map(|(code, kind, _)| (*code, *kind)).collect();
    assert_eq!(kinds, [(8, 1), (7, 3), (7, 3), (7, 3), (7, 3), (7, 1)]);
    let data: Vec<&[u8]> = replies[1..5].iter().map(|(_, _, data)| &data[..]).collect();
    let size = (1u64 << 30).to_be_bytes();
    let flags = exports()[1].flags(ReplyForm::Structured).to_be_bytes();
    assert_eq!(data[0], [&[0, 0], &size[..], &flags].concat());
    assert!(exports()[1].flags(ReplyForm::Structured) & transmission_flag::ROTATIONAL != 0);
    assert_eq!(
        data[1],
        [&[0, 3][..], &512u32.to_be_bytes(), &4096u32.to_be_bytes(), &(1u32 << 25).to_be_bytes()].concat()
    );
    assert_eq!(data[2], b"\0\x01data/0");
    assert_eq!(data[3], b"\0\x02what data/0 is");
}

#[test]
fn the_empty_name_is_the_first_export_and_the_oldest_way_pads_with_zeroes() {
    let (out, step) = talk(&[&flags(1), &option(1, b"")]);
    assert_eq!(
        step,
        NegotiationStep::Transmit(Agreement {
            export: 0,
            form: ReplyForm::Simple,
            allocation: false,
            knows_block_sizes: false
        })
    );
    assert_eq!(out.len(), 8 + 2 + 124);
    assert_eq!(talk(&[&flags(3), &option(1, b"data")]).0.len(), 8 + 2);
    assert_eq!(talk(&[&flags(3), &option(1, b"nothing")]), (Vec::new(), NegotiationStep::Close));
}

#[test]
fn contexts_belong_to_the_export_they_were_selected_for() {
    let set = |name| option(10, &meta(name, &["base:allocation", "x-other:thing"]));
    let go = |name| option(7, &named(name, &[0, 0]));
    let allocation = |pieces: &[&[u8]]| match talk(pieces).1 {
        NegotiationStep::Transmit(agreement) => agreement.allocation,
        other => panic!("{other:?}"),
    };
    let structured = option(8, &[]);
    assert!(allocation(&[&flags(3), &structured, &set("data"), &go("data")]));
    assert!(allocation(&[&flags(3), &structured, &set(""), &go("data")]));
    assert!(!allocation(&[&flags(3), &structured, &set("data"), &go("data/0")]));
    assert!(!allocation(&[&flags(3), &structured, &set("data"), &option(10, &meta("data", &[])), &go("data")]));
    // Without chunks there is nothing to answer in.
    let (out, _) = talk(&[&flags(3), &set("data")]);
    assert_eq!(replies(&out)[0].1, OptionReply::Invalid as u32);
}

#[test]
fn contexts_are_listed_by_wildcard() {
    for (queries, count) in
        [(&[][..], 2), (&["base:"], 2), (&["base:allocation"], 2), (&["qemu:dirty"], 1), (&["base:x"], 1)]
    {
        let (out, _) = talk(&[&flags(3), &option(8, &[]), &option(9, &meta("data", queries))]);
        assert_eq!(replies(&out)[1..].len(), count, "{queries:?}");
    }
}

#[test]
fn what_is_not_offered_is_refused_and_the_talk_goes_on() {
    let list = option(3, &[]);
    for (code, data, kind) in [
        (5, &[][..], OptionReply::Policy),
        (99, &[1, 2, 3], OptionReply::Unsupported),
        (3, &[1], OptionReply::Invalid),
        (7, &[0, 0, 0, 9, 1], OptionReply::Invalid),
        (7, &named("nothing", &[0, 0]), OptionReply::Unknown),
        (6, &named("data", &[0, 1]), OptionReply::Invalid),
        (77, &vec![0; OPTION_DATA_MAX as usize + 1], OptionReply::TooBig),
    ] {
        let (out, step) = talk(&[&flags(3), &option(code, data), &list]);
        let replies = replies(&out);
        assert_eq!((replies[0].0, replies[0].1), (code, kind as u32));
        assert_eq!(replies.len(), 4, "{code}: two exports and the end of the list follow");
        assert_eq!(step, NegotiationStep::More);
    }
}

#[test]
fn extended_headers_take_the_place_of_structured_replies() {
    let go = option(7, &named("data", &[0, 0]));
    let (out, step) = talk(&[&flags(3), &option(8, &[]), &option(11, &[]), &option(8, &[]), &go]);
    assert_eq!(replies(&out)[2].1, OptionReply::ExtendedHeaderRequired as u32);
    assert_eq!(
        step,
        NegotiationStep::Transmit(Agreement {
            export: 0,
            form: ReplyForm::Extended,
            allocation: false,
            knows_block_sizes: true
        })
    );
    assert_eq!(talk(&[&flags(3), &option(11, &[]), &option(1, b"data")]).1, NegotiationStep::Close);
}

#[test]
fn good_bye_is_answered_and_strangers_are_not() {
    let (out, step) = talk(&[&flags(3), &option(2, &[])]);
    assert_eq!((replies(&out).len(), step), (1, NegotiationStep::Close));
    assert_eq!(talk(&[&flags(4)]), (Vec::new(), NegotiationStep::Close));
    assert_eq!(talk(&[&flags(3), b"GET / HTTP/1.0\r\n\r\n"]), (Vec::new(), NegotiationStep::Close));
}

#[test]
fn whoever_talks_without_end_is_cut_off() {
    let mut pieces = vec![flags(3)];
    pieces.extend((0..=OPTIONS_MAX).map(|_| option(99, &[])));
    let all = pieces.concat();
    let (out, step) = talk(&[&all]);
    assert_eq!(step, NegotiationStep::Close);
    assert_eq!(replies(&out).len(), OPTIONS_MAX as usize);
}

fn any_option() -> impl Strategy<Value = Vec<u8>> {
    let names = prop::sample::select(vec!["", "data", "data/0", "nothing"]);
    let wants = prop::collection::vec(0u16..5, 0..4);
    let queries = prop::collection::vec(prop::sample::select(vec!["base:", "base:allocation", "x:y", "z"]), 0..4);
    prop_oneof![
        (0u32..13, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(code, data)| option(code, &data)),
        (prop::bool::ANY, names.clone(), wants).prop_map(|(go, name, wants)| {
            let mut rest = (wants.len() as u16).to_be_bytes().to_vec();
            rest.extend(wants.iter().flat_map(|want| want.to_be_bytes()));
            option(if go { 7 } else { 6 }, &named(name, &rest))
        }),
        (9u32..11, names, queries).prop_map(|(code, name, queries)| option(code, &meta(name, &queries))),
        Just(option(8, &[])),
        Just(option(11, &[])),
    ]
}

proptest! {
    #[test]
    fn it_does_not_matter_how_bytes_are_cut(
        options in prop::collection::vec(any_option(), 0..8), cuts in prop::collection::vec(1usize..50, 0..30),
    ) {
        let all = [flags(3), options.concat()].concat();
        let whole = talk(&[&all]);
        let (mut pieces, mut rest) = (Vec::new(), &all[..]);
        for cut in cuts {
            let (piece, others) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = others;
        }
        pieces.push(rest);
        prop_assert_eq!(talk(&pieces), whole);
    }

    #[test]
    fn no_bytes_make_it_panic_or_answer_at_length(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (out, _) = talk(&[&flags(3), &bytes]);
        prop_assert!(out.len() <= 4_096);
    }
}

/// What the server answers to bare options, by code and kind.
fn answers(negotiation: &mut Negotiation, codes: &[u32]) -> (Vec<(u32, u32)>, NegotiationStep) {
    let mut input = codes
        .iter()
        .flat_map(|code| [&OPTION_MAGIC.to_be_bytes()[..], &code.to_be_bytes(), &[0; 4]].concat())
        .collect::<Vec<u8>>();
    let (mut out, mut last) = (Vec::new(), NegotiationStep::More);
    while !input.is_empty() {
        let mut rest = &input[..];
        last = negotiation.feed(&mut rest, &[], &mut out);
        input = rest.to_vec();
        if last != NegotiationStep::Next {
            break;
        }
    }
    let (mut told, mut at) = (Vec::new(), 0);
    while at < out.len() {
        let number = |at: usize| u32::from_be_bytes(out[at..at + 4].try_into().unwrap());
        told.push((number(at + 8), number(at + 12)));
        at += 20 + number(at + 16) as usize;
    }
    (told, last)
}

#[test]
fn nothing_is_told_before_a_connection_is_encrypted_where_it_must_be() {
    use option::code::{ABORT, LIST, STARTTLS, STRUCTURED_REPLY};
    let begun = |encryption: Encryption| {
        let mut negotiation = Negotiation::new(encryption);
        assert_eq!(negotiation.feed(&mut &3_u32.to_be_bytes()[..], &[], &mut Vec::new()), NegotiationStep::Next);
        negotiation
    };
    let required = 0x8000_0005;
    let mut negotiation = begun(Encryption::Required);
    assert_eq!(
        answers(&mut negotiation, &[LIST, STRUCTURED_REPLY, STARTTLS]),
        (vec![(LIST, required), (STRUCTURED_REPLY, required), (STARTTLS, 1)], NegotiationStep::Encrypt)
    );
    negotiation.encrypted();
    assert_eq!(
        answers(&mut negotiation, &[STARTTLS, LIST, ABORT]),
        (vec![(STARTTLS, 0x8000_0003), (LIST, 1), (ABORT, 1)], NegotiationStep::Close)
    );
    assert_eq!(
        answers(&mut begun(Encryption::Required), &[option::code::EXPORT_NAME]),
        (vec![], NegotiationStep::Close)
    );
    let mut offered = begun(Encryption::Offered);
    assert_eq!(answers(&mut offered, &[STRUCTURED_REPLY, STARTTLS]).1, NegotiationStep::Encrypt);
    // What was agreed on in the open counts no more.
    assert_eq!(offered.form, ReplyForm::Structured);
    offered.encrypted();
    assert_eq!(offered.form, ReplyForm::Simple);
    assert_eq!(
        answers(&mut begun(Encryption::None), &[STARTTLS]),
        (vec![(STARTTLS, 0x8000_0002)], NegotiationStep::Next)
    );
}
