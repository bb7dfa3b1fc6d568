//! What is named against known truth: random pipelines of which the replay itself knows the effect of every part.
//!
//! A pipeline is drawn, run, and measured as a crawl would be: series, and a sample of its items. The answer comes from that record
//! alone. The truth is the part with the largest effect when it is twice as fast in the pipeline that was drawn, with every item.

use crate::made_up::{Random, station};
use crate::sampling::{allowed, is_long, seed};
use loadline_pipeline::{
    Attribution, Bound, CORES_BUSY, Keep, Lever, PipelineItem, RecordedPipeline, Release, attribute, cores_busy,
    crawl_violations, elasticities, replay,
};
use loadline_record::{
    BatchCost, CommitSpec, MergeSpec, PipelineRecord, PipelineSpec, Politeness, SegmentSpec, SourceSpec, Work,
};
use loadline_units::{ByteRate, Bytes, Duration};
use std::collections::BTreeMap;

const MS: f64 = 1e6;
/// Pipelines of the whole proof, and those of a gate.
const ALL: u64 = 10_000;
const SAMPLED: u64 = 200;
/// Of those that are held against the rules, which takes a replay more for each part.
const RULED: u64 = 40;
/// What leads by less is not clear: a part that gives twice as much as no other is ahead by 1.
const CLEAR: f64 = 0.2;
/// Of so many parts with the largest effects it is asked what setting twice as much of them gives; of workers always.
const EFFECTS: usize = 5;
/// So many threads examine them.
const PARTS: u64 = 2;
/// How times scatter round their mean.
#[derive(Clone, Copy)]
enum Scatter {
    None,
    Exponential,
    HeavyTailed,
}

impl Scatter {
    fn draw(self, random: &mut Random, mean_ns: f64) -> u64 {
        match self {
            Self::None => mean_ns as u64,
            Self::Exponential => random.exponential(mean_ns),
            // Log-normal with sigma 1: its mean is exp(1/2) times its median.
            Self::HeavyTailed => {
                let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                (mean_ns * (normal - 0.5).exp()) as u64
            }
        }
    }
}

struct Drawn {
    spec: PipelineSpec,
    items: Vec<PipelineItem>,
}

fn sometimes(random: &mut Random, share: f64) -> bool {
    random.unit() < share
}

fn cost(random: &mut Random, cpu_us: f64, write_us: f64, sync_ms: f64) -> BatchCost {
    BatchCost {
        cpu_per_unit_ns: (random.log_uniform(0.05, 1.0) * cpu_us * 1e3) as u64,
        write_per_unit_ns: (random.log_uniform(0.02, 1.0) * write_us * 1e3) as u64,
        sync_ns: (random.log_uniform(0.02, 1.0) * sync_ms * MS) as u64,
        ..BatchCost::default()
    }
}

