//! Drawn predictions, each held against the rules that no line of a summary contradicts another: a sample by `LOADLINE_TEST_SEED`, more with
//! `LOADLINE_TEST_LONG=1`.

use crate::support::{Bench, built_in, complete, plan};
use loadline_runs::{PredictionSettings, Silent};

const SAMPLE: u64 = 12;
const ALL: u64 = 1_000;

/// A figure below `bound` by a number, as `splitmix64` makes it.
fn drawn(number: u64, place: u64, bound: usize) -> usize {
    let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(place.wrapping_mul(0xD1B5_4A32_D192_ED03));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) % bound as u64) as usize
}

/// A plan of a few loads, most with an objective.
fn load(number: u64) -> String {
    let of = |place: u64, all: &[&str]| all[drawn(number, place, all.len())].to_owned();
    let depths = of(0, &["[1]", "[16]", "[1, 4]", "[1, 8, 64]", "[4, 16, 32]"]);
    let blocks = of(1, &["[\"4 KiB\"]", "[\"8 KiB\"]", "[\"4 KiB\", \"1 MiB\"]", "[\"256 KiB\"]"]);
    let reads = of(2, &["[\"100 %\"]", "[\"0 %\"]", "[\"70 %\"]", "[\"100 %\", \"0 %\"]"]);
    let pattern = of(3, &["random", "random", "sequential"]);
    let limit = of(4, &["p99 = \"5 ms\"", "p99 = \"20 ms\"", "mean = \"3 ms\"", "mean = \"20 ms\"", "p99 = \"1 ms\""]);
    let objective = if drawn(number, 5, 5) == 0 { String::new() } else { format!("objective = {{ {limit} }}\n") };
    format!(
        "schema = 1\nname = \"drawn {number}\"\n[[load]]\npattern = \"{pattern}\"\nreads = {reads}\nblock = {blocks}\n\
         queue_depth = {depths}\nsize = \"8 GiB\"\nwarm_up = \"200 ms\"\nduration = \"1 s\"\ntrials = 2\n{objective}"
    )
}

#[test]
fn no_line_of_a_drawn_prediction_contradicts_another() {
    let is_long = std::env::var("LOADLINE_TEST_LONG").is_ok_and(|value| !value.is_empty() && value != "0");
    let seed: u64 = std::env::var("LOADLINE_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let count = if is_long { ALL } else { SAMPLE };
    println!("{count} of {ALL} predictions, LOADLINE_TEST_SEED={seed}; all with LOADLINE_TEST_LONG=1");
    let bench = Bench::new();
    for number in seed * ALL..seed * ALL + count {
        let names = ["ds3-p30", "d4s-v5-p30", "d4s-v5-p10", "m5-xlarge-gp2"];
        let environment = built_in(names[drawn(number, 6, names.len())]);
        let text = load(number);
        println!("{number}: {text}");
        let predicting = bench.prediction_by(vec![plan(&text)], &environment, PredictionSettings::default());
        complete(predicting.seeded(number).run(&mut Silent::default()));
    }
}
