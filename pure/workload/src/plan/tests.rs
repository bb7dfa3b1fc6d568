//! Plans read well, and every error is told at its place with what to write.

use super::*;
use crate::{Preset, presets};
use loadline_document::PROBLEMS_MAX;
use loadline_load::{
    Arrival, BlockShare, Distribution, Fill, FlushCadence, FlushMethod, LatencyFigure, Objective, Pattern,
    SteadyStateRule,
};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use proptest::prelude::*;

/// A plan with one load of these lines, which begin in line 4.
fn with_load(lines: &str) -> String {
    format!("schema = 1\nname = \"test\"\n[[load]]\n{lines}\n")
}
fn cells(lines: &str) -> Vec<LoadSpec> {
    let plan = Plan::parse(&with_load(lines), "p.toml").unwrap_or_else(|error| panic!("{error}"));
    plan.cells().map(|(spec, _)| spec.clone()).collect()
}
fn cell(lines: &str) -> LoadSpec {
    let cells = cells(lines);
    assert_eq!(cells.len(), 1, "one cell");
    cells.into_iter().next().unwrap()
}
fn error(text: &str) -> String {
    Plan::parse(text, "p.toml").expect_err("the plan is wrong").to_string()
}
#[track_caller]
fn refuses(lines: &str, message: &str) {
    assert_eq!(error(&with_load(lines)), message);
}
fn rate(per_second: u64) -> Iops {
    Iops::per_second(per_second).unwrap()
}

const SWEEP: &str = r#"
schema = 1
name = "outstanding-sweep"
[[load]]
pattern = ["random"]                   # random, sequential
reads = ["100 %", "0 %"]
block = ["8 KiB"]
queue_depth = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
threads = 1
# arrival = { poisson = ["1000 IOPS", "2000 IOPS"] }     # instead of queue_depth: open loop
size = "100 GiB"
warm_up = "10 s"
duration = "60 s"
trials = 3
pause = "0 s"                          # between trials
order = "interleaved"                  # or "as-listed"
objective = { p99 = "20 ms" }          # or mean
"#;

#[test]
fn a_sweep_becomes_its_matrix_with_the_first_list_slowest() {
    let plan = Plan::parse(SWEEP, "sweep.toml").unwrap();
    assert_eq!((plan.name.as_str(), plan.description.as_deref()), ("outstanding-sweep", None));
    assert_eq!((plan.text.as_str(), plan.loads.len(), plan.loads[0].order), (SWEEP, 1, Order::Interleaved));
    let mut wanted = Vec::new();
    for reads in [Ratio::ONE, Ratio::ZERO] {
        for power in 0..=10 {
            wanted.push(LoadSpec {
                reads,
                blocks: vec![BlockShare { size: Bytes::kib(8), share: Ratio::ONE }],
                arrival: Arrival::Closed { queue_depth: 1 << power, rate_max: None, think_time: Duration::ZERO },
                size: Some(Bytes::gib(100)),
                warm_up: Duration::from_s(10),
                duration: Duration::from_s(60),
                objective: Some(Objective { of: LatencyFigure::P99, limit: Duration::from_ms(20) }),
                trials: 3,
                ..LoadSpec::default()
            });
        }
    }
    assert_eq!(plan.loads[0].cells, wanted);
    assert_eq!(plan.hash(), text_hash(SWEEP));
}

#[test]
fn cells_survive_json() {
    for (spec, _) in presets().iter().flat_map(|p| Plan::parse(p.text, p.name).unwrap().loads).flat_map(|load| {
        let order = load.order;
        load.cells.into_iter().map(move |spec| (spec, order))
    }) {
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<LoadSpec>(&text).unwrap(), spec);
    }
}

#[test]
fn the_documentation_shows_a_plan_that_parses() {
    let document = include_str!("../../../../docs/formats/plan.md");
    let examples: Vec<&str> =
        document.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!examples.is_empty());
    for example in &examples {
        Plan::parse(example, "plan.md").unwrap_or_else(|error| panic!("{error}"));
    }
    for key in load::keys().iter().chain(TOP_KEYS).filter(|key| **key != "load") {
        assert!(document.contains(&format!("`{key}`")), "{key} is documented");
    }
}

