//! Disks of every family of the catalog, measured in the model and fitted: what the fitted disk makes of the loads that it was
//! fitted to, and of loads that it has not seen.
//!
//! The gate tries some families, drawn by `LOADLINE_TEST_SEED`, and all with `LOADLINE_TEST_LONG`. `LOADLINE_TEST_FAMILY` is a
//! part of the names of the families to fit, and `LOADLINE_TEST_DRAWS` measures and predicts with other draws.

use loadline_block::Operation;
use loadline_catalog::{Catalog, Draw, Environment};
use loadline_disk::{Directions, Place};
use loadline_record::{CellRecord, Histogram, TrialRecord};
use loadline_report::words::fit::fitted_environment;
use loadline_tests::measured::{draws, measure};
use loadline_tests::sample;
use loadline_units::Iops;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Mutex;

const SEEN: &str = r#"
schema = 1
name = "seen"
[[load]]
pattern = "random"
reads = ["100 %", "0 %"]
block = ["4 KiB", "32 KiB", "256 KiB"]
queue_depth = [1, 8, 64]
size = "4 GiB"
warm_up = "3 s"
duration = "8 s"
trials = 1
"#;
const UNSEEN: &str = r#"
schema = 1
name = "unseen"
[[load]]
pattern = "random"
reads = ["100 %", "0 %", "70 %"]
block = ["8 KiB", "128 KiB"]
queue_depth = [4, 32]
size = "4 GiB"
warm_up = "3 s"
duration = "8 s"
trials = 1
"#;

/// Appends a line.
macro_rules! tell {
    ($told:expr, $($words:tt)*) => { writeln!($told, $($words)*).expect("a string takes all") };
}

/// Families that a gate tries.
const FAMILIES: usize = 3;

/// A disk of so many IOPS is fast.
const FAST: Iops = Iops::per_second(50_000).expect("more than none");

/// Draws of a load that tell what it is on average.
const DRAWS: u64 = 16;

fn iops(cell: &CellRecord) -> f64 {
    cell.trials[0].iops().unwrap()
}

/// Over reads and writes.
fn p99(cell: &CellRecord) -> f64 {
    quantile(&cell.trials[0], &[Operation::Read, Operation::Write], 0.99)
}

/// Over these operations, ns.
fn quantile(trial: &TrialRecord, operations: &[Operation], share: f64) -> f64 {
    let mut all = Histogram::new();
    for record in operations.iter().filter_map(|operation| trial.of(*operation)) {
        all.merge(&record.latency);
    }
    all.quantile(share).unwrap().as_ns() as f64
}

/// The seed of a measurement, one for each `number`. It is the same in every gate: what comes of a family changes with the code
/// alone, and no gate fails by chance.
fn seed(number: u64) -> u64 {
    let asked =
        std::env::var("LOADLINE_TEST_DRAWS").map_or(0, |text| text.parse().expect("LOADLINE_TEST_DRAWS is a number"));
    number + (asked << 16)
}

/// How far a cell's rate and 99th percentile are from those of another.
fn off(wanted: &CellRecord, got: &CellRecord) -> (f64, f64) {
    (iops(got) / iops(wanted) - 1.0, p99(got) / p99(wanted) - 1.0)
}

/// A rate and a 99th percentile: the means of so many draws of a load.
fn expected(environment: &str, cell: &CellRecord) -> (f64, f64) {
    let seeds = (0..DRAWS).map(|number| seed(100 + number));
    let trials = draws(environment, cell, seeds);
    let mean = |of: &dyn Fn(&TrialRecord) -> f64| trials.iter().map(of).sum::<f64>() / DRAWS as f64;
    (mean(&|trial| trial.iops().unwrap()), mean(&|trial| quantile(trial, &[Operation::Read, Operation::Write], 0.99)))
}

