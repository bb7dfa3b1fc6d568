//! Job files of fio, a file for each cell, and the shell script that runs them.

use super::{About, Put, Step, TEST_FILE};
use crate::fio::options::{self, Means, Options};
use loadline_units::Duration;
use loadline_workload::{Arrival, Fill, LoadSpec, Origin, fio_jobs};
use serde_json::Value;

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
    let calls: String = steps
        .iter()
        .map(|step| {
            let Step { cell, trial, pause_s, number, .. } = step;
            format!("trial {number} {cell} {trial} {pause_s} {}\n", u8::from(step.drops_caches))
        })
        .collect();
    let text = format!("#!/bin/sh\n{head}{BEGIN}\n{calls}{END}").replace("@FILL@\n", fill).replace("@FILE@", TEST_FILE);
    files.push(("measure.sh".to_owned(), text.replace("@COUNT@", &steps.len().to_string())));
    files
}

fn fill_job(about: &About) -> String {
    format!(
        "[{FILL}]\nfilename={TEST_FILE}\nrw=write\nbs=1048576\nsize={}\nioengine=psync\nrefill_buffers=1\nend_fsync=1\n",
        about.file_size.get()
    )
}

const BEGIN: &str = r#"set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
fio=${FIO:-fio}
file=@FILE@
failed=0
command -v "$fio" > /dev/null || { echo "measure.sh: there is no $fio: install it, or name it with FIO=PATH" >&2; exit 2; }
cd -- "${1:-$here}" || { echo "measure.sh: ${1:-$here} is no folder that can be measured: name another" >&2; exit 2; }
if [ -e "$file" ] || [ -L "$file" ]; then
    echo "measure.sh: $file is there already: remove it, or name another folder" >&2
    exit 2
fi
trap 'rm -f -- "$file"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# NUMBER CELL TRIAL PAUSE DROP: the trial of a cell after so many seconds, and whether the machine's caches are dropped where that is allowed.
trial() {
    result=$here/$2-$3.json
    if [ -s "$result" ]; then return; fi
@FILL@
    if [ "$4" -gt 0 ]; then sleep "$4"; fi
    if [ "$5" = 1 ]; then { sync; echo 3 > /proc/sys/vm/drop_caches; } 2> /dev/null; fi
    echo "$1 of @COUNT@: $2, trial $3"
    if "$fio" --output-format=json+ --output="$result.part" "$here/$2.fio"; then
        mv -- "$result.part" "$result"
    else
        echo "measure.sh: $2, trial $3: fio failed, and said why in $result.part" >&2
        failed=$((failed + 1))
    fi
}

"#;

/// Before the first trial that is measured.
const FILLING: &str = r#"    if [ ! -e "$file" ]; then
        echo "writing $file in full"
        "$fio" --output=/dev/null "$here/fill.fio" || exit 1
    fi
"#;

const END: &str = r#"
if [ "$failed" -gt 0 ]; then
    echo "measure.sh: $failed of @COUNT@ commands failed: run it again to try these alone" >&2
    exit 1
fi
"#;