fn draw(number: u64) -> Drawn {
    let mut random = Random::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
    let r = &mut random;
    let scatter = r.one_of(&[Scatter::None, Scatter::Exponential, Scatter::HeavyTailed]);
    let sources_count = 1 + r.below(3);
    let mut sources = Vec::new();
    let mut items = Vec::new();
    // The means of the shared stations' work.
    let extract_cpu = r.log_uniform(0.3, 30.0) * MS;
    let index_cpu = r.log_uniform(0.1, 15.0) * MS;
    let index_device = if sometimes(r, 0.3) { r.log_uniform(0.1, 10.0) * MS } else { 0.0 };
    let database_cpu = r.log_uniform(0.02, 3.0) * MS;
    let database_device = if sometimes(r, 0.5) { r.log_uniform(0.1, 15.0) * MS } else { 0.0 };
    let database_lock = if sometimes(r, 0.25) { r.log_uniform(0.1, 15.0) * MS } else { 0.0 };
    for source in 0..sources_count as u32 {
        let slots = r.one_of(&[1, 2, 4, 8, 16, 32]);
        let is_polite = sometimes(r, 0.3);
        let hosts = r.one_of(&[1u32, 2, 3, 6]);
        let politeness = Politeness {
            crawl_delay: (is_polite && sometimes(r, 0.7))
                .then(|| Duration::from_ns((r.log_uniform(2.0, 300.0) * MS) as u64)),
            per_host: (is_polite && sometimes(r, 0.5)).then(|| r.one_of(&[1, 2, 4])),
        };
        let connections = (slots > 1 && sometimes(r, 0.15)).then(|| r.one_of(&[1, 2, 4]).min(slots / 2).max(1));
        let latency = r.log_uniform(1.0, 400.0) * MS;
        let fetch_cpu = r.log_uniform(0.02, 2.0) * MS;
        let bytes = r.log_uniform(2_000.0, 200_000.0);
        // Links on a page; 0: everything is known from the start.
        let links = if sometimes(r, 0.3) { r.one_of(&[1usize, 2, 5, 30]) } else { 0 };
        let first = items.len();
        let count = 200 + r.below(400) as usize;
        for place in 0..count {
            let release = match links {
                0 => Release::At(0),
                _ if place == 0 => Release::At(0),
                links => Release::After((first + (place - 1) / links) as u32),
            };
            let of = |random: &mut Random, mean: f64| scatter.draw(random, mean);
            items.push(PipelineItem {
                source,
                host: r.below(u64::from(hosts)) as u32,
                release,
                first_byte_ns: of(r, latency),
                body_ns: 0,
                bytes: of(r, bytes),
                text_bytes: of(r, bytes / 3.0),
                fetch_cpu_ns: of(r, fetch_cpu),
                retry_after_ns: 0,
                work: [
                    Work { cpu_ns: of(r, extract_cpu), ..Work::default() },
                    Work { cpu_ns: of(r, index_cpu), device_ns: of(r, index_device), other_ns: 0 },
                    Work {
                        cpu_ns: of(r, database_cpu),
                        device_ns: of(r, database_device),
                        other_ns: of(r, database_lock),
                    },
                ],
            });
        }
        sources.push(SourceSpec { name: format!("source {source}"), slots, politeness, connections });
    }
    let merge = sometimes(r, 0.4).then(|| MergeSpec {
        factor: r.one_of(&[2, 4, 8]),
        threads: 1,
        pending_max: r.one_of(&[1, 2, 4]),
        cost: cost(r, 100.0, 400.0, 2.0),
    });
    let segments = sometimes(r, 0.6).then(|| SegmentSpec {
        budget: Bytes::kib(r.log_uniform(100.0, 8_000.0) as u64),
        flush: cost(r, 50.0, 300.0, 200.0),
        merge,
    });
    let commit = sometimes(r, 0.6).then(|| {
        let by_items = sometimes(r, 0.6);
        CommitSpec {
            every_items: by_items.then(|| r.log_uniform(5.0, 200.0) as u64),
            every: (!by_items).then(|| Duration::from_ns((r.log_uniform(50.0, 2_000.0) * MS) as u64)),
            index: cost(r, 20.0, 200.0, 60.0),
            database: cost(r, 20.0, 500.0, 60.0),
        }
    });
    let spec = PipelineSpec {
        cores: r.one_of(&[1, 2, 4, 8]),
        network: sometimes(r, 0.3).then(|| ByteRate::per_second(r.log_uniform(3e5, 1e8) as u64).unwrap()),
        sources,
        extract: station(r.one_of(&[1, 2, 4]), r.one_of(&[2, 8, 32])),
        index: station(r.one_of(&[1, 2]), r.one_of(&[2, 8, 32])),
        database: station(1, r.one_of(&[2, 8, 32])),
        segments,
        commit,
    };
    Drawn { spec, items }
}

/// A drawn pipeline as it would be measured.
fn measured(number: u64) -> (Drawn, PipelineRecord) {
    let Drawn { spec, items } = draw(number);
    let wall_ns = replay(&spec, &items, None, Keep::default()).unwrap().record.wall_ns;
    let keep = Keep { interval_ns: (wall_ns / 200).max(1), items_max: items.len() * 3 / 4, seed: number };
    let record = replay(&spec, &items, None, keep).unwrap().record;
    (Drawn { spec, items }, record)
}

/// What is true of a source of a drawn pipeline.
struct Truth {
    /// Its parts by effect.
    by_effect: Vec<(Lever, f64)>,
    /// What binds it, where that is clear: by effect, unless twice as much of another part, as a person sets it, gives clearly more.
    clear: Option<Lever>,
}

impl Truth {
    /// `by_setting`: what twice as much of a part gives, as a person sets it.
    fn new(by_effect: Vec<(Lever, f64)>, by_setting: &[(Lever, f64)]) -> Self {
        let first = by_effect[0].0;
        let own = by_setting.iter().find(|of| of.0 == first).map_or(f64::INFINITY, |of| of.1);
        let mut others: Vec<_> = by_setting.iter().filter(|of| of.0 != first && !of.0.is_one_wait(first)).collect();
        others.sort_by(|a, b| b.1.total_cmp(&a.1));
        let gives = |place: usize| others.get(place).map_or(f64::NEG_INFINITY, |of| of.1);
        let clear = if gives(0) <= own {
            (by_effect[0].1 - by_effect[1].1 >= CLEAR).then_some(first)
        } else {
            (gives(0) - own.max(gives(1)) >= CLEAR).then(|| others[0].0)
        };
        Self { by_effect, clear }
    }
}