/// How many cells of a plan come out within both tolerances, of how many. Of those that do not, two more figures are printed where families
/// are asked for or all are tried: what the measured disk makes of the load with the fitted one's draws, and how far the measured load and
/// the fitted disk are from what the disk makes of it on average. A miss is the measurement's where only that is further off than the
/// tolerances.
fn within(
    measured: &[CellRecord],
    [fitted, again]: [&[CellRecord]; 2],
    disks: [&str; 2],
    tolerances: (f64, f64),
    name: &str,
    told: &mut String,
) -> (u32, u32) {
    let is_near = |(rate, tail): (f64, f64)| rate.abs() <= tolerances.0 && tail.abs() <= tolerances.1;
    let mut good = 0;
    for ((wanted, got), itself) in measured.iter().zip(fitted).zip(again) {
        let (by, own) = (off(wanted, got), off(wanted, itself));
        good += u32::from(is_near(by));
        if !is_near(by) || !is_near(own) {
            tell!(
                told,
                "{} {name}, {}: {:.0} IOPS {:+.1} %, p99 {:.2} ms {:+.1} %; the disk itself {:+.1} %, {:+.1} %{}",
                if is_near(by) { "near" } else { "MISS" },
                wanted.label,
                iops(wanted),
                by.0 * 100.0,
                p99(wanted) / 1e6,
                by.1 * 100.0,
                own.0 * 100.0,
                own.1 * 100.0,
                if is_near(own) { "" } else { " (NOISE)" }
            );
        }
        // Thirty times the work of what missed: for those who look into it.
        if !is_near(by) && (sample::is_long() || asked_families().is_some()) {
            let [of_fitted, of_disk] = disks.map(|environment| expected(environment, wanted));
            let beyond = |(rate, tail): (f64, f64)| (rate / of_disk.0 - 1.0, tail / of_disk.1 - 1.0);
            let (measured, bias) = (beyond((iops(wanted), p99(wanted))), beyond(of_fitted));
            tell!(
                told,
                "  beside the mean of {DRAWS} draws of the disk: measured {:+.1} %, {:+.1} %; fitted, its mean {:+.1} %, {:+.1} %{}",
                measured.0 * 100.0,
                measured.1 * 100.0,
                bias.0 * 100.0,
                bias.1 * 100.0,
                if is_near(bias) { " (CHANCE)" } else { " (FIT)" }
            );
        }
    }
    (good, u32::try_from(measured.len()).unwrap())
}

/// A part of the names of the families to fit.
fn asked_families() -> Option<String> {
    std::env::var("LOADLINE_TEST_FAMILY").ok()
}

/// One disk of each family, the first of it that can be had in a common size. Of families of local disks that work alike, as those of
/// many machines do but for their figures, only the last is given, unless the user asks for families by name.
fn disks() -> Vec<(String, String)> {
    let catalog = Catalog::builtin();
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    let mut ways: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in catalog.disks() {
        let family = catalog.disk_family(entry);
        let key = format!("{}/{}", family.provider, family.name);
        let way = match family.mechanism.place {
            Place::Local => format!("{:?} {:?}", family.mechanism, family.latency),
            Place::Network => key.clone(),
        };
        ways.entry(way).or_default().insert(key.clone());
        for provisioned in [
            "",
            ", size = \"500 GiB\"",
            ", size = \"500 GiB\", iops = \"3000 IOPS\"",
            ", size = \"500 GiB\", iops = \"3000 IOPS\", throughput = \"125 MB/s\"",
            ", size = \"2 TiB\", throughput = \"500 MiB/s\"",
        ] {
            let text = format!(
                "schema = 1\nname = \"sold\"\n[volume.data]\ndisks = [{{ sku = \"{}\"{provisioned} }}]\n",
                entry.name
            );
            if Environment::parse(&text, "sold", &catalog).is_ok() {
                families.entry(key.clone()).or_insert(text);
                break;
            }
        }
    }
    let all: BTreeSet<String> = catalog
        .disks()
        .iter()
        .map(|entry| catalog.disk_family(entry))
        .map(|family| format!("{}/{}", family.provider, family.name))
        .collect();
    let had: BTreeSet<String> = families.keys().cloned().collect();
    assert_eq!(had, all, "a family has no disk of a size that is tried");
    if let Some(asked) = asked_families() {
        return families.into_iter().filter(|(family, _)| family.contains(&asked)).collect();
    }
    let lasts: BTreeSet<&String> = ways.values().filter_map(BTreeSet::last).collect();
    let families = families.into_iter().filter(|(family, _)| lasts.contains(family)).collect();
    sample::some("families of disks", families, FAMILIES)
}

