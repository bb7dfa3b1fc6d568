//! Predictions as another program gets them: their figures, what binds, and that they say the same twice.

use crate::compare;
use crate::support::inputs::{SWEEP, TWO};
use crate::support::{
    Bench, Course as Steps, built_in, cells, complete, environment, findings, plan, refusal, schema_errors, summary,
    trial_count,
};
use loadline_analysis::{known_limits, summarize};
use loadline_catalog::{Catalog, Environment};
use loadline_record::{Clock, LimitSource, RunRecord, RunStatus, RunVerb, TargetKind};
use loadline_report::words;
use loadline_runs::{
    Course, Ended, NamedTarget, Overrides, PlanLength, PredictionSettings, Refusal, Silent, read_plan,
};
use loadline_units::Duration;
use loadline_workload::Plan;
use serde_json::Value;

fn draws(draws: u32) -> PredictionSettings {
    PredictionSettings { draws, ..PredictionSettings::default() }
}

fn volume(volume: &str, target: &str) -> NamedTarget {
    NamedTarget { volume: volume.to_owned(), target: target.to_owned() }
}

/// A prediction of plans, kept in a store of its own.
fn predicted(plans: Vec<Plan>, environment: &Environment, settings: PredictionSettings, seed: u64) -> RunRecord {
    let bench = Bench::new();
    let prediction = bench.prediction_by(plans, environment, settings).seeded(seed);
    complete(prediction.run(&mut Silent::default()))
}

fn one(text: &str, environment: &Environment, settings: PredictionSettings) -> RunRecord {
    predicted(vec![plan(text)], environment, settings, 1)
}

fn refused(plans: &[&str], environment: &Environment, settings: PredictionSettings) -> Refusal {
    let bench = Bench::new();
    let plans = plans.iter().map(|text| plan(text)).collect();
    let prediction = bench.prediction_by(plans, environment, settings);
    let refusal = refusal(prediction.run(&mut Silent::default()));
    assert_eq!(bench.runs(), 0, "nothing began");
    refusal
}

#[test]
fn a_prediction_is_kept_with_its_environment_and_has_what_a_measurement_has() {
    let bench = Bench::new();
    let record = complete(bench.prediction(SWEEP, &built_in("ds3-p30")).seeded(3).run(&mut Silent::default()));
    assert_eq!((record.header.clock, &record.header.verb), (Clock::Virtual, &RunVerb::Predict));
    assert_eq!(record.header.name, "sweep on ds3-p30");
    let environment = record.header.environment.as_ref().unwrap();
    assert!(environment.name == "ds3-p30" && environment.text.contains("azure/ds3"));
    assert_eq!(record.header.volumes[0].kind, TargetKind::Modelled);
    assert_eq!(record.header.volumes[0].devices[0].model.as_deref(), Some("azure/classic-premium-p30"));
    let cells = cells(&record);
    let bound: Vec<&str> = cells.iter().map(|cell| cell["binding"]["limit"].as_str().unwrap()).collect();
    assert_eq!(bound, ["latency", "vm-cached-iops", "latency", "disk-iops"]);
    for cell in &cells {
        assert_eq!((&cell["trials"], &cell["binding"]["inferred"]), (&5.into(), &false.into()));
        let of = |key: &str| cell["total"][key].as_f64().unwrap();
        assert!(of("iops_low") <= of("iops") && of("iops") <= of("iops_high") && of("iops_low") < of("iops_high"));
        let iops: Vec<f64> = cell["ceilings"].as_array().unwrap().iter().map(|c| c["iops"].as_f64().unwrap()).collect();
        assert!(iops.len() >= 3 && iops.is_sorted(), "{iops:?}");
    }
    assert_eq!(bench.newest().unwrap(), record);
    let markdown = loadline_report::markdown(&summarize(&record));
    assert!(markdown.contains("| range |") && markdown.contains("no confidence interval"), "{markdown}");
    let html = loadline_report::html(&[(&record, &summarize(&record))]);
    assert!(html.contains("predicted by a model") && html.contains(">range</abbr>"));
}

