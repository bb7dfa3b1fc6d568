//! A run in every form: for people, for programs, and in the words of other tools. The forms hold the same figures.

use crate::or_skip;
use crate::support::devices::run;
use crate::support::inputs::{CELLS, VARIED, csv_rows};
use crate::support::{Bench, built_in, cells, complete, plan, quick_on, schema_errors, summary, whole};
use loadline_analysis::{RunSummary, summarize};
use loadline_engine::{EngineChoice, EngineOptions, WaitMode};
use loadline_record::RunRecord;
use loadline_runs::{PredictionSettings, Settings, Silent, sole_target};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A run of these loads on test files, measured once.
pub(crate) fn measured() -> &'static (RunRecord, RunSummary) {
    static MEASURED: OnceLock<(RunRecord, RunSummary)> = OnceLock::new();
    MEASURED.get_or_init(|| {
        let bench = Bench::new();
        let record = bench.measured(VARIED, &bench.target());
        let summary = summarize(&record);
        (record, summary)
    })
}

/// The figures of a cell that every form shows: what the CSV calls them, where they are in the JSON, and whether the HTML's
/// table of results has a column for them.
const FIGURES: [(&str, &str, bool); 17] = [
    ("total_iops", "/total/iops", true),
    ("total_low_iops", "/total/iops_low", false),
    ("total_high_iops", "/total/iops_high", false),
    ("total_throughput_bytes_per_s", "/total/throughput_bytes_per_s", true),
    ("offered_iops", "/offered_iops", true),
    ("read_iops", "/read/iops", false),
    ("read_latency_mean_ns", "/read/latency_ns/mean", true),
    ("read_latency_p50_ns", "/read/latency_ns/p50", false),
    ("read_latency_p99_ns", "/read/latency_ns/p99", true),
    ("read_latency_p99_9_ns", "/read/latency_ns/p99_9", true),
    ("read_latency_max_ns", "/read/latency_ns/max", false),
    ("write_iops", "/write/iops", false),
    ("write_latency_mean_ns", "/write/latency_ns/mean", true),
    ("write_latency_p99_ns", "/write/latency_ns/p99", true),
    ("flush_iops", "/flush/iops", false),
    ("flush_latency_p99_ns", "/flush/latency_ns/p99", true),
    ("errors_count", "/errors", false),
];