/// Fits to `plan` on each disk, as many at once as there are processors; loads that came out well and all, of those that were seen and
/// of others.
fn outcome(plan: &str) -> [(u32, u32); 2] {
    let disks = Mutex::new(disks().into_iter());
    let total = Mutex::new([(0, 0), (0, 0)]);
    let one_after_the_other = || {
        loop {
            let next = disks.lock().unwrap().next();
            let Some((family, environment)) = next else { break };
            let mut told = String::new();
            let outcome = outcome_of(&family, &environment, plan, &mut told);
            print!("{told}");
            for (sum, (good, all)) in total.lock().unwrap().iter_mut().zip(outcome) {
                *sum = (sum.0 + good, sum.1 + all);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(one_after_the_other);
        }
    });
    let [seen, unseen] = total.into_inner().unwrap();
    println!("{} of {} loads that were measured, {} of {} that were not", seen.0, seen.1, unseen.0, unseen.1);
    [seen, unseen]
}

/// Whether a disk answers so many requests that a fourth of the time gives as much to fit to.
fn is_fast(environment: &str) -> bool {
    let environment = Environment::parse(environment, "sold", &Catalog::builtin()).unwrap();
    let limit = environment.spec(&Draw::PUBLISHED).volumes[0].disks[0].limit.iops;
    match limit {
        Some(Directions::Together(both)) => both.rate >= FAST,
        Some(Directions::Apart { read, .. }) => read.is_none_or(|read| read.rate >= FAST),
        Some(Directions::Traded { read, .. }) => read.rate >= FAST,
        None => true,
    }
}

/// As [`outcome`], on one disk.
fn outcome_of(family: &str, environment: &str, plan: &str, told: &mut String) -> [(u32, u32); 2] {
    let shorter = |plan: &str| {
        if is_fast(environment) && !sample::is_long() {
            plan.replace("\"3 s\"", "\"1 s\"").replace("\"8 s\"", "\"2 s\"")
        } else {
            plan.to_owned()
        }
    };
    let (plan, unseen) = (&*shorter(plan), &*shorter(UNSEEN));
    let measured = measure(environment, plan, seed(1));
    let fitted = loadline_fitting::fit(&measured.record, "fitted").unwrap_or_else(|error| panic!("{family}: {error}"));
    let cells = |environment: &str, plan: &str, number: u64| measure(environment, plan, seed(number)).record.cells;
    let text = fitted_environment(&fitted);
    let disks = [&text[..], environment];
    let on_both = |plan: &str, number: u64| disks.map(|on| cells(on, plan, number));
    let [again, itself] = on_both(plan, 2);
    let seen = within(&measured.record.cells, [&again, &itself], disks, (0.03, 0.15), family, told);
    let [on_fitted, itself] = on_both(unseen, 4);
    let others = cells(environment, unseen, 3);
    let name = format!("{family} (unseen)");
    let unseen = within(&others, [&on_fitted, &itself], disks, (0.08, 0.25), &name, told);
    tell!(told, "{family}: {} of {} seen, {} of {} unseen", seen.0, seen.1, unseen.0, unseen.1);
    if seen.0 < seen.1 || unseen.0 < unseen.1 {
        tell!(told, "{text}");
    }
    [seen, unseen]
}

/// Of all families one load of a hundred may be missed. A sample may hold the three families that have misses: 6 of 81 loads
/// that were seen, and none that were not. The draws are the same each time, so that chance adds none.
#[track_caller]
fn nearly_all([seen, unseen]: [(u32, u32); 2]) {
    if sample::is_long() {
        at_least(99, seen);
        at_least(99, unseen);
    } else {
        at_least(92, seen);
        at_least(97, unseen);
    }
}

#[track_caller]
fn at_least(percent: u32, (good, all): (u32, u32)) {
    assert!(good * 100 >= all * percent, "{good} of {all}");
}

#[test]
fn fitted_disks_do_what_was_measured_and_nearly_so_what_was_not() {
    nearly_all(outcome(SEEN));
}

#[test]
fn a_mix_in_the_plan_tells_shared_budgets_from_budgets_apart() {
    nearly_all(outcome(&SEEN.replace("\"0 %\"]", "\"0 %\", \"50 %\"]")));
}

/// How the loads of `seen` and of `unseen` come out on the disk fitted to `seen`.
fn on_fitted(environment: &str, seen: &str, unseen: &str) -> [(u32, u32); 2] {
    let cells = |environment: &str, plan: &str, number: u64| measure(environment, plan, seed(number)).record.cells;
    let measured = measure(environment, seen, seed(1)).record;
    let fitted = fitted_environment(&loadline_fitting::fit(&measured, "fitted").unwrap());
    println!("{fitted}");
    let on_both = |plan: &str, number: u64| [&fitted[..], environment].map(|on| cells(on, plan, number));
    let ([again, itself], [on_fitted, itself_unseen]) = (on_both(seen, 2), on_both(unseen, 4));
    let disks = [&fitted[..], environment];
    let (mut told, others) = (String::new(), cells(environment, unseen, 3));
    let outcome = [
        within(&measured.cells, [&again, &itself], disks, (0.03, 0.15), "seen", &mut told),
        within(&others, [&on_fitted, &itself_unseen], disks, (0.08, 0.25), "unseen", &mut told),
    ];
    print!("{told}");
    outcome
}

