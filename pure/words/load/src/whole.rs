//! All of a load in sentences that a person can check against another tool: where it falls, through what, and what ends it.

use crate::spec::{
    Arrival, Content, Distribution, FlushCadence, FlushMethod, LoadSpec, Pattern, Staggered, Walk, Zone,
};
use loadline_units::{Duration, Ratio};
use std::fmt::Write as _;

/// The longest that a load runs of which only its bytes say how long.
const LONG: Duration = Duration::from_s(86_400);

impl LoadSpec {
    /// Every part of the load, each with the word that it stands under.
    #[must_use]
    pub fn in_full(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("range", self.range_words()),
            ("places", self.places_words()),
            ("requests", self.requests_words()),
            ("arrival", self.arrival_words()),
        ];
        if self.writes_any() {
            all.push(("data", data_words(self.content, self.verify)));
            all.push(("flushes", flush_words(self.flush, self.end_flush)));
        }
        all.push(("caches", self.caches_words()));
        all.push(("before", self.before_words()));
        all.push(("ends", self.end_words()));
        all
    }

    fn range_words(&self) -> String {
        let size = match (self.size, self.size_share) {
            (Some(size), _) => size.human(),
            (None, Some(share)) => format!("{share} of the target"),
            (None, None) => "the whole target".to_owned(),
        };
        let turns = match self.in_turn {
            None => String::new(),
            Some(1) => ", the next file after each request".to_owned(),
            Some(requests) => format!(", the next file after every {requests} requests"),
        };
        let files = if self.files > 1 { format!(" over {} files{turns}", self.files) } else { String::new() };
        format!("{size} from offset {} on{files}; offsets are multiples of {}", self.start, self.alignment())
    }

    fn places_words(&self) -> String {
        let mut words = self.pattern_words();
        if self.continued != Ratio::ZERO {
            let _ = write!(words, "; {} of the requests go on from the last of their kind", self.continued);
        }
        if let Some(zones) = self.zones {
            let _ = write!(words, "; by zones of {}, {} left out behind each", zones.size, zones.skip);
        }
        words
    }

    fn pattern_words(&self) -> String {
        let zone = |zone: &Zone| format!("{} of the requests to {} of the blocks", zone.requests, zone.blocks);
        match &self.pattern {
            Pattern::Random(Distribution::Uniform) => "random, each draw anew: blocks may come again".to_owned(),
            Pattern::Random(Distribution::Permutation) => "random, each block once before any comes again".to_owned(),
            Pattern::Random(Distribution::Covering) => {
                "random, each byte once before any comes again: a block is cut before one that came already".to_owned()
            }
            Pattern::Random(Distribution::Zipf { theta_milli }) => {
                format!("random, zipf {}", f64::from(*theta_milli) / 1e3)
            }
            Pattern::Random(Distribution::HotCold { requests, blocks }) => {
                format!("random, {}", zone(&Zone { requests: *requests, blocks: *blocks }))
            }
            Pattern::Random(Distribution::Pareto { h_milli }) => {
                format!("random, pareto {}", f64::from(*h_milli) / 1e3)
            }
            Pattern::Random(Distribution::Normal { deviation }) => format!("random, normal {deviation}"),
            Pattern::Random(Distribution::Zoned { zones }) => {
                format!("random, by zones: {}", zones.iter().map(zone).collect::<Vec<_>>().join(", "))
            }
            Pattern::Sequential { stride } => {
                let step = stride.map_or_else(String::new, |stride| format!(", each {stride} after the last"));
                let way = match self.walk {
                    Walk::Onward if stride.is_some() => ", at the end one block further",
                    Walk::Onward => "",
                    Walk::Again => ", at the end the same blocks again",
                    Walk::Back => ", backward",
                };
                let threads = match (self.threads, self.overlap) {
                    (1, _) => String::new(),
                    (_, true) => "; each thread goes through all of it".to_owned(),
                    (_, false) => match self.staggered {
                        None => "; each thread has a stretch of its own".to_owned(),
                        Some(Staggered { step, length }) => {
                            let each = length.map_or_else(
                                || "to the end of the range".to_owned(),
                                |length| format!("through {}", length.human()),
                            );
                            format!("; each thread begins {step} behind the one before it, and goes {each}")
                        }
                    },
                };
                format!("sequential{step}{way}{threads}")
            }
        }
    }

    fn requests_words(&self) -> String {
        let kinds = match (self.trims, self.reads) {
            (Ratio::ONE, _) => "trims".to_owned(),
            (Ratio::ZERO, Ratio::ONE) => "reads".to_owned(),
            (Ratio::ZERO, Ratio::ZERO) => "writes".to_owned(),
            (Ratio::ZERO, reads) => format!("{reads} reads, {} writes", reads.complement()),
            (trims, reads) => format!("{trims} trims; of the others {reads} reads"),
        };
        let sizes: Vec<String> = match self.blocks.as_slice() {
            [one] => vec![one.size.to_string()],
            several => several.iter().map(|block| format!("{} ({})", block.size, block.share)).collect(),
        };
        format!("{kinds} of {}", sizes.join(", "))
    }

    fn arrival_words(&self) -> String {
        let (each, from) = match self.threads {
            1 => (String::new(), String::new()),
            threads => (format!(" for each of {threads} threads"), format!(", from {threads} threads")),
        };
        match &self.arrival {
            Arrival::Closed { queue_depth, rate_max, think_time } => {
                let rate = rate_max.map_or_else(String::new, |rate| format!(", at most {rate} in all"));
                let think = if *think_time == Duration::ZERO {
                    String::new()
                } else {
                    format!(", {think_time} between an answer and the next request")
                };
                format!("{queue_depth} in flight{each}{rate}{think}")
            }
            Arrival::Constant { rate } => format!("{rate} at even distances, whatever the answers{from}"),
            Arrival::Poisson { rate } => format!("{rate} by chance (Poisson), whatever the answers{from}"),
        }
    }

    fn caches_words(&self) -> String {
        let through = if self.buffered { "through the page cache" } else { "past the page cache (direct)" };
        let dropped = if self.drop_caches { "dropped before each trial" } else { "kept as they are" };
        format!("{through}; the machine's caches are {dropped}")
    }

    fn before_words(&self) -> String {
        let pause =
            if self.pause == Duration::ZERO { "no pause".to_owned() } else { format!("a pause of {}", self.pause) };
        let warm_up = if self.warm_up == Duration::ZERO {
            "no warm-up".to_owned()
        } else {
            format!("{} of warm-up", self.warm_up)
        };
        let steady = if self.steady_state.is_some() { ", until the rate is steady" } else { "" };
        format!("{pause}, {warm_up}{steady}")
    }

    fn end_words(&self) -> String {
        let bytes = self.volume.map(|volume| format!("when {} are moved", volume.human()));
        let passes = self.passes.map(|passes| match passes {
            1 => "when the bytes of its range are moved once".to_owned(),
            times => format!("when the bytes of its range are moved {times} times"),
        });
        let time = (self.duration < LONG || !self.is_bound_in_bytes()).then(|| format!("after {}", self.duration));
        let ends: Vec<String> = [bytes, passes, time].into_iter().flatten().collect();
        let first = if ends.len() > 1 { ", whichever comes first" } else { "" };
        let trials = if self.trials == 1 { String::new() } else { format!("; {} trials", self.trials) };
        format!("{}{first}{trials}", ends.join(" or "))
    }
}