#[test]
fn a_load_without_keys_is_the_default_load() {
    assert_eq!(cell(""), LoadSpec::default());
}

#[test]
fn every_key_reaches_its_field() {
    let spec = cell(
        r#"
name = "all"
pattern = "sequential"
reads = "70 %"
trims = "5 %"
block = { "64 KiB" = "40 %", "4 KiB" = "60 %" }
align = "64 KiB"
stride = "128 KiB"
queue_depth = 8
threads = 2
rate_max = "5000 IOPS"
think_time = "1 ms"
size = "1 GiB"
start = "1 MiB"
files = 4
flush = { every = 32, how = "fua" }
buffered = true
compressible = "50 %"
duplicate = "10 %"
fill = "never"
drop_caches = true
warm_up = "1 s"
cool_down = "2 s"
steady_state = { round = "10 s", rounds = 4, rounds_max = 8, range = "15 %", slope = "5 %" }
duration = "3 s"
volume = "1 GiB"
passes = 3
walk = "again"
overlap = true
in_turn = 2
end_flush = true
trials = 7
pause = "4 s"
hang_limit = "9 s"
objective = { p99_9 = "5 ms" }
best_of_trials = true
"#,
    );
    let wanted = LoadSpec {
        name: Some("all".into()),
        pattern: Pattern::Sequential { stride: Some(Bytes::kib(128)) },
        reads: Ratio::percent(70),
        trims: Ratio::percent(5),
        blocks: vec![
            BlockShare { size: Bytes::kib(4), share: Ratio::percent(60) },
            BlockShare { size: Bytes::kib(64), share: Ratio::percent(40) },
        ],
        align: Some(Bytes::kib(64)),
        arrival: Arrival::Closed { queue_depth: 8, rate_max: Some(rate(5000)), think_time: Duration::from_ms(1) },
        threads: 2,
        size: Some(Bytes::GIB),
        start: Bytes::MIB,
        files: 4,
        flush: Some(FlushCadence { every: 32, how: FlushMethod::Fua }),
        buffered: true,
        content: crate::Content { compressible: Ratio::percent(50), duplicate: Ratio::percent(10) },
        verify: false,
        fill: Fill::Never,
        drop_caches: true,
        warm_up: Duration::from_s(1),
        cool_down: Duration::from_s(2),
        steady_state: Some(SteadyStateRule {
            round: Duration::from_s(10),
            rounds: 4,
            rounds_max: 8,
            range: Ratio::percent(15),
            slope: Ratio::percent(5),
        }),
        duration: Duration::from_s(3),
        volume: Some(Bytes::GIB),
        passes: Some(3),
        walk: crate::Walk::Again,
        overlap: true,
        size_share: None,
        staggered: None,
        in_turn: Some(2),
        continued: Ratio::ZERO,
        zones: None,
        end_flush: true,
        trials: 7,
        pause: Duration::from_s(4),
        hang_limit: Duration::from_s(9),
        objective: Some(Objective { of: LatencyFigure::P999, limit: Duration::from_ms(5) }),
        best_of_trials: true,
    };
    assert_eq!(spec, wanted);
    assert!(cell("verify = true").verify);
    assert_eq!(cell("steady_state = true").steady_state, Some(SteadyStateRule::default()));
    let share = cell("size_share = \"50 %\"\ncontinued = \"30 %\"");
    assert_eq!((share.size_share, share.continued), (Some(Ratio::percent(50)), Ratio::percent(30)));
    let zones = cell("pattern = \"sequential\"\nzones = { size = \"1 MiB\", skip = \"3 MiB\" }").zones;
    let staggered = cell("pattern = \"sequential\"\nthreads = 4\nstaggered = { step = \"1 GiB\" }").staggered;
    assert_eq!(staggered, Some(crate::Staggered { step: Bytes::GIB, length: None }));
    assert_eq!(zones, Some(crate::ZoneGaps { size: Bytes::MIB, skip: Bytes::mib(3) }));
}

