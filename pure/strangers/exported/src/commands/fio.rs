//! Job files of fio, a file for each cell, and the shell script that runs them.

use super::{About, Put, Step, TEST_FILE};
use crate::fio::options::{self, Means, Options};
use loadline_units::Duration;
use loadline_workload::{Arrival, Fill, LoadSpec, Origin, fio_jobs};
use serde_json::Value;

/// The script, and what it does before the first trial that is measured.
const MEASURE: &str = include_str!("measure.sh");
const FILLING: &str = include_str!("filling.sh");

/// Requests that an open loop may have outstanding over all threads.
const OUTSTANDING_MAX: u64 = 1_024;
/// The job that writes the test file in full.
const FILL: &str = "fill";

/// The job file of a cell, which fio reads back as the same load.
pub(super) fn job(spec: &LoadSpec, name: &str) -> Result<Put, String> {
    let has_cool_down = spec.cool_down > Duration::ZERO;
    let spec = LoadSpec { cool_down: Duration::ZERO, ..spec.clone() };
    let engine = match spec.arrival {
        _ if !spec.buffered => "libaio",
        // Buffered requests of libaio are answered one by one.
        Arrival::Closed { queue_depth: 1, .. } => "psync",
        _ => "io_uring",
    };
    let means = Means { engine, outstanding_max: (OUTSTANDING_MAX / u64::from(spec.threads)).max(1) };
    let mut all = options::of(&spec, &means, None);
    if !all.beyond.is_empty() {
        return Err(all.beyond.join("; "));
    }
    all.put("filename", TEST_FILE);
    all.put("randrepeat", 0);
    if spec.writes_any() {
        all.put("refill_buffers", 1);
        if spec.wants_full(Origin::Made) && !spec.reads_any() {
            all.put("overwrite", 1);
        }
        if spec.fill == Fill::Hole {
            all.put("fallocate", "none");
        }
    }
    if spec.buffered && !spec.drop_caches {
        all.put("invalidate", 0);
    }
    let text = text(name, &all);
    let read = fio_jobs(&text, name).map_err(|error| format!("fio has no such job: {error}"))?;
    let cells: Vec<_> = read.plan.cells().map(|(cell, _)| cell).collect();
    let [back] = cells.as_slice() else { return Err("fio has no such job".to_owned()) };
    let (asked, back) = (essence(&spec), essence(back));
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let told = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_string);
    let (asked, back) = (fields(&asked), fields(&back));
    let other = asked.keys().chain(back.keys()).find(|key| asked.get(*key) != back.get(*key));
    if let Some(key) = other {
        return Err(format!("fio asks another load: {key} is {}, not {}", told(back.get(key)), told(asked.get(key))));
    }
    let notes =
        if has_cool_down { vec!["fio has no cool-down: its loads end with their measurement"] } else { Vec::new() };
    Ok(Put { text, notes })
}

/// What is the same where two loads ask the same of the same file.
fn essence(spec: &LoadSpec) -> Value {
    let plain = LoadSpec::default();
    let spec = LoadSpec {
        name: None,
        trials: 1,
        pause: Duration::ZERO,
        hang_limit: plain.hang_limit,
        objective: None,
        best_of_trials: false,
        // Beside direct requests no cache of this machine has anything, and the script drops them where it may.
        drop_caches: spec.drop_caches && spec.buffered && spec.reads_any(),
        fill: if spec.fill == Fill::Always { Fill::Auto } else { spec.fill },
        ..spec.clone()
    };
    serde_json::to_value(spec).expect("a load is plain data")
}

fn text(name: &str, options: &Options) -> String {
    let lines = options.options.iter().map(|(key, value)| format!("{key}={}\n", value.as_str().unwrap_or_default()));
    format!("[{name}]\n{}", lines.collect::<String>())
}

/// The script, and the job that writes the test file.
pub(super) fn script(about: &About, steps: &[Step<'_>]) -> Vec<(String, String)> {
    let mut head = about.head("sh measure.sh [FOLDER]", "by default the script's own");
    head.push("The variable FIO names another fio than the one of PATH.".to_owned());
    let head: String = head.iter().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect();
    let mut files = Vec::new();
    let mut fill = "";
    if about.is_filled {
        files.push((format!("{FILL}.fio"), fill_job(about)));
        fill = FILLING;
    }
    let calls: Vec<String> = steps
        .iter()
        .map(|step| {
            let Step { cell, trial, pause_s, number, .. } = step;
            format!("trial {number} {cell} {trial} {pause_s} {}\n", u8::from(step.drops_caches))
        })
        .collect();
    let calls = calls.concat();
    let text = MEASURE
        .replace("@HEAD@", &head)
        .replace("@CALLS@", &calls)
        .replace("@FILL@\n", fill)
        .replace("@FILE@", TEST_FILE);
    files.push(("measure.sh".to_owned(), text.replace("@COUNT@", &steps.len().to_string())));
    files
}

fn fill_job(about: &About) -> String {
    format!(
        "[{FILL}]\nfilename={TEST_FILE}\nrw=write\nbs=1048576\nsize={}\nioengine=psync\nrefill_buffers=1\nend_fsync=1\n",
        about.file_size.get()
    )
}
