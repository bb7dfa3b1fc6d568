//! Tests of the commands that are recommended.

use super::*;
use crate::arguments::CommandLine;
use clap::Parser as _;
use loadline_analysis::example::{self, ExampleDisk};
use loadline_record::{Doubt, DoubtCode};
use loadline_report::{Colour, Columns, verdict_lines};

/// The words of a command line, as a shell takes them apart, without what it redirects.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut characters) = (Vec::new(), None::<String>, false, command.chars());
    while let Some(c) = characters.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' if !quoted => word.get_or_insert_default().extend(characters.next()),
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if let Some(at) = words.iter().position(|word| word == ">") {
        words.drain(at..at + 2);
    }
    words
}

/// Each command of a line is one that loadline takes.
fn assert_typed(line: &str) {
    for command in line.split(" && ") {
        let parsed = CommandLine::try_parse_from(words(command));
        assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
    }
}

fn record(reads: f64) -> RunRecord {
    let load = example::closed("random", reads, 4 << 10, 8);
    let mut record = example::run(vec![example::cell(load, &ExampleDisk::default(), &[1.0])]);
    record.header.plans = vec![PlanText { name: "mine".into(), text: "schema = 1".into(), hash: String::new() }];
    record
}

/// The command for a measurement around the run's only cell.
fn command(record: &RunRecord, measurement: NextMeasurement) -> Option<String> {
    let summary = summarize(record);
    Recommended { summary: &summary, cell: &summary.cells[0] }.command(measurement)
}

#[test]
fn each_measurement_is_a_command_that_loadline_takes() {
    let measured = record(1.0);
    let id = &measured.header.id;
    let label = &measured.cells[0].label;
    let longer = NextMeasurement::Longer { duration_ns: 120_000_000_000 };
    let larger = NextMeasurement::LargerRange { size_bytes: 64 << 30 };
    let plan = format!("loadline show {id} --plan > plan.toml && loadline");
    for (measurement, wanted) in [
        (NextMeasurement::VaryFactors, format!("{plan} hunt plan.toml --cell '{label}' --on /mnt/data")),
        (longer, format!("{plan} run plan.toml --on /mnt/data --trials 1 --duration '2 min'")),
        (larger, format!("{plan} run plan.toml --on /mnt/data --size '64 GiB'")),
        (NextMeasurement::RealStorage, "loadline quick .".to_owned()),
    ] {
        let command = command(&measured, measurement).unwrap();
        assert_eq!(command, wanted);
        assert_typed(&command);
    }
    // Of storage that is only described none is here to be measured.
    let mut predicted = measured.clone();
    predicted.header.clock = Clock::Virtual;
    assert_eq!(command(&predicted, NextMeasurement::RealStorage), None);
}

#[test]
fn targets_that_are_written_to_are_named_twice_and_quoted() {
    let mut record = record(0.5);
    let uri = "nbd+unix:///data?socket=/tmp/it's.sock";
    (record.header.volumes[0].target, record.header.volumes[0].kind) = (uri.into(), TargetKind::Nbd);
    let quoted = r"'nbd+unix:///data?socket=/tmp/it'\''s.sock'";
    let command = command(&record, NextMeasurement::VaryFactors).unwrap();
    assert!(command.ends_with(&format!(" --on {quoted} --overwrite {quoted}")), "{command}");
    assert_eq!(words(&command).last().map(String::as_str), Some(uri));
    assert_typed(&command);
}

#[test]
fn plans_and_environments_that_come_along_are_named() {
    let mut record = record(1.0);
    let known = preset("outstanding-sweep").unwrap();
    record.header.plans[0] = PlanText { name: known.name.into(), text: known.text.into(), hash: String::new() };
    record.header.clock = Clock::Virtual;
    let text = environment_text("ds3-p30").unwrap();
    record.header.environment = Some(PlanText { name: "ds3-p30".into(), text: text.into(), hash: String::new() });
    let named = command(&record, NextMeasurement::VaryFactors).unwrap();
    assert!(named.starts_with("loadline hunt outstanding-sweep --cell "), "{named}");
    assert!(named.ends_with(" --env ds3-p30"), "{named}");
    assert_typed(&named);
    record.header.environment.as_mut().unwrap().text.push_str("# mine");
    let written = command(&record, NextMeasurement::VaryFactors).unwrap();
    let show = format!("loadline show {} --env > environment.toml && loadline hunt ", record.header.id);
    assert!(written.starts_with(&show) && written.ends_with(" --env environment.toml"), "{written}");
    assert_typed(&written);
}