#[test]
fn arrivals_distributions_and_flushes_are_dimensions_too() {
    let arrivals: Vec<Arrival> =
        cells(r#"arrival = [{ poisson = ["1000 IOPS", "2 kIOPS"] }, { constant = "3000 IOPS" }]"#)
            .into_iter()
            .map(|spec| spec.arrival)
            .collect();
    assert_eq!(
        arrivals,
        [
            Arrival::Poisson { rate: rate(1000) },
            Arrival::Poisson { rate: rate(2000) },
            Arrival::Constant { rate: rate(3000) }
        ]
    );
    let patterns: Vec<Pattern> =
        cells(r#"distribution = ["uniform", "permutation", "covering", { zipf = [0.99, 1.2] }, { hot = { requests = "90 %", blocks = "10 %" } }]"#)
            .into_iter()
            .map(|spec| spec.pattern)
            .collect();
    let distributions = [
        Distribution::Uniform,
        Distribution::Permutation,
        Distribution::Covering,
        Distribution::Zipf { theta_milli: 990 },
        Distribution::Zipf { theta_milli: 1200 },
        Distribution::HotCold { requests: Ratio::percent(90), blocks: Ratio::percent(10) },
    ];
    assert_eq!(patterns, distributions.map(Pattern::Random));
    let flushes: Vec<Option<(u64, FlushMethod)>> = cells(
        r#"reads = "0 %"
flush = ["never", { every = [1, 32], how = ["fdatasync", "fua"] }, { every = 8 }]"#,
    )
    .into_iter()
    .map(|spec| spec.flush.map(|flush| (flush.every, flush.how)))
    .collect();
    let (sync, fua) = (FlushMethod::Fdatasync, FlushMethod::Fua);
    assert_eq!(flushes, [None, Some((1, sync)), Some((1, fua)), Some((32, sync)), Some((32, fua)), Some((8, sync))]);
}

#[test]
fn a_mix_of_blocks_may_stand_in_a_list() {
    let blocks: Vec<usize> = cells(r#"block = ["4 KiB", { "4 KiB" = "60 %", "64 KiB" = "40 %" }]"#)
        .into_iter()
        .map(|spec| spec.blocks.len())
        .collect();
    assert_eq!(blocks, [1, 2]);
}

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    refuses("queue_dept = 4", "p.toml:4:1: queue_dept: is not a key of a load: did you mean queue_depth?");
    refuses("  Warm-Up = \"4 s\"", "p.toml:4:3: Warm-Up: is not a key of a load: did you mean warm_up?");
    refuses("iodepth = 4", "p.toml:4:1: iodepth: is not a key of a load: did you mean queue_depth?");
    refuses("block_size = \"4 KiB\"", "p.toml:4:1: block_size: is not a key of a load: did you mean block?");
    refuses(
        "objective = { p98 = \"4 s\" }",
        "p.toml:4:15: objective.p98: is not a key of objective: did you mean p90? It has mean, p50, p90, p95, p99, p99_9",
    );
    refuses(
        "objective = { p50 = \"4 ms\", p99 = \"20 ms\" }",
        "p.toml:4:13: objective: write one figure, such as { p99 = \"20 ms\" }; \
         the figures are mean, p50, p90, p95, p99, p99_9",
    );
    assert!(
        error(&with_load("zzz = 1")).starts_with("p.toml:4:1: zzz: is not a key of a load: it has name, on, trials,")
    );
    assert_eq!(
        error("schema = 1\nname = \"x\"\nloads = 1\n[[load]]"),
        "p.toml:3:1: loads: is not a key of a plan: did you mean load? It has schema, name, description, load, together"
    );
}

#[test]
fn a_key_in_the_wrong_place_is_sent_to_the_right_one() {
    assert_eq!(
        error("schema = 1\nname = \"x\"\nblock = \"4 KiB\"\n[[load]]"),
        "p.toml:3:1: block: belongs to a load: write [[load]] and, below it, the load's keys"
    );
    refuses(
        "description = \"x\"",
        "p.toml:4:1: description: belongs to the plan: write it at the top, before the first [[load]]",
    );
}

#[test]
fn a_number_without_its_unit_is_given_one() {
    refuses("block = 4096", "p.toml:4:9: block: 4096 has no unit: write \"4096 B\"?");
    refuses("duration = 60", "p.toml:4:12: duration: 60 has no unit: write \"60 s\"?");
    refuses("reads = [\"100 %\", 70]", "p.toml:4:19: reads: 70 has no unit: write \"70 %\"?");
    refuses("reads = 0.7", "p.toml:4:9: reads: 0.7 has no unit: write a share such as \"70 %\"");
    refuses(
        "size = \"10 Gib\"",
        "p.toml:4:8: size: \"Gib\" in \"10 Gib\" is not a unit known here: \
         write a size such as \"8 KiB\", \"100 GiB\" or \"500 MB\"",
    );
    refuses("arrival = { poisson = [1000] }", "p.toml:4:24: arrival.poisson: 1000 has no unit: write \"1000 IOPS\"?");
}

#[test]
fn values_of_a_wrong_kind_say_what_to_write() {
    refuses("queue_depth = \"32\"", "p.toml:4:15: queue_depth: \"32\" is text: write it without quotes");
    refuses("queue_depth = 0", "p.toml:4:15: queue_depth: 0 is out of range: write a whole number from 1 to 16384");
    refuses("threads = 1.5", "p.toml:4:11: threads: is the number 1.5: write a whole number from 1 to 1024");
    refuses("verify = \"true\"", "p.toml:4:10: verify: \"true\" is text: write true without quotes");
    refuses("buffered = 1", "p.toml:4:12: buffered: is the number 1: write true or false");
    refuses(
        "pattern = \"randread\"",
        "p.toml:4:11: pattern: \"randread\" is not known here: write \"random\" or \"sequential\"",
    );
    refuses("block = []", "p.toml:4:9: block: an empty list says nothing: write at least one value");
    refuses("block = [[\"4 KiB\"]]", "p.toml:4:10: block: is a list within a list: write one list");
    refuses("trials = [1, 2]", "p.toml:4:10: trials: has one value for the whole load: write it without a list");
    refuses(
        "block = [\"4 KiB\", \"4096 B\"]",
        "p.toml:4:19: block: is in the list twice: write it once, and use trials to repeat",
    );
    refuses(
        "distribution = { zipf = 9 }",
        "p.toml:4:25: distribution.zipf: is the number 9: \
         write an exponent above 0 and at most 5 with up to three decimals, such as 1.2",
    );
    refuses(
        "flush = { how = \"fua\" }",
        "p.toml:4:9: flush: does not say after how many writes: write { every = 1, how = \"fdatasync\" } or \"never\"",
    );
    refuses("name = \"\"", "p.toml:4:8: name: \"\" is no name: write one line of 1 to 100 characters");
}

#[test]
fn what_a_cell_may_not_be_is_told_at_the_value_that_makes_it_so() {
    refuses(
        "queue_depth = [1, 2]\nblock = [\"4 KiB\",\n  \"1000 B\"]",
        "p.toml:6:3: block: 1 kB is not a multiple of 512 B from 512 B to 64 MiB; only a load with buffered = true may have any \
         size",
    );
    refuses(
        "block = { \"4 KiB\" = \"60 %\", \"64 KiB\" = \"30 %\" }",
        "p.toml:4:9: block: the shares of the sizes add up to 90 % instead of 100 %",
    );
    refuses(
        "duration = \"0 s\"",
        "p.toml:4:12: duration: a measurement takes time; with `volume` it is the longest that it may take",
    );
    refuses("hang_limit = \"0 s\"", "p.toml:4:14: hang_limit: no request is answered in no time; the default is 60 s");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let told = |load: &str| error(&with_load(load));
    let mixed = "block = { \"4 KiB\" = \"60 %\", \"64 KiB\" = \"60 %\" }";
    // Beside values that cannot be read, and a key that is not known.
    let text = told(&format!("queue_depth = \"deep\"\n{mixed}\ncolour = 1\nthreads = 1\nhang_limit = \"0 s\""));
    for part in [
        "p.toml:4:15: queue_depth: ",
        "p.toml:5:9: block: the shares of the sizes add up to 120 % instead of 100 %",
        "p.toml:6:1: colour: ",
        "p.toml:8:14: hang_limit: no request",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Several of one cell.
    let text = told(&format!("{mixed}\nduration = \"0 s\""));
    assert!(text.contains("p.toml:4:9: block: ") && text.contains("p.toml:5:12: duration: "), "{text}");
    // What the unreadable value might have made right is not told.
    assert!(!told("block = \"512\"\nsize = \"1 KiB\"").contains("p.toml:5:"));
}

#[test]
fn contradictions_are_told() {
    refuses(
        "queue_depth = 4\narrival = { poisson = \"1000 IOPS\" }",
        "p.toml:4:1: queue_depth: is how many requests are outstanding in a closed loop, and arrival makes an open one: \
         leave out queue_depth or arrival",
    );
    for reads in ["", "reads = \"100 %\"\n"] {
        let line = 4 + reads.lines().count();
        refuses(
            &format!("{reads}flush = [\"never\", {{ every = 1 }}]"),
            &format!(
                "p.toml:{line}:1: flush: comes after writes, and this load only reads: write reads = \"0 %\", or leave out flush"
            ),
        );
    }
    cells("reads = [\"100 %\", \"70 %\"]\nflush = { every = 1 }");
    cells("flush = \"never\"");
    refuses(
        "pattern = [\"random\", \"sequential\"]\ndistribution = \"uniform\"",
        "p.toml:5:1: distribution: says which blocks a random load prefers, and pattern has \"sequential\": \
         leave it out, or give each pattern a [[load]] of its own",
    );
    refuses(
        "stride = \"8 KiB\"",
        "p.toml:4:1: stride: is the step of a sequential load, and this one is random: \
         write pattern = \"sequential\", or give each pattern a [[load]] of its own",
    );
}

#[test]
fn several_problems_are_told_at_once_in_the_order_of_the_text() {
    assert_eq!(
        error("schema = 1\n[[load]]\nblock = 1\nzipf = 2\n[[load]]\nreads = true"),
        "p.toml:1:1: name: is missing: write name = \"...\" at the top, a few words to find it by\n\
         p.toml:3:9: block: 1 has no unit: write \"1 B\"?\n\
         p.toml:4:1: zipf: is not a key of a load: it has name, on, trials, pause, order, hang_limit, objective, best_of_trials, pattern, \
         reads, trims, block, align, distribution, stride, queue_depth, threads, arrival, rate_max, think_time, size, \
         size_share, staggered, start, files, in_turn, continued, zones, flush, buffered, compressible, duplicate, verify, fill, drop_caches, warm_up, cool_down, \
         steady_state, duration, volume, passes, walk, overlap, end_flush\n\
         p.toml:6:9: reads: is true: write a share such as \"70 %\""
    );
    let many: Vec<String> = (0..PROBLEMS_MAX + 5).map(|index| format!("zz{index} = 1")).collect();
    let error = Plan::parse(&with_load(&many.join("\n")), "p.toml").unwrap_err();
    assert_eq!((error.problems.len(), error.more), (PROBLEMS_MAX, 5));
    assert!(error.to_string().ends_with("\np.toml: and 5 more"));
}

#[test]
fn a_plan_says_its_schema_and_has_a_load() {
    assert_eq!(error("name = \"x\"\n[[load]]"), "p.toml:1:1: schema: is missing: write schema = 1 at the top");
    assert_eq!(
        error("schema = 2\nnew = 1"),
        "p.toml:1:10: schema: 2 is a version of the plan format that is not known here: write 1, or use a newer loadline"
    );
    assert_eq!(
        error("schema = 1\nname = \"x\""),
        "p.toml:1:1: load: a plan without a load measures nothing: write [[load]] and, below it, the load's keys"
    );
    assert_eq!(
        error("schema = 1\nname = \"x\"\n[load]\nblock = \"4 KiB\""),
        "p.toml:3:1: load: is not a list of loads: write [[load]] and, below it, the load's keys"
    );
}

#[test]
fn text_that_is_not_toml_says_where() {
    assert!(error("schema = 1\nname = \"x").starts_with("p.toml:2:10: not TOML: "));
    assert!(error("schema = 1\nschema = 1\n").starts_with("p.toml:2:1: not TOML: duplicate key"));
}

#[test]
fn a_plan_has_a_bounded_number_of_cells_and_trials() {
    let numbers = |count: u32| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let lists = format!("queue_depth = [{}]\nfiles = [{}]\nthreads = [1, 2]", numbers(400), numbers(400));
    refuses(
        &lists,
        "p.toml:3:1: load: with this load (400 queue_depth x 400 files x 2 threads) the plan has more than the 100000 cells \
         that it may have: shorten the lists, or split the plan",
    );
    let two = format!("queue_depth = [{}]\nfiles = [{}]\n[[load]]\n", numbers(300), numbers(333));
    assert_eq!(cells(&two).len(), 300 * 333 + 1);
    refuses(
        &format!("queue_depth = [{}]", numbers(1001)),
        "p.toml:4:15: queue_depth: has more than 1000 values: write fewer",
    );
    refuses(
        &format!("queue_depth = [{}]\nfiles = [1, 2]\ntrials = 1000", numbers(900)),
        "p.toml:3:1: load: 1800 cells of 1000 trials are more than the 1000000 trials that a plan may have: \
         write fewer trials, or split the plan",
    );
}

#[test]
fn columns_are_counted_in_characters() {
    refuses(
        "block = [\"4 KiB\", \"4 µB\"]",
        "p.toml:4:19: block: \"µB\" in \"4 µB\" is not a unit known here: write a size such as \"8 KiB\", \"100 GiB\" or \"500 MB\"",
    );
    refuses(
        "objective = { p99 = \"5 µs\" }\nreads = [\"é\"]",
        "p.toml:5:10: reads: \"é\" has no number: write a share such as \"70 %\"",
    );
}

/// A preset with a stretch of it replaced.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,6}",
        prop::sample::select(vec![
            "",
            "[",
            "]",
            "{",
            "}",
            "\"",
            "=",
            "\n",
            "[[load]]\n",
            "-1",
            "0",
            "1e999",
            "true",
            "é"
        ])
        .prop_map(str::to_owned),
        prop::sample::select(load::keys()).prop_map(|key| format!("\n{key} = ")),
    ];
    (prop::sample::select(presets().to_vec()), any::<prop::sample::Index>(), 0usize..40, piece).prop_map(
        |(preset, at, length, piece): (Preset, _, _, _)| {
            let characters: Vec<char> = preset.text.chars().collect();
            let start = at.index(characters.len());
            let end = (start + length).min(characters.len());
            let (before, after) = (&characters[..start], &characters[end..]);
            before.iter().chain(&piece.chars().collect::<Vec<_>>()).chain(after).collect()
        },
    )
}

/// A load's key with a value that may or may not suit it.
fn line() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "1",
        "0",
        "-3",
        "1.2",
        "nan",
        "true",
        "false",
        "[]",
        "{}",
        "[1, 2]",
        "[[1]]",
        "1979-05-27",
        "\"\"",
        "\"4 KiB\"",
        "\"0 B\"",
        "\"18446744073709551615 B\"",
        "\"50 %\"",
        "\"5 s\"",
        "\"100 IOPS\"",
        "\"random\"",
        "\"sequential\"",
        "[\"random\", \"sequential\"]",
        "\"always\"",
        "{ every = 1 }",
        "{ zipf = 1.5 }",
        "{ poisson = \"5 IOPS\" }",
        "{ p99 = \"5 ms\" }",
        "{ \"4 KiB\" = \"50 %\", \"8 KiB\" = \"50 %\" }",
        "{ hot = { requests = \"1 %\", blocks = \"0 %\" } }",
        "{ rounds = 1 }",
        "18446744073709551615",
        "0xffff",
        "{ a.b.c = 1 }",
        "\"as-listed\"",
    ]);
    (prop::sample::select(load::keys()), value).prop_map(|(key, value)| format!("{key} = {value}"))
}