#[test]
fn json_csv_and_html_hold_the_same_figures() {
    let (record, of_run) = measured();
    let csv = csv_rows(&loadline_report::csv(of_run));
    let html = loadline_report::html(&[(record, of_run)]);
    let table = html.split_once("<table class=\"results\">").unwrap().1.split_once("</table>").unwrap().0;
    let bodies: Vec<&str> = table.split("<tbody>").skip(1).collect();
    let cells = cells(record);
    assert_eq!((cells.len(), csv.len(), bodies.len()), (CELLS, CELLS, CELLS));
    let mut compared = 0;
    for ((cell, row), body) in cells.iter().zip(&csv).zip(bodies) {
        assert_eq!((cell["id"].as_str().unwrap(), cell["label"].as_str().unwrap()), (&*row["cell_id"], &*row["label"]));
        // Exact values, as the table sorts by them.
        let shown: Vec<f64> =
            body.split("data-v=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
        for (column, pointer, in_table) in FIGURES {
            let figure = cell.pointer(pointer).and_then(Value::as_f64);
            assert_eq!(row[column].parse().ok(), figure, "{column} of {}", cell["label"]);
            if let Some(figure) = figure.filter(|_| in_table) {
                assert!(shown.contains(&figure), "{pointer} = {figure} of {} is in {shown:?}", cell["label"]);
                compared += 1;
            }
        }
    }
    assert!(compared >= CELLS * 4, "{compared}");
}

#[test]
fn results_follow_the_published_schema() {
    let (record, _) = measured();
    assert_eq!(schema_errors("run.schema.json", &summary(record)), Vec::<String>::new());
    let bench = Bench::new();
    let quick = quick_on("null").run(&bench.options(), &mut Silent::default()).unwrap().unwrap().record;
    assert_eq!(schema_errors("run.schema.json", &summary(&quick)), Vec::<String>::new());
    assert!((16..=17).contains(&quick.cells.len()), "one more where a deeper queue reaches more");
}

#[test]
fn the_seconds_of_a_trial_are_what_its_figures_were_made_of() {
    let (record, _) = measured();
    let cell = &record.cells[2];
    let of_results = &cells(record)[2];
    for operation in [loadline_block::Operation::Read, loadline_block::Operation::Write] {
        let seconds = cell.trials.iter().flat_map(|trial| &trial.series.seconds);
        let requests: u64 = seconds.map(|second| second.of(operation).count).sum();
        let shown = of_results[operation.name()]["iops"].as_f64().unwrap();
        let mean = requests as f64 / 2.0 / 0.3;
        assert!((mean - shown).abs() <= shown * 1e-6, "{}: {mean} {shown}", operation.name());
    }
}

#[test]
fn exported_loads_tell_every_cell_from_every_other_and_how_it_was_driven() {
    let bench = Bench::new();
    let threads = |target: &str| Settings {
        engine: EngineOptions { engine: EngineChoice::Threads, ..EngineOptions::default() },
        ..Settings::of(sole_target(target))
    };
    let head = "schema = 1\nname = \"p\"\n";
    let load = |keys: &str| {
        format!(
            "[[load]]\nblock = \"4 KiB\"\nsize = \"4 MiB\"\nwarm_up = \"0 s\"\nduration = \"5 ms\"\ntrials = 1\n{keys}\n"
        )
    };
    let loads = [
        load(
            "distribution = [\"uniform\", \"permutation\", { zipf = 1.2 }, { zipf = 0.9 }, { hot = { requests = \"80 %\", blocks = \"20 %\" } }]",
        ),
        load("reads = \"0 %\"\nflush = { every = [1, 8], how = [\"fdatasync\", \"fua\"] }"),
        load("pattern = \"sequential\"\nstride = [\"8 KiB\", \"16 KiB\"]"),
        load("reads = \"50 %\"\ntrims = [\"0 %\", \"20 %\"]\nthink_time = [\"0 s\", \"10 us\"]"),
        load("align = \"8 KiB\"\nstart = [\"0 B\", \"1 MiB\"]"),
        load("reads = \"0 %\"\ncompressible = \"50 %\"\nduplicate = \"10 %\"")
            .replace("block = \"4 KiB\"", "block = [\"2560 B\", { \"2 KiB\" = \"50 %\", \"3 KiB\" = \"50 %\" }]"),
    ];
    let record = whole(bench.measurement_by(&format!("{head}{}", loads.concat()), threads("null")));
    let cells = cells(&record);
    assert_eq!(cells.len(), 19);
    for (index, cell) in cells.iter().enumerate() {
        assert_eq!(cell["engines"][0]["name"], "null");
        assert_eq!(cell["engines"][0]["reason"], "the target is null");
        let same = cells[..index].iter().find(|other| other["load"] == cell["load"]);
        assert!(same.is_none(), "{:#}\n{:#}", cell["load"], same.unwrap()["label"]);
    }
    let csv = loadline_report::csv(&summarize(&record));
    let heading: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    for column in
        ["distribution", "stride_bytes", "flush_every_writes", "flush_method", "block_mix_bytes", "engine_reason"]
    {
        assert!(heading.contains(&column), "{column}");
    }
    assert!(csv.contains("2048:0.5 3072:0.5") && csv.contains(",null,the target is null,"), "{csv}");

    let record = whole(bench.measurement_by(&format!("{head}{}", load("files = [1, 2]")), threads(&bench.target())));
    let run = summary(&record);
    let files: Vec<&Value> = run["cells"].as_array().unwrap().iter().map(|cell| &cell["load"]["files"]).collect();
    assert!(files.len() == 2 && files.iter().any(|files| **files == 2), "{files:?}");
    assert_eq!(run["cells"][0]["engines"][0]["name"], "threads");
}

#[test]
fn how_threads_wait_is_the_callers_choice_and_stands_in_the_record() {
    let bench = Bench::new();
    let text =
        "schema = 1\nname = \"p\"\n[[load]]\nsize = \"4 MiB\"\nduration = \"100 ms\"\nwarm_up = \"0 s\"\ntrials = 1\n";
    let options = |wait| {
        let engine = EngineOptions { wait, ..EngineOptions::default() };
        let settings = Settings { engine, ..Settings::of(sole_target(&bench.target())) };
        let engine = cells(&whole(bench.measurement_by(text, settings)))[0]["engines"][0].clone();
        let is_awake = engine["options"].to_string().contains("waiting awake");
        (engine["name"] == "io_uring" && is_awake, engine["name"].clone())
    };
    let (awake, name) = options(WaitMode::default());
    if name == "io_uring" {
        assert!(awake);
    } else {
        println!("skipped: io_uring (the engine is {name})");
    }
    assert!(!options(WaitMode::Asleep).0);
}

#[test]
fn what_fio_has_no_words_for_stands_beside_each_job() {
    let (record, of_run) = measured();
    let run = summary(record);
    let told: Value = serde_json::from_str(&loadline_exported::fio::fio(record, of_run)).unwrap();
    for job in told["jobs"].as_array().unwrap() {
        let own = &job["loadline"];
        let cells = run["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["id"] == own["cell"]).expect("it names its cell");
        assert_eq!(own["binding"]["limit"], cell["binding"]["limit"]);
        // Nobody knows of which direction an arrival is that was never issued: none counts it.
        assert_eq!(own["missed"].is_u64(), !cell["offered_iops"].is_null(), "{own}");
        assert!(["read", "write", "trim"].iter().all(|of| job[of]["drop_ios"].is_null()), "{job}");
        let codes = |of: &Value| -> Vec<String> {
            let mut codes: Vec<String> =
                of["doubts"].as_array().unwrap().iter().map(|d| d["code"].as_str().unwrap().to_owned()).collect();
            codes.sort();
            codes.dedup();
            codes
        };
        assert!(codes(own).iter().all(|code| codes(cell).contains(code)) && !codes(own).is_empty(), "{own}");
        assert_eq!(own["not_in_options"].as_array().map(Vec::len), Some(0), "{own}");
    }
}

#[test]
fn fios_own_tool_reads_the_histograms() {
    let tool = "fio_jsonplus_clat2csv";
    if Command::new(tool).arg("--help").output().is_err() {
        eprintln!("skipped: {tool} of fio's package is not installed");
        return;
    }
    let bench = Bench::new();
    let (record, of_run) = measured();
    let told = loadline_exported::fio::fio(record, of_run);
    bench.file("fio.json", &told);
    let told: Value = serde_json::from_str(&told).unwrap();
    let output = Command::new(tool).args(["fio.json", "latencies.csv"]).current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let first = &told["jobs"][0]["read"];
    let table = std::fs::read_to_string(bench.path("latencies_job0.csv")).unwrap();
    let last = table.lines().last().unwrap();
    let cells: Vec<&str> = last.split(',').map(str::trim).collect();
    let bins = first["clat_ns"]["bins"].as_object().unwrap();
    let slowest: u64 = bins.keys().map(|ns| ns.parse().unwrap()).max().unwrap();
    assert_eq!(cells[0].parse::<u64>().unwrap(), slowest, "{last}");
    let counted: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, first["total_ios"].as_u64().unwrap());
}

#[test]
fn each_job_of_fio_has_a_file_that_a_folder_of_its_kind_tells_from_the_others() {
    let (record, of_run) = measured();
    let whole: Value = serde_json::from_str(&loadline_exported::fio::fio(record, of_run)).unwrap();
    let files = loadline_exported::fio::fio_files(record, of_run);
    let jobs = whole["jobs"].as_array().unwrap();
    assert_eq!(files.len(), jobs.len());
    let mut seen = std::collections::BTreeSet::new();
    for ((path, text), job) in files.iter().zip(jobs) {
        let file: Value = serde_json::from_str(text).unwrap();
        let [only] = &file["jobs"].as_array().unwrap()[..] else { panic!("{path} has one job") };
        for key in ["jobname", "read", "write", "job options", "latency_ns", "latency_us", "latency_ms", "loadline"] {
            assert_eq!(only[key], job[key], "{key} of {path}");
        }
        let (folder, name) = path.rsplit_once('/').expect("cells have several trials and blocks");
        assert!(folder.ends_with(&format!("trial-{}", job["loadline"]["trial"])), "{path}");
        let options = &job["job options"];
        // What charts are made by; the order of an open loop is not one.
        assert!(options["iodepth"].is_string() && options["filename"].is_null(), "{options}");
        assert!(options["directory"].is_string(), "a directory is no file: {options}");
        let of = |key: &str| options[key].as_str().unwrap().to_owned();
        assert!(name.contains(&of("rw")) && name.contains(&format!("numjobs-{}", of("numjobs"))), "{name}");
        if options["rate_iops"].is_null() {
            assert!(seen.insert((folder, of("rw"), of("iodepth"), of("numjobs"))), "{path}");
        }
    }
}

#[test]
fn fios_bins_of_completion_times_count_every_request_once() {
    let (record, of_run) = measured();
    let told: Value = serde_json::from_str(&loadline_exported::fio::fio(record, of_run)).unwrap();
    for job in told["jobs"].as_array().unwrap() {
        let bins = |key: &str| -> Vec<(String, f64)> {
            let of = job[key].as_object().unwrap();
            of.iter().map(|(name, share)| (name.clone(), share.as_f64().unwrap())).collect()
        };
        let all = ["latency_ns", "latency_us", "latency_ms"].map(bins).concat();
        // On a machine that is busy with all else, a short open loop may have come to nothing.
        if ["read", "write"].iter().all(|of| job[of]["total_ios"] == 0) {
            assert!(all.is_empty(), "{job}");
            continue;
        }
        let sum: f64 = all.iter().map(|(_, share)| share).sum();
        assert!((sum - 100.0).abs() < 1e-6, "{sum} of {job}");
        // The slowest request lies in the last bin that is filled, by fio's own histogram beside it.
        let slowest_ns =
            ["read", "write"].iter().filter_map(|of| job[of]["clat_ns"]["max"].as_f64()).fold(0.0, f64::max);
        let unit = if slowest_ns < 1e3 {
            "latency_ns"
        } else if slowest_ns < 1e6 {
            "latency_us"
        } else {
            "latency_ms"
        };
        let filled = bins(unit).iter().any(|(_, share)| *share > 0.0);
        // A bucket's middle may lie on the other side of a bound than its largest value.
        let is_near_a_bound = [1e3, 1e6].iter().any(|bound| (slowest_ns / bound - 1.0).abs() < 0.02);
        assert!(filled || is_near_a_bound, "{slowest_ns} ns: {all:?}");
    }
}

/// The rules that promtool's linter and node_exporter's collector apply to text: names, types, help, one block for each family.
fn refused_by_prometheus(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let (mut helped, mut typed): (BTreeMap<&str, &str>, BTreeMap<&str, &str>) = (BTreeMap::new(), BTreeMap::new());
    let (mut closed, mut current, mut seen) = (Vec::new(), "", Vec::new());
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            if help.is_empty() || helped.insert(name, help).is_some() {
                problems.push(format!("help of {name}"));
            }
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            if !["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind) {
                problems.push(format!("unknown metric type {kind:?}"));
            }
            if typed.insert(name, kind).is_some() || closed.contains(&name) {
                problems.push(format!("{name} comes twice"));
            }
            closed.push(current);
            current = name;
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap();
            let legal =
                |name: &str| name.bytes().all(|of| of.is_ascii_lowercase() || of.is_ascii_digit() || of == b'_');
            if name != current || !legal(name) || !helped.contains_key(name) {
                problems.push(format!("a sample of {name} after {current}"));
            }
            let kind = typed.get(name).copied().unwrap_or_default();
            if (labels.contains("quantile=") && kind != "summary")
                || (labels.contains(",le=") && kind != "histogram")
                || (name.ends_with("_total") && kind != "counter")
                || ["_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end))
                || ["gauge", "counter", "summary", "histogram"].iter().any(|of| name.ends_with(&format!("_{of}")))
                || ["milliseconds", "_ms", "microseconds", "kilobytes", "megabytes", "bits"]
                    .iter()
                    .any(|of| name.contains(of))
            {
                problems.push(format!("the name of {name}"));
            }
            // A sample has no timestamp, and occurs once.
            if value.parse::<f64>().is_err() || !series.ends_with('}') || seen.contains(&series) {
                problems.push(format!("the sample {line}"));
            }
            seen.push(series);
        }
    }
    problems
}

