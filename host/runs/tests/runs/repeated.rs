//! Predictions that one trial cannot distinguish are distinguished by more trials.

use crate::support::Bench;
use loadline_analysis::{CompareOptions, Comparison, Verdict, compare};
use loadline_catalog::Catalog;
use loadline_record::RunRecord;
use loadline_runs::{Prediction, PredictionSettings, Silent, read_environment, repeated};
use loadline_workload::Plan;
use std::collections::BTreeSet;

const PLAN: &str = "schema = 1\nname = \"p\"\n[[load]]\nblock = \"8 KiB\"\nqueue_depth = [16]\nsize = \"1 GiB\"\nwarm_up = \"100 ms\"\nduration = \"1 s\"\ntrials = 1\n";

fn predicted(bench: &Bench, environment: &str) -> RunRecord {
    let text = loadline_catalog::environment_text(environment).unwrap();
    let environment = read_environment(text, environment, &Catalog::builtin()).unwrap();
    let settings = PredictionSettings { draws: 1, ..PredictionSettings::default() };
    let prediction = Prediction::of(vec![Plan::parse(PLAN, "p").unwrap()], environment, settings);
    prediction.run(&bench.options().seeded(1), &mut Silent::default()).unwrap().record
}

fn compared(runs: &[&RunRecord]) -> Comparison {
    compare(runs, &CompareOptions::default()).unwrap()
}

#[test]
fn trials_of_a_model_are_repeated_until_chance_is_out_of_the_way() {
    let bench = Bench::new();
    let (one, two) = (predicted(&bench, "pool-1"), predicted(&bench, "pool-2"));
    let first = compared(&[&one, &two]);
    assert_eq!(first.against[0].cells[0].verdict, Verdict::CannotTell, "one trial of a second");
    let cells = |run: &RunRecord| run.cells.iter().map(|cell| cell.id.clone()).collect::<BTreeSet<String>>();
    let more = |run: &RunRecord| repeated(run, &cells(run), 4).expect("it can be repeated");
    let (one_more, two_more) = (more(&one), more(&two));
    assert_eq!((one.cells[0].trials.len(), one_more.cells[0].trials.len()), (1, 4));
    assert_eq!(one_more.cells[0].trials[0], one.cells[0].trials[0], "what is stored stays");
    let rates: BTreeSet<u64> = one_more.cells[0].trials.iter().map(loadline_record::TrialRecord::count).collect();
    assert!(rates.len() > 1, "each trial has chance of its own: {rates:?}");
    let then = compared(&[&one_more, &two_more]);
    assert_eq!(then.against[0].cells[0].verdict, Verdict::Better);
    let ranks: Vec<(u32, u32)> = then.ranking.iter().map(|side| (side.rank, side.side)).collect();
    assert_eq!(ranks, [(1, 1), (2, 0)]);
    assert!(then.ranking[0].score.is_some_and(|score| score > 1.5), "{:?}", then.ranking);
    assert_eq!(repeated(&one_more, &cells(&one), 4), None, "there are as many");
    assert_eq!(repeated(&one, &BTreeSet::new(), 4), None);
}
