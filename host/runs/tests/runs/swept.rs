//! Sweeps: rows that do not depend on threads, parts or how often a part is made.

use loadline_advise::AdviceOptions;
use loadline_catalog::Catalog;
use loadline_report::frame::{Frame, FrameValues};
use loadline_report::frame_csv;
use loadline_runs::sweep::{
    AdviceSweep, Part, PredictionSweep, Stopped, SweepMethod, SweptEnvironment, SweptNeed, advice_frame, described_in,
    prediction_frame, swept_catalog,
};
use loadline_runs::{Error, InputKind, Prediction, PredictionSettings, Refusal, RunOptions, Silent, SweepRefusal};
use loadline_workload::Plan;
use std::num::NonZero;

const PLAN: &str = "schema = 1\nname = \"two depths\"\n[[load]]\nblock = \"8 KiB\"\nqueue_depth = [1, 64]\n\
                    warm_up = \"1 s\"\nduration = \"3 s\"\ntrials = 1\n";

fn plan() -> Plan {
    Plan::parse(PLAN, "two depths").unwrap()
}
/// Disks of so many IOPS; the third is no environment.
fn environments(count: u64) -> Vec<SweptEnvironment> {
    let text = |number: u64| {
        if number == 2 {
            return "schema = 1\nname = \"broken\"\n[volume.data]\ndisks = [{ sku = \"nobody/sells-it\" }]\n"
                .to_owned();
        }
        format!(
            "schema = 1\nname = \"e{number}\"\n[[volume.data.disks]]\nsize = \"10 GiB\"\nlimit = {{ iops = \"{} IOPS\" }}\n\
             [volume.data.disks.latency.read]\nmedian = \"500 us\"\np99 = \"1 ms\"\n",
            1_000 + 250 * number
        )
    };
    (0..count).map(|number| SweptEnvironment::Text { name: format!("e{number}"), text: text(number) }).collect()
}
fn sweep(method: SweepMethod, count: u64) -> PredictionSweep {
    let settings = PredictionSettings { draws: 2, ..PredictionSettings::default() };
    PredictionSweep::new(environments(count), vec![plan()], settings, method, 1).unwrap()
}
fn rows(sweep: &PredictionSweep, part: Part, threads: usize) -> Frame {
    prediction_frame(&sweep.run(part, NonZero::new(threads), &|_, _| true).unwrap())
}
fn floats(frame: &Frame, name: &str) -> Vec<Option<f64>> {
    let column = frame.columns().iter().find(|column| column.name == name).unwrap();
    let FrameValues::Float(values) = &column.values else { panic!("{name} has numbers") };
    (0..frame.rows()).map(|row| values.get(row)).collect()
}

#[test]
fn rows_are_the_same_with_any_number_of_threads_and_parts() {
    for (method, count) in [(SweepMethod::Limits, 23), (SweepMethod::Simulation, 5)] {
        let sweep = sweep(method, count);
        let serial = rows(&sweep, Part::WHOLE, 1);
        let text = frame_csv(&serial);
        assert_eq!(frame_csv(&rows(&sweep, Part::WHOLE, 4)), text);
        for of in [2, 7] {
            let mut joined = Frame::default();
            for number in 1..=of {
                let part = Part::new(number, of).unwrap();
                let made = rows(&sweep, part, 2);
                assert_eq!(frame_csv(&rows(&sweep, part, 1)), frame_csv(&made), "a second try of {part}");
                joined.append(made);
            }
            assert_eq!(joined, serial, "{of} parts");
            assert_eq!(frame_csv(&joined), text);
        }
    }
}

#[test]
fn an_environment_with_a_problem_has_a_row_that_says_so_and_spoils_no_other() {
    let found = sweep(SweepMethod::Limits, 5).run(Part::WHOLE, None, &|_, _| true).unwrap();
    let broken: Vec<_> = found.iter().filter(|row| row.problem.is_some()).collect();
    assert_eq!((found.len(), broken.len(), broken[0].environment.as_str()), (9, 1, "e2"));
    assert!(broken[0].problem.as_ref().unwrap().contains("nobody/sells-it"), "{:?}", broken[0].problem);
    assert!(found.iter().all(|row| row.problem.is_some() != row.figures.iops.is_some()));
}