#[test]
fn of_several_plans_the_one_with_the_cell_is_shown() {
    let mut record = record(1.0);
    let plan = |name: &str, depth: u32| {
        let text = format!("schema = 1\nname = \"{name}\"\n[[load]]\nblock = \"4 KiB\"\nqueue_depth = {depth}\n");
        PlanText { name: name.into(), text, hash: String::new() }
    };
    record.header.plans = vec![plan("a", 1), plan("b c", 8)];
    let of_b = read_again(&record.header.plans[1]).unwrap();
    record.cells[0].label = label(of_b.cells().next().unwrap().0);
    let found = command(&record, NextMeasurement::VaryFactors).unwrap();
    assert!(found.starts_with(&format!("loadline show {} --plan='b c' > plan.toml", record.header.id)), "{found}");
    assert_typed(&found);
    // An import has no plan to repeat.
    record.header.plans.clear();
    assert_eq!(command(&record, NextMeasurement::VaryFactors), None);
}

#[test]
fn values_of_the_command_line_are_repeated() {
    let mut record = record(1.0);
    let overrides = Overrides { size: Some(Bytes::gib(1)), trials: Some(5), ..Overrides::default() };
    record.header.settings = serde_json::json!({ "overrides": overrides });
    let hunt = command(&record, NextMeasurement::VaryFactors).unwrap();
    assert!(hunt.ends_with(" --on /mnt/data --size '1 GiB'"), "{hunt}");
    let larger = command(&record, NextMeasurement::LargerRange { size_bytes: 8 << 30 }).unwrap();
    assert!(larger.ends_with(" --trials 5 --size '8 GiB'"), "{larger}");
    for command in [hunt, larger] {
        assert_typed(&command);
    }
}

#[test]
fn a_host_with_a_range_of_its_own_is_kept_off_those_of_others() {
    let mut record = record(0.5);
    record.header.volumes[0].kind = TargetKind::BlockDevice;
    let part = HostPart { rank: Some(HostRank { rank: 1, of: 4 }), own_range: true, ..HostPart::default() };
    record.header.settings = serde_json::json!({ "hosts": part });
    let longer = NextMeasurement::Longer { duration_ns: 120_000_000_000 };
    let larger = NextMeasurement::LargerRange { size_bytes: 8 << 30 };
    for found in [command(&record, longer).unwrap(), measured_again(&record, 5).unwrap()] {
        assert!(found.contains(" --overwrite ") && found.ends_with(" --own-range --rank 1/4"), "{found}");
        assert_typed(&found);
    }
    let larger = command(&record, larger).unwrap();
    assert!(larger.ends_with(" --size '32 GiB' --own-range --rank 1/4"), "{larger}");
    assert_eq!(command(&record, NextMeasurement::VaryFactors), None);
}

#[test]
fn no_single_command_repeats_what_several_hosts_did() {
    let mut record = record(1.0);
    record.header.verb = RunVerb::Merge;
    record.header.volumes[0].target = "/mnt/shared/0, /mnt/shared/1".into();
    for measurement in [NextMeasurement::VaryFactors, NextMeasurement::Longer { duration_ns: 120_000_000_000 }] {
        assert_eq!(command(&record, measurement), None);
    }
    assert_eq!(measured_again(&record, 5), None);
    let summary = with_command(&summarized(&record)).into_owned();
    let last = summary.verdict.unwrap().volumes[0].command.clone().unwrap();
    assert_typed(&last);
    assert!(!last.contains("/mnt/shared"), "{last}");
}