#[test]
fn prometheus_its_linter_and_node_exporter_take_the_metrics() {
    let (_, of_run) = measured();
    let text = loadline_exported::openmetrics(of_run, Some(1_769_868_153));
    assert_eq!(refused_by_prometheus(&text), Vec::<String>::new());
    assert!(!refused_by_prometheus(&text.replace("loadline_run_info gauge", "loadline_run_info info")).is_empty());
    assert!(!refused_by_prometheus(&text.replacen("# HELP", "# ", 1)).is_empty());
    let bench = Bench::new();
    let file = bench.file("run.prom", &text);
    let given = std::fs::File::open(file).unwrap();
    let Some(promtool) = crate::support::peer("promtool") else {
        println!("skipped: promtool itself (it is not there: cargo xtask test --long, or Debian's package prometheus)");
        return;
    };
    let output = Command::new(promtool).args(["check", "metrics"]).stdin(given).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn fio_plot_draws_its_charts_of_the_exported_folder() {
    let Some(fio_plot) = crate::support::peer("fio-plot") else {
        println!("skipped: fio-plot (it is not there: cargo xtask test --long)");
        return;
    };
    let bench = Bench::new();
    let (record, of_run) = measured();
    for (path, text) in loadline_exported::fio::fio_files(record, of_run) {
        // Only closed loops of one block have a depth to plot by.
        if path.contains("iodepth") {
            std::fs::create_dir_all(bench.path(&format!("fio/{path}")).parent().unwrap()).unwrap();
            std::fs::write(bench.path(&format!("fio/{path}")), text).unwrap();
        }
    }
    let folder = "fio/4096/trial-0";
    for (name, chart) in [
        ("iops and latency", "-l -r randread -d 1 4 -n 1"),
        ("by depth and jobs", "-L -t iops -r randread -d 1 4 -n 1"),
        ("latency by depth and jobs", "-L -t lat -r randread -d 1 4 -n 1"),
        ("histogram", "-H -r randread -d 1 -n 1"),
        ("by jobs", "-N -r randread -d 1 -n 1"),
    ] {
        let picture = format!("{}.png", name.replace(' ', "-"));
        let output = Command::new(&fio_plot)
            .args(["-i", folder, "-T", name, "-o", &picture])
            .args(chart.split(' '))
            .current_dir(bench.path(""))
            .env("MPLBACKEND", "Agg")
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::metadata(bench.path(&picture)).unwrap().len() > 1_000, "{name}");
    }
}

