//! A timeline in Perfetto's words: tracks in a tree, with slices, moments and counters on them.
//!
//! Field numbers are those of `protos/perfetto/trace/` (github.com/google/perfetto, 59). Each name is written once and then meant by its number.

use super::message::Message;
use std::collections::BTreeMap;

/// A track of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Track(u64);

/// A figure or word that stands beside a slice.
#[derive(Debug, Clone)]
pub(super) enum Fact {
    Count(u64),
    Figure(f64),
    Text(String),
}

/// A way of one thing through several slices, by its number, and whether it ends here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) number: u64,
    pub(super) is_last: bool,
}

/// What happens over a time.
#[derive(Debug, Default)]
pub(super) struct Slice<'a> {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) name: &'a str,
    pub(super) facts: &'a [(&'static str, Fact)],
    pub(super) flow: Option<Flow>,
}

/// An event as bytes, and when it is.
#[derive(Debug)]
struct Event {
    at_ns: u64,
    from: usize,
    to: usize,
}

/// Names that were given numbers, from 1.
#[derive(Debug, Default)]
struct Names(BTreeMap<String, u64>);

impl Names {
    fn number(&mut self, name: &str) -> u64 {
        if let Some(number) = self.0.get(name) {
            return *number;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(name.to_owned(), number);
        number
    }
    /// The names as they are said in a packet, under a field each.
    fn said(&self, field: u32, mut data: Message) -> Message {
        for (name, number) in &self.0 {
            data = data.message(field, &Message::default().number(1, *number).text(2, name));
        }
        data
    }
}

#[derive(Debug, Default)]
pub(super) struct Timeline {
    head: Vec<u8>,
    tracks: u64,
    names: Names,
    facts: Names,
    events: Vec<Event>,
    bytes: Vec<u8>,
}

/// A counter: its name, its unit, and what it shows of a step.
pub(super) type Counter<'a, T> = (&'static str, &'static str, &'a dyn Fn(&T) -> f64);

/// All packets are of one writer.
const WRITER: u64 = 1;
const NAMES_BEGIN: u64 = 1;
const NAMES_ARE_NUMBERS: u64 = 2;
/// Tracks below another stand in the order of their ranks.
const BY_RANK: u64 = 3;

/// Kinds of events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const MOMENT: u64 = 3;
const COUNTER: u64 = 4;

fn packet(fields: Message) -> Vec<u8> {
    Message::default().message(1, &fields.number(10, WRITER)).into_bytes()
}

impl Timeline {
    /// A track below another one, behind those that are there.
    pub(super) fn track(&mut self, above: Option<Track>, name: &str) -> Track {
        self.described(above, name, None)
    }

    /// A track of one figure over time.
    pub(super) fn counter(&mut self, above: Track, name: &str, unit: &str) -> Track {
        let counter = Message::default().text(6, unit);
        self.described(Some(above), name, Some(&counter))
    }

    fn described(&mut self, above: Option<Track>, name: &str, counter: Option<&Message>) -> Track {
        self.tracks += 1;
        let own = self.tracks;
        let mut track = Message::default().number(1, own).text(2, name).number(11, BY_RANK).number(12, own);
        if let Some(above) = above {
            track = track.number(5, above.0);
        }
        if let Some(counter) = counter {
            track = track.message(8, counter);
        }
        self.head.extend(packet(Message::default().message(60, &track)));
        Track(own)
    }

    /// A slice. Those of a track are given in the order of their beginnings, and each ends within the one that it began in.
    pub(super) fn slice(&mut self, track: Track, slice: &Slice<'_>) {
        self.begin(track, slice);
        self.end(track, slice.end_ns);
    }

    /// A slice with others within it, one after the other.
    pub(super) fn slice_of(&mut self, track: Track, slice: &Slice<'_>, parts: &[Slice<'_>]) {
        self.begin(track, slice);
        for part in parts {
            self.slice(track, part);
        }
        self.end(track, slice.end_ns);
    }

    fn begin(&mut self, track: Track, slice: &Slice<'_>) {
        let mut event = self.named(track, BEGIN, slice.name, slice.facts);
        if let Some(Flow { number, is_last }) = slice.flow {
            event = event.fixed(if is_last { 48 } else { 47 }, number);
        }
        self.push(slice.start_ns, &event);
    }

    fn end(&mut self, track: Track, at_ns: u64) {
        self.push(at_ns, &Message::default().number(9, END).number(11, track.0));
    }

    /// Something that takes no time.
    pub(super) fn moment(&mut self, track: Track, at_ns: u64, name: &str, facts: &[(&'static str, Fact)]) {
        let event = self.named(track, MOMENT, name, facts);
        self.push(at_ns, &event);
    }

    /// What a counter shows from now on.
    pub(super) fn count(&mut self, track: Track, at_ns: u64, value: f64) {
        self.push(at_ns, &Message::default().number(9, COUNTER).number(11, track.0).real(44, value));
    }

    fn named(&mut self, track: Track, kind: u64, name: &str, facts: &[(&'static str, Fact)]) -> Message {
        let name = self.names.number(name);
        let mut event = Message::default().number(9, kind).number(11, track.0).number(10, name);
        for (about, fact) in facts {
            let said = Message::default().number(1, self.facts.number(about));
            let said = match fact {
                Fact::Count(count) => said.number(3, *count),
                Fact::Figure(figure) => said.real(5, *figure),
                Fact::Text(text) => said.text(6, text),
            };
            event = event.message(4, &said);
        }
        event
    }

    fn push(&mut self, at_ns: u64, event: &Message) {
        let fields = Message::default().number(8, at_ns).number(13, NAMES_ARE_NUMBERS).message(11, event);
        let from = self.bytes.len();
        self.bytes.extend(packet(fields));
        self.events.push(Event { at_ns, from, to: self.bytes.len() });
    }

    /// The file: names and tracks, then everything in the order of time.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        let data = self.facts.said(3, self.names.said(2, Message::default()));
        let mut out = packet(Message::default().number(13, NAMES_BEGIN).message(12, &data));
        out.extend(&self.head);
        out.reserve(self.bytes.len());
        // What happens at one time keeps its order: on each track an end comes before the next beginning.
        self.events.sort_by_key(|event| event.at_ns);
        for Event { from, to, .. } in &self.events {
            out.extend(&self.bytes[*from..*to]);
        }
        out
    }
}