#[test]
fn a_simulated_row_has_the_rate_of_a_prediction_and_limits_come_near_it() {
    let simulated = rows(&sweep(SweepMethod::Simulation, 1), Part::WHOLE, 1);
    let limits = rows(&sweep(SweepMethod::Limits, 1), Part::WHOLE, 1);
    let folder = tempfile::tempdir().unwrap();
    let SweptEnvironment::Text { name, text } = environments(1).remove(0) else { panic!("it is a text") };
    let environment = loadline_catalog::Environment::parse(&text, &name, &Catalog::builtin()).unwrap();
    let settings = PredictionSettings { draws: 2, ..PredictionSettings::default() };
    let options = RunOptions::default().seeded(1).stored_in(folder.path().join("runs.db"));
    let run = Prediction::of(vec![plan()], environment, settings).run(&options, &mut Silent::default()).unwrap();
    let first: Vec<Option<f64>> = run.record.cells.iter().map(|cell| cell.trials[0].iops()).collect();
    assert_eq!(floats(&simulated, "iops"), first);
    for (exact, fluid) in floats(&simulated, "iops").iter().zip(floats(&limits, "iops")) {
        let ratio = exact.unwrap() / fluid.unwrap();
        assert!((0.93..1.07).contains(&ratio), "{exact:?} {fluid:?}");
    }
}

#[test]
fn a_sweep_that_is_stopped_has_no_rows_and_loads_together_are_refused() {
    let sweep = sweep(SweepMethod::Limits, 9);
    assert_eq!(sweep.run(Part::WHOLE, NonZero::new(1), &|done, _| done < 3), Err(Stopped));
    let together =
        PLAN.replace("[[load]]", "[[load]]\nname = \"a\"") + "[[load]]\nname = \"b\"\nblock = \"4 KiB\"\ntrials = 1\n";
    let together = Plan::parse(&format!("together = [\"a\", \"b\"]\n{together}"), "together");
    let Ok(together) = together else { panic!("{together:?}") };
    let refused =
        PredictionSweep::new(environments(1), vec![together], PredictionSettings::default(), SweepMethod::Limits, 1);
    assert!(
        matches!(&refused, Err(Error::Refused(why)) if matches!(**why, Refusal::Sweep(SweepRefusal::NotApart))),
        "{refused:?}"
    );
}

#[test]
fn each_need_has_its_choices_and_one_that_cannot_be_read_says_why() {
    let need = |iops: u64| SweptNeed::Text {
        name: format!("need {iops}"),
        text: format!(
            "schema = 1\niops = \"{iops} IOPS\"\nsize = \"200 GiB\"\nplace = {{ providers = [\"azure\"] }}\n"
        ),
    };
    let needs = vec![need(900), SweptNeed::Text { name: "none".to_owned(), text: "iops = 1".to_owned() }, need(4_000)];
    let options = AdviceOptions { rows: 2, simulate: false, ..AdviceOptions::default() };
    let sweep = AdviceSweep::new(needs, &options, swept_catalog(None).unwrap());
    let of =
        |part: Part, threads| advice_frame(&sweep.run(part, &|_| Ok(()), NonZero::new(threads), &|_, _| true).unwrap());
    let whole = of(Part::WHOLE, 1);
    let mut joined = of(Part::new(1, 2).unwrap(), 2);
    joined.append(of(Part::new(2, 2).unwrap(), 2));
    assert_eq!(frame_csv(&joined), frame_csv(&whole));
    let text = frame_csv(&whole);
    assert_eq!(text.lines().filter(|line| line.starts_with("none,")).count(), 1, "{text}");
    assert!(whole.rows() == 5, "{text}");
}

#[test]
fn files_of_a_folder_come_in_one_order_and_a_folder_without_any_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    for name in ["c.toml", "a.toml", "b/z.toml", "notes.txt"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let found = described_in(folder.path(), InputKind::Environment).unwrap();
    let names: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["a.toml", "b/z.toml", "c.toml"]);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let refused = described_in(&folder.path().join("empty"), InputKind::Need).unwrap_err();
    assert!(refused.to_string().contains("has no file of a need"), "{refused}");
}
