//! Outputs that people bring and that are no results of storage: known by their own words, each with what is read instead.

use crate::ImportError;

/// Lines within which an output shows what it is.
const LINES: usize = 60;

/// An output of a tool: it has all of some words, in its first lines.
struct Output {
    marks: &'static [&'static str],
    what: &'static str,
    remedy: &'static str,
}

const ADVISE: &str = "it says what was asked of storage, not what storage can do: give it to `loadline advise`";

const RUN: &str = "measure with `loadline run`, or with fio and --output-format=json";

const OUTPUTS: [Output; 22] = [
    Output {
        marks: &["FIO Benchmark Summary", "IOPS (Read/Write)"],
        what: "kbench's summary, whose figures have no loads",
        remedy: "import the JSON that fio wrote beside it: the files that end in -iops.json, -bandwidth.json and -latency.json",
    },
    Output {
        marks: &["\"customBiggerIsBetter\""],
        what: "the history of github-action-benchmark, whose figures have no loads",
        remedy: "import what the tool wrote that measured",
    },
    Output {
        marks: &["\"customSmallerIsBetter\""],
        what: "the history of github-action-benchmark, whose figures have no loads",
        remedy: "import what the tool wrote that measured",
    },
    Output {
        marks: &["\"name\"", "\"unit\"", "\"value\""],
        what: "a list for github-action-benchmark, whose figures have no loads",
        remedy: "import what the tool wrote that measured",
    },
    Output {
        marks: &["tps = ", "latency average"],
        what: "a result of pgbench, which counts transactions and no requests of storage",
        remedy: "`loadline compare` takes it as the work that was done in each run",
    },
    Output {
        marks: &["SQL statistics:", "transactions:"],
        what: "a result of sysbench on a database, which counts transactions and no requests of storage",
        remedy: "`loadline compare` takes it as the work that was done in each run",
    },
    Output {
        marks: &["ISO Date,Label,Phase,"],
        what: "elbencho's live statistics, whose rows are moments of a phase",
        remedy: "import the file of its --csvfile, which has the results",
    },
    Output {
        marks: &["OPERATION", "RESULT TYPE", "FIRST DONE"],
        what: "elbencho's text, which has no block size, depth or threads",
        remedy: "run it with --csvfile FILE, and import that file",
    },
    Output {
        marks: &["Sequential Output", "Sequential Input"],
        what: "a result of bonnie++, whose figures have neither sizes nor depths",
        remedy: RUN,
    },
    Output {
        marks: &["Iozone: Performance Test"],
        what: "a result of iozone, which has bytes a second and no requests",
        remedy: RUN,
    },
    Output {
        marks: &["Results for timespan", "actual test time"],
        what: "diskspd's text without its input parameters, so that the load is not known",
        remedy: "run diskspd with -Rxml, and import that file",
    },
    Output {
        marks: &["Total IO", "I/O per s"],
        what: "a part of diskspd's text, in which the load is missing",
        remedy: "import all of the text, or run diskspd with -Rxml",
    },
    Output { marks: &["sysbench ", "memory"], what: "a result of sysbench on memory", remedy: RUN },
    Output {
        marks: &["COMM", "DISK", "SECTOR", "LAT(ms)"],
        what: "a trace of bcc's biosnoop: it says what was asked of storage, request by request",
        remedy: "give it to `loadline replay` or `loadline advise`",
    },
    Output { marks: &["CSV output", "\"dsk/"], what: "what dool or dstat recorded", remedy: ADVISE },
    Output { marks: &["\"sysstat\"", "\"hosts\""], what: "what sysstat recorded", remedy: ADVISE },
    Output { marks: &["Linux ", "Device", "r/s"], what: "what iostat recorded", remedy: ADVISE },
    Output { marks: &["Linux ", "Device", "tps"], what: "what iostat recorded", remedy: ADVISE },
    Output { marks: &["Linux ", "DEV", "tps"], what: "what sar recorded", remedy: ADVISE },
    Output {
        marks: &["TIME(ms)", "DISK", "LAT(ms)"],
        what: "the text of bpftrace's biosnoop, which has neither directions nor sizes",
        remedy: "record the requests with `loadline record DEVICE -o app.trace`",
    },
    Output {
        marks: &["I/O size (bytes) histograms"],
        what: "the text of bpftrace's bitesize, which has sizes and no rates",
        remedy: "record the requests with `loadline record DEVICE -o app.trace`",
    },
    Output {
        marks: &["Tracing block device I/O"],
        what: "histograms of bpftrace or bcc, which have no loads",
        remedy: "record the requests with `loadline record DEVICE -o app.trace`",
    },
];

/// What a text of no form is, if it shows that.
pub(crate) fn error(text: &str, source_name: String) -> ImportError {
    let head: String = text.lines().take(LINES).flat_map(|line| ["\n", line]).collect();
    let known = OUTPUTS.iter().find(|output| output.marks.iter().all(|mark| head.contains(mark)));
    match known {
        Some(output) => ImportError::OtherTool { source_name, what: output.what, remedy: output.remedy },
        None => ImportError::Unknown { source_name },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heading of `--livecsv` as elbencho's source has it (`Statistics::prepLiveCSVFile`), and lists as loadline exports them.
    #[test]
    fn what_is_no_result_is_named_with_what_is_read_instead() {
        for (text, name) in [
            ("ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,\n", "elbencho's live"),
            (include_str!("../tests/corpus/github-benchmark.json"), "github-action-benchmark"),
            ("OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n", "elbencho's text"),
            ("Version 1.97  ------Sequential Output------ --Sequential Input- --Random-\n", "bonnie++"),
            ("\tIozone: Performance Test of File I/O\n", "iozone"),
            ("Results for timespan 1:\n****\n\nactual test time:\t5.00s\n", "without its input parameters"),
            ("Total IO\nthread |  bytes |  I/Os | MB/s |  I/O per s |  file\n", "a part of diskspd's text"),
            ("TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n", "biosnoop"),
            ("SQL statistics:\n    transactions:                        819    (155.46 per sec.)\n", "sysbench"),
        ] {
            let told = error(text, "f".to_owned()).to_string();
            assert!(told.starts_with("f is ") && told.contains(name), "{told}");
        }
        assert!(matches!(error("{}", "f".to_owned()), ImportError::Unknown { .. }));
    }
}
