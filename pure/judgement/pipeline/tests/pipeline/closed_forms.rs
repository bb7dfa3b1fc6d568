//! Queues of which the theory knows the answer. Each holds within four standard errors over independent replays.

use crate::made_up::{Random, items, station, waits, wide_open};
use loadline_pipeline::{Keep, PipelineItem, Release, replay};
use loadline_record::PipelineSpec;

const MS: f64 = 1e6;
const REPLAYS: u64 = 24;
const ITEMS: usize = 8_000;

/// Holds the mean of independent figures to a known one. `bias` allows for the start from empty, as a share.
fn agrees(what: &str, figures: &[f64], known: f64, bias: f64) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n;
    let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = 4.0 * (variance / n).sqrt() + bias * known;
    assert!((mean - known).abs() <= error, "{what}: {mean} ± {error}, known {known}");
    assert!(error < 0.1 * known, "{what}: {error} of {known} shows nothing");
}

/// Mean time in extract, queue included, of an open stream.
fn open(spec: &PipelineSpec, seed: u64, between_ns: f64, mut of: impl FnMut(&mut Random) -> PipelineItem) -> f64 {
    let mut random = Random::new(seed);
    let mut at = 0;
    let stream: Vec<PipelineItem> = (0..ITEMS)
        .map(|_| {
            at += random.exponential(between_ns);
            PipelineItem { release: Release::At(at), ..of(&mut random) }
        })
        .collect();
    let replayed = replay(spec, &stream, None, Keep::default()).unwrap();
    // Slots hold an item for no time, or for the fetch that is looked at.
    let inside = replayed.inside_item_ns[0] + replayed.inside_item_ns[1];
    inside as f64 / ITEMS as f64 / MS
}

#[test]
fn several_workers_wait_as_erlang_says() {
    // M/M/c with c = 3 and load 0.7: Erlang's C, by its sum.
    let (workers, load, service) = (3u32, 0.7, 10.0);
    let offered = f64::from(workers) * load;
    let term = |k: u32| (1..=k).map(|number| offered / f64::from(number)).product::<f64>();
    let last = term(workers) / (1.0 - load);
    let waits_share = last / ((0..workers).map(term).sum::<f64>() + last);
    let known = service + waits_share * service / (f64::from(workers) * (1.0 - load));
    let spec = PipelineSpec { extract: station(workers, 1_000_000), ..wide_open(1_000_000) };
    let figures: Vec<f64> = (0..REPLAYS)
        .map(|seed| {
            open(&spec, seed, service * MS / offered, |random| PipelineItem {
                work: [waits(random.exponential(service * MS)), waits(0), waits(0)],
                ..PipelineItem::default()
            })
        })
        .collect();
    agrees("M/M/3", &figures, known, 0.01);
}

#[test]
fn constant_work_waits_half_as_long() {
    // M/D/1 (Pollaczek and Khinchine): load * service / 2 (1 - load).
    let (load, service) = (0.7, 10.0);
    let known = service + load * service / (2.0 * (1.0 - load));
    let spec = PipelineSpec { extract: station(1, 1_000_000), ..wide_open(1_000_000) };
    let figures: Vec<f64> = (0..REPLAYS)
        .map(|seed| {
            open(&spec, seed, service * MS / load, |_| PipelineItem {
                work: [waits((service * MS) as u64), waits(0), waits(0)],
                ..PipelineItem::default()
            })
        })
        .collect();
    agrees("M/D/1", &figures, known, 0.01);
}

#[test]
fn shared_processors_do_not_care_how_work_is_distributed() {
    // M/D/1 with processor sharing is M/M/1: service / (1 - load), whatever the distribution.
    let (load, service) = (0.6, 10.0);
    let spec = PipelineSpec { cores: 1, ..wide_open(1_000_000) };
    let figures: Vec<f64> = (0..REPLAYS)
        .map(|seed| {
            open(&spec, seed, service * MS / load, |_| PipelineItem {
                fetch_cpu_ns: (service * MS) as u64,
                ..PipelineItem::default()
            })
        })
        .collect();
    agrees("M/D/1-PS", &figures, service / (1.0 - load), 0.01);
}

/// Throughput per ms of slots that wait for `think` and then want `cpu` on shared processors.
fn closed(slots: u32, cores: u32, think: f64, cpu: f64, seed: u64) -> f64 {
    let spec = PipelineSpec { cores, ..wide_open(slots) };
    let mut random = Random::new(seed);
    let stream: Vec<PipelineItem> = (0..ITEMS)
        .map(|_| PipelineItem {
            first_byte_ns: random.exponential(think * MS),
            fetch_cpu_ns: random.exponential(cpu * MS),
            ..PipelineItem::default()
        })
        .collect();
    let replayed = replay(&spec, &stream, None, Keep::default()).unwrap();
    ITEMS as f64 / (replayed.record.wall_ns as f64 / MS)
}

#[test]
fn machines_and_their_repairers_do_what_theory_says() {
    for (slots, cores) in [(6u32, 1u32), (9, 2)] {
        // States by machines that are broken, each as likely as the product of the rates into it.
        let (think, cpu) = (50.0, 10.0);
        let mut weights = vec![1.0];
        for broken in 1..=slots {
            let arrive = f64::from(slots - broken + 1) / think;
            let leave = f64::from(broken.min(cores)) / cpu;
            weights.push(weights.last().unwrap() * arrive / leave);
        }
        let busy: f64 =
            weights.iter().enumerate().map(|(broken, weight)| (broken as f64).min(f64::from(cores)) * weight).sum();
        let known = busy / weights.iter().sum::<f64>() / cpu;
        let figures: Vec<f64> = (0..REPLAYS).map(|seed| closed(slots, cores, think, cpu, seed)).collect();
        agrees(&format!("{slots} machines, {cores} repairers"), &figures, known, 0.005);
    }
}

#[test]
fn a_full_queue_blocks_as_theory_says() {
    // Two exponential servers of one rate with b places between them: (b + 2) / (b + 3) of the rate.
    for places in [1u32, 4] {
        let spec = PipelineSpec { extract: station(1, places), ..wide_open(1) };
        let figures: Vec<f64> = (0..REPLAYS)
            .map(|seed| {
                let mut random = Random::new(seed);
                let stream = items(ITEMS, || [random.exponential(MS), random.exponential(MS), 0, 0]);
                let replayed = replay(&spec, &stream, None, Keep::default()).unwrap();
                ITEMS as f64 / (replayed.record.wall_ns as f64 / MS)
            })
            .collect();
        let known = f64::from(places + 2) / f64::from(places + 3);
        agrees(&format!("{places} places"), &figures, known, 0.002);
    }
}