fn data_words(content: Content, verify: bool) -> String {
    let share = |share: Ratio, what: &str, none: &str| {
        if share == Ratio::ZERO { none.to_owned() } else { format!("{share} {what}") }
    };
    let compressible = share(content.compressible, "of each block compresses away", "incompressible");
    let duplicate = share(content.duplicate, "of the blocks repeat others", "no duplicates");
    let verified = if verify { ", every block marked and read back" } else { "" };
    format!("{compressible}, {duplicate}{verified}")
}

fn flush_words(flush: Option<FlushCadence>, at_end: bool) -> String {
    let at_end = if at_end { "; one at the end, whose time is measured as well" } else { "" };
    let each = match flush {
        None => "never".to_owned(),
        Some(FlushCadence { every, how: FlushMethod::Fdatasync }) => {
            format!("fdatasync after every {every} of a thread's writes")
        }
        Some(FlushCadence { every: 1, how: FlushMethod::Fua }) => "each write is durable by itself".to_owned(),
        Some(FlushCadence { every, how: FlushMethod::Fua }) => format!("one write in {every} is durable by itself"),
    };
    format!("{each}{at_end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Bytes;

    fn part(load: &LoadSpec, name: &str) -> String {
        load.in_full().into_iter().find(|(of, _)| *of == name).map(|(_, words)| words).unwrap_or_default()
    }

    #[test]
    fn what_ends_a_load_is_said_with_all_that_may() {
        let ends = |volume: Option<u64>, passes, duration| {
            part(
                &LoadSpec { volume: volume.map(Bytes::mib), passes, duration, trials: 1, ..LoadSpec::default() },
                "ends",
            )
        };
        let minute = Duration::from_s(60);
        assert_eq!(ends(None, None, minute), "after 1 min");
        assert_eq!(ends(Some(512), None, LONG), "when 512 MiB are moved");
        assert_eq!(ends(None, Some(4), LONG), "when the bytes of its range are moved 4 times");
        assert_eq!(
            ends(Some(512), Some(1), minute),
            "when 512 MiB are moved or when the bytes of its range are moved once or after 1 min, whichever comes first"
        );
    }

    #[test]
    fn places_caches_and_data_are_said_as_they_are() {
        let load = LoadSpec {
            reads: Ratio::ZERO,
            buffered: true,
            drop_caches: true,
            start: Bytes::MIB,
            flush: Some(FlushCadence { every: 8, how: FlushMethod::Fdatasync }),
            ..LoadSpec::default()
        };
        assert_eq!(part(&load, "range"), "the whole target from offset 1 MiB on; offsets are multiples of 4 KiB");
        assert_eq!(part(&load, "caches"), "through the page cache; the machine's caches are dropped before each trial");
        assert_eq!(part(&load, "flushes"), "fdatasync after every 8 of a thread's writes");
        assert_eq!(part(&load, "requests"), "writes of 4 KiB");
        assert_eq!(part(&LoadSpec::default(), "flushes"), "", "a load that only reads has none");
        let back = Pattern::Sequential { stride: Some(Bytes::kib(8)) };
        let back = LoadSpec { pattern: back, walk: Walk::Back, threads: 2, overlap: true, ..load };
        assert_eq!(
            part(&back, "places"),
            "sequential, each 8 KiB after the last, backward; each thread goes through all of it"
        );
    }
}