proptest! {
    #[test]
    fn no_mutated_preset_makes_the_parser_panic_and_what_it_reads_holds_its_rules(text in mutated()) {
        match Plan::parse(&text, "p.toml") {
            Ok(plan) => prop_assert!(plan.cells().all(|(spec, _)| spec.check().is_ok())),
            Err(error) => prop_assert!(!error.problems.is_empty()),
        }
    }
    #[test]
    fn no_value_of_a_key_makes_the_parser_panic(lines in prop::collection::vec(line(), 1..6)) {
        match Plan::parse(&with_load(&lines.join("\n")), "p.toml") {
            Ok(plan) => prop_assert!(plan.cells().all(|(spec, _)| spec.check().is_ok())),
            Err(error) => prop_assert!(error.problems.iter().all(|p| p.line >= 1 && p.column >= 1)),
        }
    }
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        prop_assert!(Plan::parse(&text, "p.toml").is_err());
    }
}

#[test]
fn other_ways_of_writing_toml_are_the_same_plan() {
    let wanted = cell("arrival = { poisson = \"10 IOPS\" }");
    assert_eq!(cell("arrival.poisson = \"10 IOPS\""), wanted);
    assert_eq!(cell("[load.arrival]\r\npoisson = \"10 IOPS\""), wanted);
    let inline = "schema = 1\nname = \"x\"\nload = [{ arrival = { poisson = \"10 IOPS\" } }]";
    assert_eq!(Plan::parse(inline, "p.toml").unwrap().loads[0].cells, [wanted]);
    refuses(
        "arrival.poison = \"10 IOPS\"",
        "p.toml:4:9: arrival.poison: is not a key of arrival: did you mean poisson? It has poisson, constant",
    );
    refuses(
        "arrival.constant.rate = 10",
        "p.toml:4:9: arrival.constant: is a table: write a request rate such as \"5000 IOPS\"",
    );
}

