//! A run of several hosts: the table of their shares, in every form.

use crate::golden::compare;
use loadline_analysis::example::{ExampleDisk, cell, closed, run};
use loadline_analysis::{ClockReading, HostRun, RunSummary, merge_hosts, summarize};
use loadline_record::{RunRecord, RunVerb};
use loadline_report::{Colour, Columns, TerminalOptions, html, markdown, terminal};

/// When the first host began, ns since 1970.
const BEGAN: u64 = 1_800_000_000_000_000_000;

/// Three hosts, of which the last has half of the others' rate; the clock of the second was compared before and after.
fn of_three() -> (RunRecord, RunSummary) {
    let host = |name: &str, share: f64, later_ns: u64| {
        let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[share])]);
        record.header.id = format!("run-{name}");
        record.header.verb = RunVerb::Run;
        record.header.host.hostname = Some(name.to_owned());
        record.header.host.boot_id = Some(name.to_owned());
        for trial in &mut record.cells[0].trials {
            trial.measured_from_unix_ns = Some(BEGAN + later_ns);
        }
        HostRun::new(name.to_owned(), record)
    };
    let reading = |at_unix_ns, offset_ns| ClockReading { at_unix_ns, offset_ns, error_ns: 210_000, exchanges: 100 };
    let compared = |run: HostRun, ahead| HostRun {
        readings: vec![reading(BEGAN - 60_000_000_000, ahead), reading(BEGAN + 600_000_000_000, ahead + 660_000)],
        ..run
    };
    let hosts = [
        compared(host("node1", 1.0, 0), 0),
        compared(host("node2", 1.0, 5_000_000_000), 4_999_000_000),
        compared(host("node3", 0.5, 400_000), 0),
    ];
    let mut record = hosts[0].record.clone();
    record.header.verb = RunVerb::Merge;
    "example on 3 hosts".clone_into(&mut record.header.name);
    record.cells = merge_hosts(&hosts).expect("runs of one plan");
    let summary = summarize(&record);
    (record, summary)
}

#[test]
fn shares_of_hosts_have_a_line_each_with_the_one_that_stayed_behind() {
    let (record, summary) = of_three();
    let text = terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 140, columns: Columns::Fitting });
    compare("hosts-140.txt", &text);
    compare("hosts.md", &markdown(&summary));
    let view = summary.cells[0].hosts.as_ref().expect("it is of several hosts");
    assert_eq!(view.stragglers.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["node3"]);
    assert_eq!(view.hosts[1].clock_offset_ns.map(|ns| ns / 1_000_000), Some(4_999));
    let page = html(&[(&record, &summary)]);
    for words in ["node1", "node2", "node3", "began after", "stayed behind"] {
        assert!(page.contains(words), "{words}");
    }
}