/// The answers of a measured crawl, and the truth of each source.
fn examined(number: u64) -> Vec<(Attribution, Truth)> {
    let (Drawn { spec, items }, record) = measured(number);
    let busy: Vec<bool> = (0..spec.sources.len()).map(|source| cores_busy(&record, source) >= CORES_BUSY).collect();
    let effects = elasticities(&spec, &items, &busy).unwrap();
    let drawn = RecordedPipeline { spec, items };
    let truth = effects.of.into_iter().zip(effects.base_ns).enumerate().map(|(source, (of, base_ns))| {
        let by_effect: Vec<_> = of.into_iter().map(|of| (of.lever, of.elasticity)).collect();
        let can_give = |(place, of): (usize, &(Lever, f64))| {
            (place < EFFECTS || matches!(of.0, Lever::Workers(_))).then_some(of.0)
        };
        let gives = |lever: Lever| {
            let gain = drawn.gain_of_twice(&record, lever, source, base_ns).unwrap();
            gain.map(|gain| (lever, gain.log2()))
        };
        let by_setting: Vec<_> = by_effect.iter().enumerate().filter_map(can_give).filter_map(gives).collect();
        Truth::new(by_effect, &by_setting)
    });
    attribute(&record).unwrap().into_iter().zip(truth).collect()
}

#[derive(Default, Debug)]
struct Count {
    sources: u64,
    decided: u64,
    right: u64,
    confident: u64,
    wrong: u64,
    by_lever: BTreeMap<String, (u64, u64)>,
}

fn count(numbers: impl Iterator<Item = u64>) -> Count {
    let mut all = Count::default();
    for number in numbers {
        for (place, (named, truth)) in examined(number).into_iter().enumerate() {
            all.sources += 1;
            let leader = match &named.bound {
                Bound::By(lever) => Some(*lever),
                Bound::Shared(levers) => levers.first().copied(),
                Bound::Failed | Bound::CannotTell(_) => None,
            };
            let is_confident = matches!(named.bound, Bound::By(_));
            all.confident += u64::from(is_confident);
            let Truth { by_effect, clear } = truth;
            if is_confident && leader != Some(by_effect[0].0) {
                all.wrong += 1;
                println!("wrong: pipeline {number}, source {place}: {:?}, truth {:?}", named.bound, &by_effect[..2]);
            }
            if let Some(clear) = clear {
                all.decided += 1;
                let is_right = leader == Some(clear);
                all.right += u64::from(is_right);
                let kind = format!("{clear:?}");
                let of = all.by_lever.entry(kind.split('(').next().unwrap_or_default().to_owned()).or_default();
                of.0 += 1;
                of.1 += u64::from(is_right);
                if !is_right {
                    println!(
                        "missed: pipeline {number}, source {place}: {:?}, truth {clear:?} {:?}, clocks {:?}, replay {:?} {:.3}",
                        named.bound,
                        &by_effect[..2],
                        named.evidence.by_clocks.first(),
                        named.evidence.by_replay.first(),
                        named.evidence.replay_error
                    );
                }
            }
        }
    }
    all
}

impl Count {
    fn add(&mut self, other: Self) {
        self.sources += other.sources;
        self.decided += other.decided;
        self.right += other.right;
        self.confident += other.confident;
        self.wrong += other.wrong;
        for (lever, (decided, right)) in other.by_lever {
            let of = self.by_lever.entry(lever).or_default();
            (of.0, of.1) = (of.0 + decided, of.1 + right);
        }
    }
}

#[test]
fn what_is_named_first_gives_most() {
    let (seed, pipelines) = (seed(), if is_long() { ALL } else { RULED });
    let first = Random::new(seed).below(1 << 40);
    println!("{pipelines} of {ALL} pipelines from {first}, LOADLINE_TEST_SEED={seed}; all with LOADLINE_TEST_LONG=1");
    let broken_of = |number: u64| {
        let (_, record) = measured(number);
        let named = attribute(&record).unwrap();
        (number, crawl_violations(&record, &named).unwrap())
    };
    let broken: Vec<_> = (first..first + pipelines).map(broken_of).filter(|(_, found)| !found.is_empty()).collect();
    assert!(broken.is_empty(), "{} of {pipelines}: {:#?}", broken.len(), &broken[..broken.len().min(12)]);
}

#[test]
fn parts_that_bind_are_named() {
    let (seed, pipelines) = (seed(), if is_long() { ALL } else { SAMPLED });
    let first = Random::new(seed).below(1 << 40);
    println!("{pipelines} of {ALL} pipelines from {first}, LOADLINE_TEST_SEED={seed}; all with LOADLINE_TEST_LONG=1");
    let mut counted = Count::default();
    std::thread::scope(|scope| {
        let part = |part: u64| scope.spawn(move || count((first + part..first + pipelines).step_by(PARTS as usize)));
        let parts: Vec<_> = (0..PARTS).map(part).collect();
        for part in parts {
            counted.add(part.join().unwrap());
        }
    });
    println!("{counted:?}");
    assert!(counted.decided > pipelines / 2, "few pipelines have an answer: {counted:?}");
    assert!(counted.decided - counted.right <= allowed(counted.decided, 0.01), "missed too often: {counted:?}");
    assert!(counted.wrong <= allowed(counted.sources, 0.005), "confident and wrong too often: {counted:?}");
}