#[test]
fn continuous_benchmarks_get_every_figure_with_its_unit_and_range() {
    use loadline_exported::{Improvement, benchmarks};
    let (_, of_run) = measured();
    let list = |of| -> Vec<Value> { serde_json::from_str(&benchmarks(of_run, of)).unwrap() };
    let (bigger, smaller) = (list(Improvement::Bigger), list(Improvement::Smaller));
    assert_eq!(bigger.len(), 2 * CELLS);
    let mut names: Vec<&str> = bigger.iter().chain(&smaller).map(|of| of["name"].as_str().expect("a name")).collect();
    for entry in bigger.iter().chain(&smaller) {
        assert!(entry["value"].is_f64() && entry["unit"].is_string() && entry["extra"].is_string(), "{entry}");
    }
    for (entry, cell) in bigger.chunks(2).zip(&of_run.cells) {
        let total = cell.total.as_ref().unwrap();
        assert_eq!(entry[0]["value"].as_f64(), Some(total.iops));
        let half = total.iops_low.zip(total.iops_high).map(|(low, high)| format!("± {}", (high - low) / 2.0));
        assert_eq!(entry[0]["range"].as_str().map(str::to_owned), half);
        assert!(cell.doubts.iter().all(|doubt| entry[0]["extra"].as_str().unwrap().contains(doubt.code.name())));
    }
    let before = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), before, "each name once");
}