#[test]
fn predictions_follow_the_published_schema() {
    let environment = environment(TWO);
    let hour = Overrides { duration: Some(Duration::from_s(3_600)), ..Overrides::default() };
    for settings in [
        draws(2),
        draws(1),
        PredictionSettings { course: Course::Carried, ..draws(1) },
        PredictionSettings { overrides: hour, volumes: vec![volume("bursting", "bursting")], ..draws(1) },
    ] {
        let errors = schema_errors("run.schema.json", &summary(&one(SWEEP, &environment, settings)));
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

/// The results without what tells when and where they were made.
fn timeless(record: &RunRecord) -> Value {
    let mut run = summary(record);
    for key in ["id", "started", "host", "name"] {
        run["run"].as_object_mut().unwrap().remove(key);
    }
    run
}

#[test]
fn the_same_seed_predicts_the_same_and_another_does_not() {
    let environment = environment(TWO);
    let with = |seed| timeless(&predicted(vec![plan(SWEEP)], &environment, draws(3), seed));
    let first = with(11);
    assert_eq!(first, with(11));
    assert_ne!(first["cells"][0]["total"], with(12)["cells"][0]["total"]);
}

#[test]
fn a_plan_runs_on_every_volume_or_on_those_named() {
    let environment = environment(TWO);
    let names = |volumes: Vec<NamedTarget>| {
        let record = one(SWEEP, &environment, PredictionSettings { volumes, ..draws(1) });
        let mut names: Vec<String> = record.cells.iter().map(|cell| cell.volume.clone()).collect();
        names.sort();
        names.dedup();
        (names, record.cells.len())
    };
    assert_eq!(names(Vec::new()), (vec!["bursting".to_owned(), "plain".to_owned()], 8));
    assert_eq!(names(vec![volume("plain", "plain")]), (vec!["plain".to_owned()], 4));
    assert_eq!(names(vec![volume("fast", "plain")]), (vec!["fast".to_owned()], 4));
    assert_eq!(names(vec![volume("plain/0", "plain/0")]), (vec!["plain/0".to_owned()], 4));
    let unknown = PredictionSettings { volumes: vec![volume("plan", "plan")], ..draws(1) };
    let refusal = refused(&[SWEEP], &environment, unknown);
    assert!(refusal.to_string().contains("has no volume \"plan\": it has bursting, plain"), "{refusal}");
}

#[test]
fn a_day_shows_when_a_burst_ends() {
    let text = SWEEP.replace("[1, 64]", "[64]").replace("[\"100 %\", \"0 %\"]", "[\"100 %\"]");
    let text = text.replace("objective", "# objective").replace("\"1 s\"", "\"0 s\"").replace("\"3 s\"", "\"24 h\"");
    let gp2 =
        environment("schema = 1\nname = \"gp2\"\n[volume.data]\ndisks = [{ sku = \"aws/gp2\", size = \"20 GiB\" }]\n");
    let record = one(&text, &gp2, PredictionSettings { published: true, ..draws(1) });
    let cell = &cells(&record)[0];
    let end = &cell["prediction"]["bursts_ended"][0];
    // 5.4 million credits at 3,000 - 100 a second.
    let seconds = end["at_ns"].as_f64().unwrap() / 1e9;
    assert!((seconds / (5_400_000.0 / 2_900.0) - 1.0).abs() < 0.02, "{seconds}");
    assert_eq!(
        (&cell["binding"]["limit"], &cell["binding"]["ceiling_iops"]),
        (&"burst-exhausted".into(), &100.0.into())
    );
    let told = summary(&record)["findings"].to_string();
    assert!(told.contains("the disk's burst ended after 31 min") && told.contains("to 100 IOPS"), "{told}");
    let seconds = record.cells[0].trials[0].series.seconds.len();
    assert!((1_000..=3_600).contains(&seconds), "{seconds} intervals of a day are kept");
}

#[test]
fn every_plan_that_comes_along_can_be_predicted_on_the_field_cases() {
    let fields = [
        ("outstanding-sweep", "a3-8-standard"),
        ("outstanding-sweep", "ds3-2-p30"),
        ("outstanding-sweep", "on-premises-hdd"),
        ("matrix-200", "pool-8"),
        ("matrix-200-short", "pool-2"),
        ("crystaldiskmark-3", "d14"),
        ("crystaldiskmark-8", "small-local-ssd"),
        ("layouts", "small-mirrored"),
        ("quick-look", "d14"),
        ("search-farm", "search-farm-dev"),
        ("search-farm", "search-farm-prod"),
    ];
    let overrides = Overrides { short: true, duration: Some(Duration::from_s(1)), ..Overrides::default() };
    for (name, place) in fields {
        let plan = read_plan(name, PlanLength::Short).unwrap().plan;
        let settings = PredictionSettings { overrides, ..draws(1) };
        for cell in cells(&predicted(vec![plan], &built_in(place), settings, 1)) {
            assert!(cell["total"]["iops"].as_f64().unwrap() > 0.0, "{name} on {place}: {cell}");
            assert!(cell["binding"].is_object(), "{name} on {place}: {}", cell["label"]);
            for doubt in cell["doubts"].as_array().unwrap() {
                let code = doubt["code"].as_str().unwrap();
                // Nobody published how much this VM's cache answers.
                let unknown = ["d14", "search-farm-prod"].contains(&place) && code == "unknown-limit";
                let usual = ["short-run", "few-samples", "not-steady"].contains(&code);
                // Of arrivals in one second some are still on their way when it ends.
                let cut = name == "search-farm" && code == "offered-load-missed";
                // The write ceiling of standard disks, and how a temporary disk compares with cached ones.
                let deviates =
                    ["d14", "pool-2", "pool-8", "small-mirrored"].contains(&place) && code == "known-deviation";
                assert!(usual || unknown || deviates || cut, "{name} on {place}: {code}");
            }
        }
    }
}

/// Case C: a disk behind its host's cache reads faster from trial to trial, although the machine's own caches were dropped.
#[test]
fn trials_that_go_on_from_one_another_show_the_hosts_cache() {
    let cold = PredictionSettings {
        volumes: vec![volume("attached", "attached")],
        caches_warm: Some(false),
        ..PredictionSettings::default()
    };
    let look = || vec![read_plan("quick-look", PlanLength::Full).unwrap().plan];
    let carried = PredictionSettings { course: Course::Carried, draws: 1, ..cold.clone() };
    let carried = predicted(look(), &built_in("d14"), carried, 1);
    let trend = |record: &RunRecord| findings(record, "trend-over-trials").into_iter().find(|f| f.contains("first"));
    let found = trend(&carried).expect("the first trial warms the cache for the others");
    assert!(found.contains("1 MiB reads"), "{found}");
    assert_eq!(carried.cells[0].trials.len(), 12);
    assert_eq!(trend(&predicted(look(), &built_in("d14"), cold, 1)), None);
}

/// The seconds of one short trial do not tell how well its figures are known; several trials of the first draw do.
#[test]
fn short_loads_are_tried_as_often_on_each_draw_as_the_plan_wants_and_can_be_compared() {
    let short = SWEEP.replace("trials = 1", "trials = 3");
    let long = short.replace("duration = \"3 s\"", "duration = \"10 s\"");
    let p30 = built_in("ds3-p30");
    let trials = |text: &str, settings: PredictionSettings| one(text, &p30, settings).cells[0].trials.len();
    assert_eq!(trials(&short, draws(2)), 6);
    assert_eq!(trials(&long, draws(2)), 3);
    assert_eq!(trials(&short, PredictionSettings { trials: Some(4), ..draws(2) }), 4);
    let shortened = Overrides { short: true, ..Overrides::default() };
    assert_eq!(trials(&short, PredictionSettings { overrides: shortened, ..draws(2) }), 2);
    let bench = Bench::new();
    let [slow, fast] = ["ds3-p10", "ds3-p30"].map(|place| {
        let record = complete(bench.prediction(&short, &built_in(place)).seeded(1).run(&mut Silent::default()));
        record.header.id
    });
    let comparison = compare::compare(&bench.store(), &slow, &fast).unwrap();
    let comparison = serde_json::to_value(loadline_report::ComparisonDocument::of(&comparison)).unwrap();
    // Writes at depth 64, which the disk holds to 500 and to 5,000 a second.
    assert_eq!(comparison["against"][0]["cells"][3]["verdict"], "better", "{comparison}");
}

/// One draw has no range: what its trials differ by is chance alone.
#[test]
fn ranges_are_over_draws() {
    let range = |settings| {
        let cell = &cells(&one(SWEEP, &built_in("ds3-p30"), settings))[0];
        [&cell["total"]["iops_low"], &cell["read"]["latency_range_ns"]].map(Value::is_null)
    };
    assert_eq!(range(PredictionSettings { trials: Some(3), ..draws(1) }), [true, true]);
    assert_eq!(range(draws(3)), [false, false]);
}

#[test]
fn what_does_not_fit_together_is_refused_before_anything_is_stored() {
    let p30 = built_in("ds3-p30");
    let with = |keys: &str| SWEEP.replace("trials = 1", &format!("trials = 1\n{keys}"));
    let message = refused(&[&with("size = \"2 TiB\"")], &p30, draws(1));
    assert!(matches!(message, Refusal::NotModelled { .. }) && message.to_string().contains("spreads over 2 TiB"));
    let buffered = refused(&[&with("buffered = true")], &p30, draws(1)).to_string();
    assert!(buffered.contains("page cache is not modelled"), "{buffered}");
    let two = environment(TWO);
    let together = |trials| PredictionSettings { course: Course::Together, trials, ..draws(1) };
    let more = SWEEP.replace("trials = 1", "trials = 3");
    let unlike = refused(&[SWEEP, &more], &two, together(None));
    assert!(matches!(unlike, Refusal::TogetherTrials { trials: [1, 3], .. }), "{unlike}");
    predicted(vec![plan(SWEEP), plan(&more)], &two, together(Some(3)), 1);
    // A disk that costs no time is refused, whatever is to be predicted on it.
    for more in ["", "parallelism.requests = 2\n", "latency.read.median = \"0 ms\"\n"] {
        let text = format!("schema = 1\nname = \"e\"\n[[volume.data.disks]]\nsize = \"1 TiB\"\n{more}");
        let refused = refused(&[SWEEP], &environment(&text), draws(1)).to_string();
        assert!(refused.contains("data") && refused.contains("latency.read.median"), "{refused}");
    }
}

#[test]
fn a_catalog_of_ones_own_is_read_beside_the_one_that_comes_along() {
    let family = "schema = 1\nkind = \"disk\"\nprovider = \"home\"\nfamily = \"fast\"\ntitle = \"Fast\"\nsource = \"a bench\"\n\
                  [latency.read]\nmedian = \"1 ms\"\n[latency.write]\nmedian = \"1 ms\"\n\
                  [disk]\nfast-1 = { size = \"1 TiB\", iops = \"1234 IOPS\", throughput = \"100 MB/s\" }\n";
    let text = "schema = 1\nname = \"own\"\n[volume.data]\ndisks = [{ sku = \"home/fast-1\" }]\n";
    let built_in = Catalog::builtin();
    assert!(Environment::parse(text, "own", &built_in).unwrap_err().to_string().contains("home/fast-1"));
    let catalog = built_in.with(&[("fast.toml", family)]).unwrap();
    let environment = Environment::parse(text, "own", &catalog).unwrap();
    let ceilings = cells(&one(SWEEP, &environment, draws(1)))[1]["ceilings"].clone();
    let own = ceilings.as_array().unwrap().iter().any(|c| c["limit"] == "disk-iops" && c["iops"] == 1_234.0);
    assert!(own, "{ceilings}");
}

#[test]
fn a_prediction_that_is_ended_early_is_carried_on_with_to_the_same_end() {
    let bench = Bench::new();
    let environment = built_in("ds3-p30");
    // Long enough that it is under way when the observer wants an end.
    let text = SWEEP.replace("\"3 s\"", "\"150 s\"");
    let prediction = |bench: &Bench| bench.prediction_by(vec![plan(&text)], &environment, draws(2)).seeded(5);
    let outcome = prediction(&bench).run(&mut Steps::ending_after(1)).unwrap();
    assert!(matches!(outcome.ended, Ended::Interrupted), "{:?}", outcome.ended);
    assert_eq!(outcome.record.status, RunStatus::Interrupted);
    let kept = trial_count(&outcome.record);
    let mut steps = Steps::default();
    let resumed = complete(bench.resume(&mut steps));
    assert_eq!((steps.finished + kept, kept > 0), (8, true), "a finished trial is never run twice");
    let whole = complete(prediction(&Bench::new()).run(&mut Silent::default()));
    assert_eq!(timeless(&resumed), timeless(&whole));
}

/// An unknown limit of a machine is named beside the one that binds, not in its place.
#[test]
fn a_machines_limit_that_was_not_published_is_told_in_words() {
    let hyperdisk = environment(
        "schema = 1\nname = \"hyperdisk\"\nvm = \"gcp/n2-standard-8\"\n[volume.data]\n\
         disks = [{ sku = \"gcp/hyperdisk-balanced\", size = \"400 GiB\" }]\n",
    );
    let told = summary(&one(SWEEP, &hyperdisk, draws(1))).to_string();
    let unknown = "what gcp/n2-standard-8 allows all disks of gcp/hyperdisk-balanced together";
    assert!(told.contains("a limit on the way was not published") && told.contains(unknown), "{told}");
}

#[test]
fn the_limits_of_a_model_are_listed_with_which_bound_what() {
    let capped = environment(
        "schema = 1\nname = \"capped\"\nvm = \"azure/ds3\"\n[volume.data]\n\
         disks = [{ sku = \"azure/classic-premium-p30\", count = 4 }]\n\
         layout = { stripe = { columns = 4, interleave = \"64 KiB\" } }\nhost_cache = \"none\"\n",
    );
    let text = "schema = 1\nname = \"p\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\nwarm_up = \"0 s\"\n\
                duration = \"500 ms\"\ntrials = 1\nsize = \"32 MiB\"\nqueue_depth = [1, 128]\n";
    let limits = known_limits(&one(text, &capped, PredictionSettings::default()));
    assert!(limits.iter().all(|limit| !limit.inferred), "{limits:?}");
    let of = |name: &str| limits.iter().filter(|limit| limit.limit.name() == name).collect::<Vec<_>>();
    let [vm] = of("vm-uncached-iops")[..] else { panic!("{limits:?}") };
    assert!((vm.value - 13_056.0).abs() < 1e-9, "{vm:?}");
    let source = words::limit_source(&vm.source);
    assert!(source.starts_with("azure/ds3, uncached: 12,800 IOPS published"), "{source}");
    assert!(source.contains("bound random read"), "{source}");
    let [disks] = of("disk-iops")[..] else { panic!("{limits:?}") };
    assert!(matches!(&disks.source, LimitSource::Modelled { bound, .. } if bound.loads == 0), "{limits:?}");
    assert_eq!(of("latency").len(), 1);
}

/// Virtual time hardly goes on where each request takes a nanosecond: a wish to end is heard all the same.
#[test]
fn a_prediction_in_which_time_hardly_passes_ends_when_that_is_wanted() {
    let bench = Bench::new();
    let text = "schema = 1\nname = \"e\"\n[[volume.data.disks]]\nsize = \"1 TiB\"\nlatency.read.median = \"1 ns\"\n";
    let mut observer = Silent::default();
    let stop = observer.stop();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(200));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        bench.prediction(SWEEP, &environment(text)).run(&mut observer).unwrap()
    });
    assert!(matches!(outcome.ended, Ended::Interrupted), "{:?}", outcome.ended);
    assert_eq!(outcome.record.status, RunStatus::Interrupted);
}
