//! Results of many loads on many environments, to the bit, against a file: a refactoring changes none of them. After an
//! intended change of the model, `UPDATE_GOLDEN=1 cargo test -p loadline-simulator` rewrites the file.

use crate::any::{self, Draws};
use loadline_disk::{Machine, WaitTimes, Waits};
use loadline_record::{Ending, Histogram, TrialRecord};
use loadline_simulator::{Simulated, TrialSetup, simulate};
use loadline_units::Duration;
use std::fmt::Write;
use std::path::Path;

const CASES: u64 = 360;
/// From this case on, disks have device queues in the guest, and limits that delay answers.
const CROWDED_FROM: u64 = 320;
/// Cases in a line of the file.
const IN_A_LINE: usize = 8;

/// A hash of 64 bits (FNV-1a by whole words, then mixed): the same on every machine.
struct Digest(u64);

impl Digest {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }
    fn all(&mut self, words: impl IntoIterator<Item = u64>) {
        for word in words {
            self.add(word);
        }
    }
    fn histogram(&mut self, histogram: &Histogram) {
        self.all(histogram.encode().into_iter().map(u64::from));
    }
    fn waited(&mut self, waited: WaitTimes) {
        self.all([waited.iops, waited.throughput, waited.credits].map(Duration::as_ns));
    }
    fn waits(&mut self, waits: &Waits) {
        for at in [waits.vm_cached, waits.vm_uncached, waits.pools, waits.disks] {
            self.waited(at);
        }
        self.add(waits.cache.as_ns());
    }
    fn record(&mut self, record: &TrialRecord) {
        self.add(record.warm_up_ns);
        self.add(record.measured_ns);
        self.add(record.surroundings.elapsed_ns);
        self.add(record.missed);
        self.add(record.offered_iops.map_or(0, f64::to_bits));
        self.add(u64::from(record.ending == Ending::Complete));
        self.add(record.errors_total());
        for (operation, of) in &record.operations {
            self.add(operation.index() as u64);
            self.add(of.count);
            self.add(of.bytes);
            for histogram in [Some(&of.latency), of.waiting.as_ref(), of.service.as_ref()].into_iter().flatten() {
                self.histogram(histogram);
            }
        }
        for (operation, (count, bytes)) in &record.surroundings.asked {
            self.all([operation.index() as u64, *count, *bytes]);
        }
        self.add(record.series.last_ns);
        for second in &record.series.seconds {
            self.add(second.outstanding.to_bits());
            for of in &second.operations {
                self.all([of.count, of.bytes, of.p50_ns, of.p99_ns, of.max_ns]);
            }
        }
        for rate in record.steady_state.iter().flat_map(|steady| &steady.rounds) {
            self.add(rate.to_bits());
        }
    }
    fn simulated(&mut self, simulated: &Simulated) {
        self.record(&simulated.record);
        self.waits(&simulated.waits);
        self.add(simulated.machine.now().as_ns());
    }
}

/// Two trials on one machine, the second on the state after the first.
fn digest(number: u64) -> u64 {
    let mut draws = Draws::new(number);
    let mut environment = any::environment(&mut draws);
    if number >= CROWDED_FROM {
        any::crowd(&mut draws, &mut environment);
    }
    let initial = any::initial(&mut draws);
    let mut machine = Machine::new(&environment, draws.next(), initial).unwrap_or_else(|e| panic!("{number}: {e}"));
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for trial in 0..2 {
        let target = machine.target("data").expect("there is a volume");
        let setup = TrialSetup { trial, seed: draws.next(), started_unix_s: 0 };
        let simulated =
            simulate(&any::load(&mut draws), machine, target, setup).unwrap_or_else(|e| panic!("{number}: {e}"));
        digest.simulated(&simulated);
        machine = simulated.machine;
    }
    digest.0
}

#[test]
fn records_are_those_that_were_written_down() {
    let digests: Vec<u64> = (0..CASES).map(digest).collect();
    let mut text = String::new();
    for (line, eight) in digests.chunks(IN_A_LINE).enumerate() {
        write!(text, "{:3}", line * IN_A_LINE).expect("writing to a string");
        for digest in eight {
            write!(text, " {digest:016x}").expect("writing to a string");
        }
        text.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/digests.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differing: Vec<(&str, &str)> = expected.lines().zip(text.lines()).filter(|(a, b)| a != b).collect();
    assert!(
        expected == text,
        "records differ from those written down, in {} of {} lines; the first:\n{:?}\n\
         If the model was meant to change: UPDATE_GOLDEN=1 cargo test -p loadline-simulator",
        differing.len(),
        text.lines().count(),
        differing.first(),
    );
}