#[test]
fn a_run_in_a_file_is_the_run_of_the_store() {
    let bench = Bench::new();
    let (record, _) = measured();
    let file = bench.file("baseline.json", loadline_runs::record_text(record));
    assert_eq!(loadline_runs::read_record(&file).unwrap(), *record);
    for (text, words) in [
        ("{}", "loadline.record/1"),
        ("{\"schema\": \"loadline.run/1\", \"cells\": []}", "loadline.run/1"),
        ("[", "is no whole run"),
    ] {
        let error = loadline_runs::read_record(bench.file("other.json", text)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_comparison_in_junits_words_has_a_case_for_each_cell() {
    use loadline_analysis::{CompareOptions, Undecided, Verdict, compare};
    let (record, _) = measured();
    let mut other = record.clone();
    other.header.id.push('b');
    other.cells.pop();
    let mut comparison = compare(&[record, &other], &CompareOptions::default()).unwrap();
    comparison.against[0].cells[0].verdict = Verdict::Worse;
    comparison.against[0].cells[1].verdict = Verdict::CannotTell;
    comparison.against[0].cells[1].undecided = Some(Undecided::NoRatio);
    comparison.against[0].cells[1].label = "too <few> \"trials\"\u{1}".to_owned();
    for cell in &mut comparison.against[0].cells[2..] {
        cell.verdict = Verdict::Same;
    }
    let text = loadline_exported::junit(&comparison, false);
    assert!(
        text.contains("too &lt;few&gt; &quot;trials&quot;") && text.contains("<skipped message=\"no cell has"),
        "{text}"
    );
    assert!(text.contains("only the baseline has this cell"), "{text}");
    let counts = format!("tests=\"{CELLS}\" failures=\"1\" errors=\"0\" skipped=\"2\"");
    assert_eq!(text.matches(&counts).count(), 2, "{text}");
    assert_eq!((text.matches("<testcase ").count(), text.matches("<failure message=\"worse: ").count()), (CELLS, 1));
    let strict = loadline_exported::junit(&comparison, true);
    assert!(strict.contains("failures=\"3\" errors=\"0\" skipped=\"0\""), "{strict}");
    let Some(output) =
        run("python3", &["-c", "import sys, xml.dom.minidom as m; m.parseString(sys.argv[1].encode())", &text])
    else {
        println!("skipped: the XML in another parser (python3 is not there)");
        return;
    };
    assert_eq!(output, "");
}

#[test]
fn rows_by_trial_and_second_stand_for_themselves_and_hold_the_figures_of_the_record() {
    use loadline_report::frame::{self, Frame, FrameValues};
    let (record, of_run) = measured();
    let column = |frame: &Frame, name: &str| -> FrameValues {
        let found = frame.columns().iter().find(|column| column.name == name);
        found.unwrap_or_else(|| panic!("no column {name}")).values.clone()
    };
    let (cells, trials, seconds) = (frame::cells(of_run), frame::trials(record), frame::seconds(record));
    assert_eq!(loadline_report::frame_csv(&cells), loadline_report::csv(of_run));
    let all: Vec<_> = record.cells.iter().flat_map(|cell| cell.trials.iter().map(move |trial| (cell, trial))).collect();
    assert_eq!((cells.rows(), trials.rows()), (CELLS, all.len()));
    for table in [&cells, &trials, &seconds] {
        let FrameValues::Moment(started) = column(table, "run_started") else { panic!("a point in time") };
        let FrameValues::Text(target) = column(table, "target") else { panic!("words") };
        let FrameValues::Whole(block) = column(table, "block_bytes") else { panic!("a count") };
        let unix_us = started.get(0).unwrap();
        assert_eq!(loadline_report::Moment { unix_us }.to_string(), record.header.started);
        assert_eq!(target.get(0), Some(record.header.volumes[0].target.as_str()));
        assert_eq!((started.missing(), block.missing()), (0, 0));
    }
    let FrameValues::Float(iops) = column(&trials, "read_iops") else { panic!("a number") };
    let FrameValues::Whole(p99) = column(&trials, "read_latency_p99_ns") else { panic!("a count") };
    for (row, (cell, trial)) in all.iter().enumerate() {
        let read = trial.operations.get(&loadline_block::Operation::Read);
        let wanted = read.map(|read| read.count as f64 * 1e9 / trial.measured_ns as f64);
        assert_eq!(iops.get(row), wanted, "{}", cell.label);
        let wanted =
            read.and_then(loadline_record::OperationRecord::figures).and_then(|of| of.p99).map(u64::cast_signed);
        assert_eq!(p99.get(row), wanted, "{}", cell.label);
    }
    let FrameValues::Whole(requests) = column(&seconds, "requests_count") else { panic!("a count") };
    let counted: i64 = (0..seconds.rows()).filter_map(|row| requests.get(row)).sum();
    let of_record: u64 =
        all.iter().flat_map(|(_, trial)| &trial.series.seconds).map(loadline_record::Second::count).sum();
    assert_eq!(counted.cast_unsigned(), of_record);
    assert!(counted > 0);
}

/// Samples of OpenMetrics: name, labels, value.
fn samples(text: &str) -> Vec<(String, BTreeMap<String, String>, f64)> {
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let of_line = |line: &str| {
        let (name, rest) = line.split_once('{').unwrap();
        let (labels, value) = rest.rsplit_once("} ").unwrap();
        let mut all = BTreeMap::new();
        let mut rest = labels;
        while let Some((key, after)) = rest.split_once("=\"") {
            let mut end = 0;
            while after.as_bytes()[end] != b'"' {
                end += if after.as_bytes()[end] == b'\\' { 2 } else { 1 };
            }
            all.insert(
                key.trim_start_matches(',').to_owned(),
                after[..end].replace("\\\"", "\"").replace("\\\\", "\\"),
            );
            rest = &after[end + 1..];
        }
        (name.to_owned(), all, value.parse().unwrap())
    };
    text.lines().filter(|line| !line.starts_with('#')).map(of_line).collect()
}

#[test]
fn openmetrics_holds_the_figures_with_what_to_doubt() {
    let (record, of_run) = measured();
    let run = summary(record);
    let told = loadline_exported::openmetrics(of_run, None);
    let all = samples(&told);
    let of = |name: &str, cell: &Value, more: &[(&str, &str)]| -> Vec<f64> {
        all.iter()
            .filter(|(own, labels, _)| own == name && labels.get("cell").map(String::as_str) == cell["id"].as_str())
            .filter(|(_, labels, _)| {
                more.iter().all(|(key, value)| labels.get(*key).map(String::as_str) == Some(value))
            })
            .map(|(_, _, value)| *value)
            .collect()
    };
    for cell in run["cells"].as_array().unwrap() {
        assert_eq!(of("loadline_cell_info", cell, &[("label", cell["label"].as_str().unwrap())]), [1.0]);
        for operation in ["read", "write", "flush"] {
            let wanted: Vec<f64> = cell[operation]["iops"].as_f64().into_iter().collect();
            assert_eq!(
                of("loadline_iops", cell, &[("operation", operation)]),
                wanted,
                "{operation} of {}",
                cell["label"]
            );
            let p99 = cell[operation]["latency_ns"]["p99"].as_f64().map(|ns| ns / 1e9);
            let told = of("loadline_latency_seconds", cell, &[("operation", operation), ("quantile", "0.99")]);
            assert_eq!(told, p99.into_iter().collect::<Vec<f64>>());
        }
        let limit = cell["binding"]["limit"].as_str().unwrap();
        assert_eq!(of("loadline_binding_info", cell, &[("limit", limit)]), [1.0]);
        for doubt in cell["doubts"].as_array().unwrap() {
            assert_eq!(of("loadline_doubt_info", cell, &[("code", doubt["code"].as_str().unwrap())]), [1.0]);
        }
    }
    // Each family is printed once, before its samples.
    let families: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let mut names = families.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), families.len(), "{families:?}");
}

/// Two blocks at two depths.
const FOUR_CELLS: &str = "schema = 1\nname = \"p\"\n[[load]]\nblock = [\"4 KiB\", \"8 KiB\"]\nqueue_depth = [1, 2]\nsize = \"4 MiB\"\n\
                    warm_up = \"0 s\"\nduration = \"50 ms\"\ntrials = 1\n";
/// A browser that takes longer is not waited for.
const PRINT_TIME: Duration = Duration::from_secs(60);

/// The text of a page as it is printed; `None` where there is no browser.
fn printed(bench: &Bench, page: &str, name: &str) -> Option<String> {
    let (html, pdf, profile) = (bench.file(&format!("{name}.html"), page), bench.path(name), bench.path("profile"));
    let mut browser = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-pdf-header-footer",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{html}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let started = Instant::now();
    while browser.try_wait().ok()?.is_none() {
        if started.elapsed() > PRINT_TIME {
            browser.kill().ok()?;
            browser.wait().ok()?;
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    run("pdftotext", &["-layout", pdf.to_str()?, "-"])
}

#[test]
fn what_is_folded_is_printed_open_with_and_without_javascript() {
    let bench = Bench::new();
    let record = bench.measured(FOUR_CELLS, "null");
    let page = loadline_report::html(&[(&record, &summarize(&record))]);
    assert_eq!(page.matches("<details class=\"cell\"").count(), 4);
    let (before, rest) = page.split_once("<script>").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    for (name, page) in [("scripted", page.clone()), ("plain", format!("{before}{after}"))] {
        let text = or_skip!(printed(&bench, &page, name), "it takes chromium and pdftotext");
        let all = text.matches("p99.99").count();
        assert!(
            all >= 4,
            "{name}: the far percentiles stand in the folded cells, and are printed {all} times:\n{text}"
        );
        assert!(text.contains("duration = \"50 ms\""), "{name}: the plan's text is folded:\n{text}");
    }
}

#[test]
fn sixteen_cells_take_few_pages_and_the_first_three_tell_what_matters() {
    let bench = Bench::new();
    let text = "schema = 1\nname = \"p\"\n[[load]]\npattern = [\"random\"]\nreads = [\"100 %\", \"0 %\"]\nblock = [\"4 KiB\", \"64 KiB\"]\n\
         queue_depth = [1, 4, 16, 64]\nwarm_up = \"200 ms\"\nduration = \"2 s\"\ntrials = 1\nobjective = { p99 = \"20 ms\" }\n";
    let settings = PredictionSettings { draws: 3, ..PredictionSettings::default() };
    let prediction = bench.prediction_by(vec![plan(text)], &built_in("ds3-p30"), settings).seeded(1);
    let record = complete(prediction.run(&mut Silent::default()));
    let page = loadline_report::html(&[(&record, &summarize(&record))]);
    assert_eq!(page.matches("<details class=\"cell\"").count(), 16);
    let text = or_skip!(printed(&bench, &page, "sixteen"), "it takes chromium and pdftotext");
    let pages: Vec<&str> = text.trim_end_matches('\x0c').split('\x0c').collect();
    assert!(pages.len() <= 12, "{} pages", pages.len());
    let first = pages[..3].concat();
    for heading in ["Findings", "Charts", "Results", "Doubts", "p99 latency against load"] {
        assert!(first.contains(heading), "{heading} is not on the first three pages:\n{first}");
    }
    // Each cell has its three charts, and none twice.
    let charts = |heading: &str| text.matches(heading).count();
    assert_eq!(charts("Latency by percentile"), 16, "{text}");
    assert_eq!(charts("Latency over time"), 16, "{text}");
    assert_eq!(charts("IOPS over time") + charts("Throughput over time"), 16, "{text}");
}
