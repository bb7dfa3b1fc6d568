//! The replay against ciw, a simulator of queueing networks in Python that others wrote.
//!
//! Three stations in a row with several workers, finite queues and blocking after service, as ciw's Type I. Both draw their own
//! times; the mean time in the line agrees within four standard errors over independent replays.

use crate::made_up::{Random, station, waits, wide_open};
use crate::sampling::is_long;
use loadline_pipeline::{Keep, PipelineItem, Release, replay};
use loadline_record::PipelineSpec;

const VERSION: &str = "3.2.7";
const REPLAYS: u64 = 16;
const ITEMS: usize = 6_000;

/// Workers and places of extract, index and database; mean times in ms; whether they are uniform instead of exponential.
struct Case {
    workers: [u32; 3],
    places: [u32; 3],
    means_ms: [f64; 3],
    between_ms: f64,
    is_uniform: bool,
}

const CASES: [Case; 3] = [
    Case {
        workers: [2, 1, 2],
        places: [1_000_000, 3, 2],
        means_ms: [12.0, 5.0, 11.0],
        between_ms: 8.5,
        is_uniform: false,
    },
    Case {
        workers: [1, 3, 1],
        places: [1_000_000, 1, 1],
        means_ms: [4.0, 14.0, 4.5],
        between_ms: 8.0,
        is_uniform: false,
    },
    Case {
        workers: [2, 2, 1],
        places: [1_000_000, 2, 4],
        means_ms: [9.0, 8.0, 5.0],
        between_ms: 6.5,
        is_uniform: true,
    },
];

const SCRIPT: &str = r#"
import sys, ciw
assert ciw.__version__ == sys.argv[1], ciw.__version__
items, replays, between, uniform = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5] == "uniform"
workers, places, means = [[float(x) for x in text.split(",")] for text in sys.argv[6:9]]
service = [ciw.dists.Uniform(0, 2 * m) if uniform else ciw.dists.Exponential(1 / m) for m in means]
network = ciw.create_network(
    arrival_distributions=[ciw.dists.Exponential(1 / between), None, None],
    service_distributions=service,
    number_of_servers=[int(w) for w in workers],
    queue_capacities=[float("inf"), int(places[1]), int(places[2])],
    routing=[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
)
for seed in range(replays):
    ciw.seed(seed)
    run = ciw.Simulation(network)
    run.simulate_until_max_customers(items + 500, method="Finish")
    came, left = {}, {}
    for record in run.get_all_records():
        if record.id_number <= items:
            if record.node == 1:
                came[record.id_number] = record.arrival_date
            if record.node == 3:
                left[record.id_number] = record.exit_date
    spans = [left[who] - came[who] for who in left if who in came]
    print(sum(spans) / len(spans))
"#;

fn ours(case: &Case, seed: u64) -> f64 {
    let [extract, index, database] = [0, 1, 2].map(|place| station(case.workers[place], case.places[place]));
    let spec = PipelineSpec { extract, index, database, ..wide_open(1_000_000) };
    let mut random = Random::new(seed);
    let mut at = 0;
    let stream: Vec<PipelineItem> = (0..ITEMS)
        .map(|_| {
            at += random.exponential(case.between_ms * 1e6);
            let mut draw = |mean_ms: f64| {
                let mean_ns = mean_ms * 1e6;
                if case.is_uniform { (random.unit() * 2.0 * mean_ns) as u64 } else { random.exponential(mean_ns) }
            };
            let work = case.means_ms.map(|mean| waits(draw(mean)));
            PipelineItem { release: Release::At(at), work, ..PipelineItem::default() }
        })
        .collect();
    let inside: u128 = replay(&spec, &stream, None, Keep::default()).unwrap().inside_item_ns.iter().sum();
    inside as f64 / ITEMS as f64 / 1e6
}

#[expect(clippy::disallowed_methods, reason = "the test runs another tool beside ours")]
fn theirs(case: &Case) -> Result<Vec<f64>, String> {
    let list = |figures: &[String]| figures.join(",");
    let output = std::process::Command::new("python3")
        .args(["-c", SCRIPT, VERSION, &ITEMS.to_string(), &REPLAYS.to_string(), &case.between_ms.to_string()])
        .arg(if case.is_uniform { "uniform" } else { "exponential" })
        .arg(list(&case.workers.map(|of| of.to_string())))
        .arg(list(&case.places.map(|of| of.to_string())))
        .arg(list(&case.means_ms.map(|of| of.to_string())))
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned());
    }
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().map_err(|_| line.to_owned())).collect()
}

fn mean_and_variance(figures: &[f64]) -> (f64, f64) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n;
    (mean, figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
}

#[test]
fn blocking_lines_agree_with_ciw() {
    if !is_long() {
        println!("tried with LOADLINE_TEST_LONG=1 alone");
        return;
    }
    for (number, case) in CASES.iter().enumerate() {
        let theirs = match theirs(case) {
            Ok(theirs) => theirs,
            Err(reason) => {
                println!("skipped: agreement with ciw (python3 -m pip install ciw=={VERSION}: {reason})");
                return;
            }
        };
        let ours: Vec<f64> = (0..REPLAYS).map(|seed| ours(case, seed)).collect();
        let ((our_mean, our_error), (their_mean, their_error)) = (mean_and_variance(&ours), mean_and_variance(&theirs));
        let error = 4.0 * (our_error + their_error).sqrt();
        println!("case {number}: ours {our_mean:.2} ms, ciw {their_mean:.2} ms, allowed {error:.2} ms");
        assert!((our_mean - their_mean).abs() <= error, "case {number}: {our_mean} and {their_mean} ms");
        assert!(error < 0.1 * their_mean, "case {number}: {error} of {their_mean} ms shows nothing");
    }
}