#[test]
fn a_measurement_of_a_plan_says_how_long_it_takes() {
    let mut record = record(1.0);
    let text = "schema = 1\nname = \"mine\"\n[[load]]\nblock = \"4 KiB\"\nqueue_depth = [1, 2, 8]\nwarm_up = \"10 s\"\n\
                duration = \"3 s\"\ntrials = 5\npause = \"0 s\"\n";
    record.header.plans[0].text = text.into();
    record.cells[0].trials[0].doubts = vec![Doubt::written(DoubtCode::ShortRun, "Measured for 3 s.")];
    let summary = summarized(&record);
    let conclusion = &summary.conclusions[0];
    assert!(conclusion.commands[0].contains(" --trials 1 --duration '2 min'"), "{conclusion:?}");
    // Three loads, once each, for 10 s and 2 min.
    assert_eq!(conclusion.takes_ns, Some(390_000_000_000));
    let next = loadline_report::words::next(conclusion).unwrap();
    assert!(next.ends_with(". It takes about 6 min 30 s."), "{next}");
    let verdict = summary.verdict.as_ref().unwrap();
    assert_eq!(verdict.volumes[0].takes_ns, Some(390_000_000_000));
    let lines = verdict_lines(verdict);
    assert!(lines.iter().any(|line| line.text.ends_with("; takes about 6 min 30 s")), "{lines:?}");
    // A model takes no such time.
    record.header.clock = Clock::Virtual;
    assert_eq!(summarized(&record).conclusions[0].takes_ns, None);
}

#[test]
fn a_quick_measurement_is_repeated_as_one_with_more_trials() {
    let mut record = record(1.0);
    record.header.verb = RunVerb::Quick;
    record.header.volumes[0].kind = TargetKind::TestFile;
    record.header.volumes[0].size_bytes = Some(1 << 30);
    let again = measured_again(&record, 5).unwrap();
    assert_eq!(again, "loadline quick /mnt/data --size '1 GiB' --trials 5");
    assert_typed(&again);
    record.header.volumes[0].kind = TargetKind::File;
    record.cells[0].load = self::record(0.0).cells[0].load.clone();
    let again = measured_again(&record, 5).unwrap();
    assert_eq!(again, "loadline quick /mnt/data --overwrite /mnt/data --trials 5");
    assert_typed(&again);
}

#[test]
fn a_run_that_ended_early_is_carried_on() {
    let mut record = record(1.0);
    let mut missing = record.cells[0].clone();
    (missing.id, missing.label) = ("more".into(), "another load".into());
    missing.trials.clear();
    record.cells.push(missing);
    record.status = loadline_record::RunStatus::Interrupted;
    let summary = summarized(&record);
    let command = with_command(&summary).verdict.as_ref().unwrap().volumes[0].command.clone().unwrap();
    assert_eq!(command, format!("loadline run --resume {}", record.header.id));
    assert_typed(&command);
}

#[test]
fn printed_forms_have_each_command_in_one_piece() {
    let mut record = record(1.0);
    let doubt = Doubt::written(DoubtCode::ShortRun, "Measured for 3 s.");
    record.cells[0].trials[0].doubts = vec![doubt];
    let summary = summarized(&record);
    let [longer, ..] = &summary.conclusions[0].commands[..] else { panic!("{:?}", summary.conclusions) };
    assert_typed(longer);
    let options = loadline_report::TerminalOptions { colour: Colour::Never, width: 80, columns: Columns::Fitting };
    let terminal = loadline_report::terminal(&summary, &options);
    assert!(terminal.lines().any(|line| line.trim() == longer), "{terminal}");
    let markdown = loadline_report::markdown(&summary);
    assert!(markdown.contains(&format!("`{longer}`")), "{markdown}");
    let html = loadline_report::html(&[(&record, &summary)]);
    let escaped = longer.replace('&', "&amp;").replace('>', "&gt;").replace('\'', "&#39;");
    assert!(html.contains(&format!("<code>{escaped}</code>")), "{escaped}");
}
