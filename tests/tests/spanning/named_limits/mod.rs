//! Limits named from what a measurement would hold, against what the model knows: random environments and loads, with the
//! model's own account taken out of the records.

mod environments;

use environments::{Mechanism, environment, plan};
use loadline_analysis::{Binding, FindingCode, summarize};
use loadline_record::{Evidence, Fact, Limit, ModelFact, ModelRecord, WaitedBeside, WaitingFact};
use loadline_report::words;
use loadline_tests::measured::measure;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

/// Environments in the gate; `LOADLINE_TEST_ENVIRONMENTS` sets another number, `LOADLINE_TEST_SEED` another seed.
const ENVIRONMENTS: u64 = 160;
/// Cells of which the right limit is named, at least.
const RIGHT_MIN: f64 = 0.95;
/// Cells called unexplained though the model knows why, at most.
const UNEXPLAINED_MAX: f64 = 0.02;
/// How far the value of a limit may be off.
const VALUE_TOLERANCE: f64 = 0.02;
/// Of the stripes.
const INTERLEAVE: u64 = 64 << 10;
/// How far the moment of a burst's end may be off.
const MOMENT_TOLERANCE: f64 = 0.05;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: {text} is no number")))
}

/// What can be told of a limit without knowing whose it is: a VM's looks like the disk's.
fn class(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops | Limit::VmCachedIops | Limit::VmUncachedIops => "requests",
        Limit::DiskThroughput | Limit::VmCachedThroughput | Limit::VmUncachedThroughput => "bytes",
        // A place in the disk is what the model calls latency.
        Limit::Parallelism => "latency",
        other => other.name(),
    }
}

/// Whether the mechanics of a spinning disk held the requests.
fn by_mechanics(seen: &Evidence) -> bool {
    let is_it =
        |fact: &Fact| matches!(fact, Fact::Model(ModelFact::ModelledLatency { waited: WaitedBeside::Mechanics, .. }));
    seen.facts().iter().any(is_it)
}

/// Whether the limit counts several requests for each of the load, or less than one.
fn counts_several(seen: &Evidence) -> bool {
    seen.facts().iter().any(|fact| match fact {
        Fact::Model(ModelFact::Waited { source: Some(source), .. } | ModelFact::PassesByHead { source }) => {
            source.counts_several()
        }
        _ => false,
    })
}

/// The names that are right for what the model knows.
fn right(truth: &ModelRecord, binding: &Binding, (pattern, spans): (&str, bool)) -> Vec<&'static str> {
    let mut names = vec![class(binding.limit)];
    if by_mechanics(&binding.seen) && pattern == "sequential" {
        // A head over its data moves bytes.
        names.push("bytes");
    }
    if binding.limit == Limit::BurstExhausted && truth.bursts_ended.is_empty() {
        // Spent before it was looked at: what remains is a limit like any other.
        names.extend(["requests", "bytes"]);
    }
    if counts_several(&binding.seen) || (spans && names[0] == "requests") {
        // So many requests for each of a size, or for each disk of a stripe, are so many bytes to all who cannot see what is
        // counted.
        names.push("bytes");
    }
    if !truth.bursts_ended.is_empty() && binding.limit != Limit::BurstExhausted {
        // Most requests may have passed in the burst.
        names.push(Limit::BurstExhausted.name());
    }
    names
}