#[test]
fn a_disk_that_spins_is_fitted_as_one() {
    let disks = vec![(7_200, 1, 16, 150), (5_400, 2, 24, 100)];
    for (revolutions, seek_min, seek_max, transfer) in sample::some("spinning disks", disks, 1) {
        let spinning = format!(
            "schema = 1\nname = \"spins\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"1 TiB\"\n[volume.data.disks.spinning]\n\
             revolutions_per_minute = {revolutions}\nseek_min = \"{seek_min} ms\"\nseek_max = \"{seek_max} ms\"\n\
             transfer = \"{transfer} MB/s\"\nqueue_depth = 32\n"
        );
        let plan = |blocks: &str, depths: &str| {
            format!(
                "schema = 1\nname = \"heads\"\n[[load]]\npattern = [\"random\", \"sequential\"]\nreads = [\"100 %\", \"0 %\"]\n\
                 block = [{blocks}]\nqueue_depth = [{depths}]\nsize = \"50 GiB\"\nwarm_up = \"1 s\"\nduration = \"30 s\"\ntrials = 1\n"
            )
        };
        let [seen, unseen] =
            on_fitted(&spinning, &plan("\"4 KiB\", \"1 MiB\"", "1, 32"), &plan("\"16 KiB\", \"256 KiB\"", "4, 16"));
        println!("{revolutions} turns a minute: {seen:?}, {unseen:?}");
        at_least(90, seen);
        at_least(90, unseen);
    }
}

#[test]
fn a_burst_is_fitted_by_the_loads_that_it_held_back() {
    let environment = "schema = 1\nname = \"bursts\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"1 TiB\"\n\
                       [volume.data.disks.limit]\niops = \"500 IOPS\"\nburst = { iops = \"3000 IOPS\" }\nburst_span = \"30 s\"\n\
                       [volume.data.disks.latency.read]\nmedian = \"500 us\"\np99 = \"1 ms\"\n";
    let plan = |depths: &str, duration: &str| {
        format!(
            "schema = 1\nname = \"bursts\"\n[[load]]\npattern = \"random\"\nblock = [\"4 KiB\", \"16 KiB\"]\nqueue_depth = [{depths}]\n\
             size = \"50 GiB\"\nwarm_up = \"0 s\"\nduration = \"{duration}\"\ntrials = 1\n"
        )
    };
    let [seen, unseen] = on_fitted(environment, &plan("1, 16, 64", "60 s"), &plan("8, 32", "20 s"));
    at_least(100, seen);
    at_least(100, unseen);
}

/// As a loop device that the kernel throttles: what a window lets through at once is served one after the other.
#[test]
fn what_a_window_lets_through_waits_for_one_another_on_the_fitted_disk_too() {
    let environment = "schema = 1\nname = \"throttled\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"1 GiB\"\n\
                       parallelism = { requests = 1 }\n[volume.data.disks.limit]\niops = { read = \"800 IOPS\", write = \"500 IOPS\" }\n\
                       enforcement = { window = \"100 ms\" }\n[volume.data.disks.latency.read]\nmedian = \"6 us\"\np99 = \"20 us\"\n\
                       [volume.data.disks.latency.write]\nmedian = \"8 us\"\np99 = \"30 us\"\n";
    let plan = |reads: &str, depths: &str| {
        format!(
            "schema = 1\nname = \"mixed\"\n[[load]]\npattern = \"random\"\nreads = [{reads}]\nblock = [\"4 KiB\", \"16 KiB\"]\n\
             queue_depth = [{depths}]\nsize = \"48 MiB\"\nwarm_up = \"1 s\"\nduration = \"10 s\"\ntrials = 1\n"
        )
    };
    let seen = plan("\"100 %\", \"0 %\", \"80 %\"", "1, 8, 32");
    let measured = measure(environment, &seen, 1).record;
    let fitted = fitted_environment(&loadline_fitting::fit(&measured, "fitted").unwrap());
    println!("{fitted}");
    assert!(fitted.contains("parallelism = { requests = 1 }"), "{fitted}");
    for (plan, tolerance) in [(seen, 0.15), (plan("\"70 %\"", "4, 16"), 0.25)] {
        let (wanted, got) = (measure(environment, &plan, 3).record, measure(&fitted, &plan, 4).record);
        let mixes = wanted
            .cells
            .iter()
            .zip(&got.cells)
            .filter(|(cell, _)| (0.5..1.0).contains(&cell.load.figures().read_ratio));
        for (wanted, got) in mixes {
            for (operation, share) in
                [Operation::Read, Operation::Write].into_iter().flat_map(|o| [(o, 0.5), (o, 0.99)])
            {
                let [wanted_ns, got_ns] = [wanted, got].map(|cell| quantile(&cell.trials[0], &[operation], share));
                let off = got_ns / wanted_ns - 1.0;
                assert!(off.abs() <= tolerance, "{}: {operation:?} {share}: {got_ns} for {wanted_ns} ns", wanted.label);
            }
        }
    }
}