const TOGETHER: &str = "schema = 1\nname = \"p\"\ntogether = GROUPS\n[[load]]\nname = \"log\"\nreads = \"0 %\"\n\
                        [[load]]\nname = \"readers\"\nqueue_depth = [1, 8]\n[[load]]\nname = \"alone\"\n";

#[test]
fn each_cell_of_a_load_runs_with_each_of_those_beside_it() {
    let plan = |groups: &str| Plan::parse(&TOGETHER.replace("GROUPS", groups), "p.toml").unwrap();
    let one = plan("[\"log\", \"readers\"]");
    assert_eq!(
        one.groups(),
        [LoadGroup { loads: vec![0, 1], ends: GroupEnd::Each }, LoadGroup { loads: vec![2], ends: GroupEnd::Each },]
    );
    let run = crate::run_cells(std::slice::from_ref(&one), &["data".into()]).unwrap();
    let cells: Vec<Vec<usize>> = run.groups.iter().map(|group| group.cells.clone()).collect();
    assert_eq!(cells, [vec![0, 1], vec![2, 3], vec![4]]);
    let names: Vec<&str> = run.cells.iter().filter_map(|cell| cell.spec.name.as_deref()).collect();
    assert_eq!(names, ["log", "readers", "log", "readers", "alone"]);
    let ids: BTreeSet<&str> = run.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids.len(), 5, "a load is another cell beside other loads");
    // A load runs by itself as well where a group has it alone.
    let both = plan("[[\"readers\"], { loads = [\"log\", \"readers\"], ends = \"first\" }]");
    assert_eq!(both.together[1].ends, GroupEnd::First);
    assert_eq!(crate::run_cells(&[both], &["data".into()]).unwrap().groups.len(), 5);
}

#[test]
fn groups_that_cannot_be_are_told_with_their_place() {
    let told = |groups: &str| Plan::parse(&TOGETHER.replace("GROUPS", groups), "p.toml").unwrap_err().to_string();
    assert!(told("[\"log\", \"reader\"]").contains("p.toml:3:20: together: no load has the name \"reader\""));
    assert!(told("[\"log\", \"log\"]").contains("is in the list twice"));
    assert!(told("\"log\"").contains("is no list"));
    assert!(told("[{ loads = [\"log\"], ends = \"last\" }]").contains("together.ends"));
    assert!(told("[{ ends = \"first\" }]").contains("names no loads"));
    let unlike = TOGETHER.replace("GROUPS", "[\"log\", \"readers\"]").replace("[1, 8]", "1\ntrials = 2");
    assert!(Plan::parse(&unlike, "p.toml").unwrap_err().to_string().contains("as many trials: one has 5, another 2"));
}