/// How often each truth was given which name.
#[derive(Default)]
struct Confusion(BTreeMap<(String, &'static str), u32>);

impl Confusion {
    fn add(&mut self, truth: &str, named: &'static str) {
        *self.0.entry((truth.to_owned(), named)).or_default() += 1;
    }
    fn print(&self) {
        println!("{:<24}{:<24}{:>6}", "truth", "named", "cells");
        for ((truth, named), count) in &self.0 {
            println!("{truth:<24}{named:<24}{count:>6}");
        }
    }
}

/// The points of `quick`: short, and open loops above what closed ones get, as a full bucket lets through for a while.
#[test]
fn a_bucket_that_short_loads_do_not_empty_hides_no_limit() {
    let environment = "schema = 1\nname = \"bucket\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"64 GiB\"\n\
                       [volume.data.disks.limit]\niops = \"5000 IOPS\"\nthroughput = \"400 MB/s\"\nenforcement = { bucket = \"1 s\" }\n\
                       [volume.data.disks.latency.read]\nmedian = \"300 us\"\np99 = \"900 us\"\n";
    let plan = "schema = 1\nname = \"short\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\n\
                queue_depth = [1, 32]\nwarm_up = \"500 ms\"\nduration = \"3 s\"\ntrials = 1\nsize = \"2 GiB\"\n\
                [[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\narrival = { poisson = [\"2500 IOPS\", \"5500 IOPS\"] }\n\
                warm_up = \"500 ms\"\nduration = \"2500 ms\"\ntrials = 1\nsize = \"2 GiB\"\n";
    let cells = summarize(&measure(environment, plan, 1).record).cells;
    let deep = cells[1].binding.as_ref().unwrap();
    let above = cells[3].total.as_ref().unwrap().iops;
    assert!(above > 5_350.0, "{above}");
    assert_eq!(deep.limit, Limit::DiskIops, "{}", words::evidence(&deep.seen));
    let more = |fact: &Fact| matches!(fact, Fact::Waiting(WaitingFact::MoreForAWhile { .. }));
    assert!(deep.seen.facts().iter().any(more), "{}", words::evidence(&deep.seen));
}

#[test]
fn limits_of_modelled_disks_are_named_from_their_figures() {
    let seed = number("LOADLINE_TEST_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    let count = number("LOADLINE_TEST_ENVIRONMENTS").unwrap_or(ENVIRONMENTS);
    println!("seed {seed}, {count} environments (LOADLINE_TEST_SEED, LOADLINE_TEST_ENVIRONMENTS)");
    let mut confusion = Confusion::default();
    let (mut cells, mut hits, mut unexplained) = (0, 0, 0);
    let (mut values, mut values_near) = (0, 0);
    let (mut bursts, mut bursts_near) = (0, 0);
    for number in 0..count {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(number));
        let mechanisms = Mechanism::some(&mut random);
        let environment = environment(&mechanisms, &mut random);
        let plan = plan(&mechanisms, &mut random);
        let striped = mechanisms.contains(&Mechanism::Stripe);
        let measured = measure(&environment, &plan, seed.wrapping_add(number));
        let summary = summarize(&measured.record);
        // Throttles, bursts and queues of every kind, but nothing that pauses.
        let still = summary.findings.iter().find(|finding| finding.code == FindingCode::Stalls);
        assert!(still.is_none(), "environment {number}, {mechanisms:?}, seed {seed}: {still:?}");
        for (cell, truth) in summary.cells.iter().zip(&measured.truths) {
            let (Some(named), Some(known)) = (&cell.binding, &truth.binding) else { continue };
            let wanted = right(truth, known, (cell.load.pattern.name(), striped && cell.load.block_bytes > INTERLEAVE));
            let name = class(named.limit);
            let is_right = wanted.contains(&name);
            cells += 1;
            hits += u32::from(is_right);
            unexplained += u32::from(named.limit == Limit::Unexplained);
            confusion.add(&wanted.join("|"), name);
            if let (true, Some(value), Some(ceiling), true) =
                (is_right, named.ceiling_iops, known.ceiling_iops, ["requests", "bytes"].contains(&name))
            {
                values += 1;
                let is_near = (value / ceiling - 1.0).abs() <= VALUE_TOLERANCE;
                values_near += u32::from(is_near);
                if !is_near {
                    println!(
                        "value, environment {number}, {mechanisms:?}, {}: {name} at {value:.1}, not {ceiling:.1}: {}",
                        cell.label,
                        words::evidence(&named.seen)
                    );
                }
            }
            let one = truth.bursts_ended.len() == 1 && cell.load.queue_depth.is_some();
            if let Some(end) = truth.bursts_ended.first().filter(|_| one && named.limit == Limit::BurstExhausted) {
                let found = loadline_analysis::limits(&measured.record);
                let own = found
                    .iter()
                    .find(|f| f.quantity == loadline_analysis::Quantity::BurstNs && f.cells.contains(&cell.id));
                if let Some(own) = own {
                    bursts += 1;
                    let is_near = (own.value / end.at_ns as f64 - 1.0).abs() <= MOMENT_TOLERANCE;
                    bursts_near += u32::from(is_near);
                    if !is_near {
                        println!(
                            "burst, environment {number}, {mechanisms:?}, {}: at {:.1} s, not {:.1} s",
                            cell.label,
                            own.value / 1e9,
                            end.at_ns as f64 / 1e9
                        );
                    }
                }
            }
            if !is_right {
                println!(
                    "environment {number}, {mechanisms:?}, {}: {} is {}: {}",
                    cell.label,
                    wanted.join("|"),
                    name,
                    words::evidence(&named.seen)
                );
                println!("    model: {}", words::evidence(&known.seen));
            }
        }
    }
    confusion.print();
    println!(
        "{hits} of {cells} right, {unexplained} unexplained; of {values} values {values_near} within 2 %; of {bursts} ends of \
         bursts {bursts_near} within 5 %"
    );
    assert!(f64::from(hits) >= RIGHT_MIN * f64::from(cells), "{hits} of {cells}, seed {seed}");
    assert!(f64::from(unexplained) <= UNEXPLAINED_MAX * f64::from(cells), "{unexplained} of {cells}, seed {seed}");
    assert!(bursts_near * 20 >= bursts * 19, "{bursts_near} of {bursts}, seed {seed}");
}