/// A bucket of a few requests tells of itself only where loads take turns at two limits: while reads go, what writes may spend is
/// saved up.
#[test]
fn a_bucket_of_a_few_requests_is_told_by_mixes() {
    let environment = "schema = 1\nname = \"saves\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"300 GiB\"\n\
                       [volume.data.disks.limit]\nthroughput = { read = \"100 MB/s\", write = \"70 MB/s\" }\n\
                       enforcement = { bucket = \"5 ms\" }\n[volume.data.disks.latency.read]\nmedian = \"600 us\"\np99 = \"960 us\"\n\
                       per_kib = \"4 us\"\n[volume.data.disks.latency.write]\nmedian = \"400 us\"\np99 = \"640 us\"\nper_kib = \"4 us\"\n";
    let plan = |reads: &str, blocks: &str, depths: &str| {
        format!(
            "schema = 1\nname = \"turns\"\n[[load]]\npattern = \"random\"\nreads = [{reads}]\nblock = [{blocks}]\n\
             queue_depth = [{depths}]\nsize = \"4 GiB\"\nwarm_up = \"1 s\"\nduration = \"8 s\"\ntrials = 1\n"
        )
    };
    let [seen, unseen] = on_fitted(
        environment,
        &plan("\"100 %\", \"0 %\", \"50 %\"", "\"4 KiB\", \"32 KiB\", \"256 KiB\"", "1, 4"),
        &plan("\"100 %\", \"0 %\", \"70 %\"", "\"128 KiB\"", "2, 4"),
    );
    at_least(100, seen);
    at_least(100, unseen);
}

/// Where each direction by itself waits at a limit, however few are outstanding, mixes tell what requests take: little by little,
/// since what they tell of reads depends on what is taken for writes.
#[test]
fn what_each_direction_takes_is_told_by_mixes_alone() {
    let environment = "schema = 1\nname = \"waits\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"500 GiB\"\n\
                       [volume.data.disks.limit]\niops = \"100 IOPS\"\nenforcement = { bucket = \"1 s\" }\n\
                       [volume.data.disks.latency.read]\nmedian = \"8 ms\"\np99 = \"17600 us\"\nper_kib = \"5 us\"\n\
                       [volume.data.disks.latency.write]\nmedian = \"3 ms\"\np99 = \"6600 us\"\nper_kib = \"5 us\"\n";
    let plan = SEEN.replace("\"0 %\"]", "\"0 %\", \"50 %\"]");
    let measured = measure(environment, &plan, 1 + (1 << 16)).record;
    let fitted = fitted_environment(&loadline_fitting::fit(&measured, "fitted").unwrap());
    println!("{fitted}");
    let single = |cell: &&CellRecord| {
        let load = cell.load.figures();
        load.queue_depth == Some(1) && (0.1..0.9).contains(&load.read_ratio)
    };
    for cell in measured.cells.iter().filter(single) {
        for operation in [Operation::Read, Operation::Write] {
            let [wanted, got] = [environment, &fitted].map(|environment| {
                let trials = draws(environment, cell, 0..DRAWS);
                trials.iter().map(|trial| quantile(trial, &[operation], 0.5)).sum::<f64>()
            });
            assert!(
                (got / wanted - 1.0).abs() <= 0.1,
                "{}: {operation:?} {:+.1} %",
                cell.label,
                (got / wanted - 1.0) * 100.0
            );
        }
    }
}
