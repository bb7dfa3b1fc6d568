//! Disks of every family of the catalog, measured in the model and fitted: what the fitted disk makes of the loads that it was
//! fitted to, and of loads that it has not seen. `LOADLINE_TEST_SEED` measures and predicts with other draws, and
//! `LOADLINE_TEST_FAMILY` is a part of the names of the families to fit.

use loadline_block::Operation;
use loadline_catalog::Catalog;
use loadline_record::{CellRecord, Histogram};
use loadline_tests::measured::measure;
use std::collections::{BTreeMap, BTreeSet};

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

fn iops(cell: &CellRecord) -> f64 {
    cell.trials[0].iops().unwrap()
}

/// Over reads and writes.
fn p99(cell: &CellRecord) -> f64 {
    quantile(cell, &[Operation::Read, Operation::Write], 0.99)
}

/// Over these operations, ns.
fn quantile(cell: &CellRecord, operations: &[Operation], share: f64) -> f64 {
    let mut all = Histogram::new();
    for record in operations.iter().filter_map(|operation| cell.trials[0].of(*operation)) {
        all.merge(&record.latency);
    }
    all.quantile(share).unwrap().as_ns() as f64
}

/// The seed of a measurement, one for each `number`.
fn seed(number: u64) -> u64 {
    let asked =
        std::env::var("LOADLINE_TEST_SEED").map_or(0, |text| text.parse().expect("LOADLINE_TEST_SEED is a number"));
    number + (asked << 16)
}

/// How far a cell's rate and 99th percentile are from those of another.
fn off(wanted: &CellRecord, got: &CellRecord) -> (f64, f64) {
    (iops(got) / iops(wanted) - 1.0, p99(got) / p99(wanted) - 1.0)
}

/// How many cells of a plan come out within both tolerances, of how many. Of those that do not, what the disk that was measured
/// makes of the load with the fitted one's draws is printed as well.
fn within(
    measured: &[CellRecord],
    [fitted, again]: [&[CellRecord]; 2],
    tolerances: (f64, f64),
    name: &str,
) -> (u32, u32) {
    let is_near = |(rate, tail): (f64, f64)| rate.abs() <= tolerances.0 && tail.abs() <= tolerances.1;
    let mut good = 0;
    for ((wanted, got), itself) in measured.iter().zip(fitted).zip(again) {
        let (by, own) = (off(wanted, got), off(wanted, itself));
        good += u32::from(is_near(by));
        if !is_near(by) || !is_near(own) {
            println!(
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
    }
    (good, u32::try_from(measured.len()).unwrap())
}

/// One disk of each family: the first of it that can be had in a common size.
fn disks() -> Vec<(String, String)> {
    let catalog = Catalog::builtin();
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    for entry in catalog.disks() {
        let family = catalog.disk_family(entry);
        let key = format!("{}/{}", family.provider, family.name);
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
            if loadline_catalog::Environment::parse(&text, "sold", &catalog).is_ok() {
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
    let asked = std::env::var("LOADLINE_TEST_FAMILY").unwrap_or_default();
    families.into_iter().filter(|(family, _)| family.contains(&asked)).collect()
}

/// Fits to `plan` on each disk; loads that came out well and all, of those that were seen and of others.
fn outcome(plan: &str) -> [(u32, u32); 2] {
    let (mut seen, mut unseen) = ((0, 0), (0, 0));
    for (family, environment) in disks() {
        let measured = measure(&environment, plan, seed(1));
        let fitted =
            loadline_fitting::fit(&measured.record, "fitted").unwrap_or_else(|error| panic!("{family}: {error}"));
        let cells = |environment: &str, plan: &str, number: u64| measure(environment, plan, seed(number)).record.cells;
        let on_both = |plan: &str, number: u64| [&fitted.text, &environment].map(|on| cells(on, plan, number));
        let [again, itself] = on_both(plan, 2);
        let (good, all) = within(&measured.record.cells, [&again, &itself], (0.03, 0.15), &family);
        let [on_fitted, itself] = on_both(UNSEEN, 4);
        let others = cells(&environment, UNSEEN, 3);
        let (good_unseen, all_unseen) =
            within(&others, [&on_fitted, &itself], (0.08, 0.25), &format!("{family} (unseen)"));
        println!("{family}: {good} of {all} seen, {good_unseen} of {all_unseen} unseen");
        if good < all || good_unseen < all_unseen {
            println!("{}", fitted.text);
        }
        seen = (seen.0 + good, seen.1 + all);
        unseen = (unseen.0 + good_unseen, unseen.1 + all_unseen);
    }
    println!("{} of {} loads that were measured, {} of {} that were not", seen.0, seen.1, unseen.0, unseen.1);
    [seen, unseen]
}

#[track_caller]
fn at_least(percent: u32, (good, all): (u32, u32)) {
    assert!(good * 100 >= all * percent, "{good} of {all}");
}

#[test]
fn fitted_disks_do_what_was_measured_and_nearly_so_what_was_not() {
    let [seen, unseen] = outcome(SEEN);
    at_least(99, seen);
    at_least(99, unseen);
}

#[test]
fn a_mix_in_the_plan_tells_shared_budgets_from_budgets_apart() {
    let [seen, unseen] = outcome(&SEEN.replace("\"0 %\"]", "\"0 %\", \"50 %\"]"));
    at_least(98, seen);
    at_least(99, unseen);
}

/// How the loads of `seen` and of `unseen` come out on the disk fitted to `seen`.
fn on_fitted(environment: &str, seen: &str, unseen: &str) -> [(u32, u32); 2] {
    let cells = |environment: &str, plan: &str, number: u64| measure(environment, plan, seed(number)).record.cells;
    let measured = measure(environment, seen, seed(1)).record;
    let fitted = loadline_fitting::fit(&measured, "fitted").unwrap().text;
    println!("{fitted}");
    let on_both = |plan: &str, number: u64| [&fitted[..], environment].map(|on| cells(on, plan, number));
    let ([again, itself], [on_fitted, itself_unseen]) = (on_both(seen, 2), on_both(unseen, 4));
    [
        within(&measured.cells, [&again, &itself], (0.03, 0.15), "seen"),
        within(&cells(environment, unseen, 3), [&on_fitted, &itself_unseen], (0.08, 0.25), "unseen"),
    ]
}

#[test]
fn a_disk_that_spins_is_fitted_as_one() {
    for (revolutions, seek_min, seek_max, transfer) in [(7_200, 1, 16, 150), (5_400, 2, 24, 100)] {
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
    let fitted = loadline_fitting::fit(&measured, "fitted").unwrap().text;
    println!("{fitted}");
    assert!(fitted.contains("parallelism = { requests = 1 }"), "{fitted}");
    for (plan, tolerance) in [(seen, 0.15), (plan("\"70 %\"", "4, 16"), 0.25)] {
        let (wanted, got) = (measure(environment, &plan, 3).record, measure(&fitted, &plan, 4).record);
        let mixes = wanted.cells.iter().zip(&got.cells).filter(|(cell, _)| (0.5..1.0).contains(&cell.load.read_ratio));
        for (wanted, got) in mixes {
            for (operation, share) in
                [Operation::Read, Operation::Write].into_iter().flat_map(|o| [(o, 0.5), (o, 0.99)])
            {
                let [wanted_ns, got_ns] = [wanted, got].map(|cell| quantile(cell, &[operation], share));
                let off = got_ns / wanted_ns - 1.0;
                assert!(off.abs() <= tolerance, "{}: {operation:?} {share}: {got_ns} for {wanted_ns} ns", wanted.label);
            }
        }
    }
}
