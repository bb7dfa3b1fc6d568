//! Twice as large a file takes twice the time to read, whatever form it has.

use loadline_demand::ReadOptions;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

/// Bytes of the smaller files, of which the larger ones have twice as many.
const SIZES: [usize; 2] = [512 << 10, 8 << 20];
/// What a form may have in memory, KiB.
const MEMORY_MAX: u64 = 600 << 10;
/// What twice the size may take, over what the size takes.
const MOST: f64 = 2.3;
/// The middle of so many counts.
const TRIES: usize = 3;
/// What takes longer than its share is measured once more: neighbours share caches and memory.
const ROUNDS: usize = 2;
/// What takes less is too short to compare, s.
const SHORTEST: f64 = 0.01;

/// A text with each line that has a figure repeated until it is so large.
fn grown(text: &str, size: usize) -> String {
    let has_figure = |line: &&str| line.bytes().any(|byte| byte.is_ascii_digit());
    let rows = text.lines().filter(has_figure).map(|line| line.len() + 1).sum::<usize>().max(1);
    let times = size / rows;
    let mut grown = String::new();
    for line in text.lines() {
        let count = if has_figure(&line) { times.max(1) } else { 1 };
        for _ in 0..count {
            let _ = writeln!(grown, "{line}");
        }
    }
    grown
}

/// A JSON text whose largest list has its elements again and again until it is so large; other texts as they are, again and again.
fn repeated(text: &str, size: usize) -> String {
    let times = (size / text.len().max(1)).max(1);
    let Ok(mut document) = serde_json::from_str::<Value>(text) else { return text.repeat(times) };
    if let Some(list) = largest_list(&mut document) {
        let own = Value::from(list.clone()).to_string().len();
        let more = size.saturating_sub(text.len()) / own.max(1);
        let elements = list.clone();
        list.extend((0..more).flat_map(|_| elements.iter().cloned()));
    }
    document.to_string()
}

/// The list of a document that takes most of it, the outermost of them.
fn largest_list(document: &mut Value) -> Option<&mut Vec<Value>> {
    match document {
        Value::Array(list) => Some(list),
        Value::Object(fields) => {
            let lists = fields.values_mut().filter_map(largest_list);
            lists.max_by_key(|list| list.iter().map(|element| element.to_string().len()).sum::<usize>())
        }
        _ => None,
    }
}

/// Processor time of this thread, s: what else runs takes none of it.
fn processor_s() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// The middle time of some readings.
fn time_of(read: &dyn Fn(&str), text: &str) -> f64 {
    let once = || {
        let began = processor_s();
        read(text);
        processor_s() - began
    };
    let mut times: Vec<f64> = (0..TRIES).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    times[TRIES / 2]
}

/// KiB that a reading has in memory at most, beside what is there anyway; `None` where the system does not say.
fn memory_of(read: &dyn Fn(&str), text: &str) -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let kib = |key: &str| {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().nth(1)?.parse::<u64>().ok())
    };
    let before = kib("VmRSS")?;
    read(text);
    Some(kib("VmHWM")?.saturating_sub(before))
}

/// What of a folder takes more than its share of time or memory.
fn too_much(folder: &str, read: &dyn Fn(&str)) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of files") {
        let path = entry.expect("an entry").path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        // Each line more often, and the whole text more often.
        let forms: [fn(&str, usize) -> String; 2] = [grown, repeated];
        for ((form, more), size) in forms.into_iter().enumerate().flat_map(|form| SIZES.map(|size| (form, size))) {
            let [one, two] = [size, 2 * size].map(|size| more(&text, size));
            let measure = || {
                let (of_one, of_two) = (time_of(read, &one), time_of(read, &two));
                (of_two / of_one * (2.0 * one.len() as f64 / two.len() as f64), of_one, of_two)
            };
            let (mut factor, mut of_one, mut of_two) = measure();
            for _ in 1..ROUNDS {
                if factor > MOST {
                    (factor, of_one, of_two) = measure();
                }
            }
            let memory = memory_of(read, &two);
            let name = format!("{} ({form}, {} KiB)", path.display(), two.len() >> 10);
            println!("{name}: {of_one:.4} s, {of_two:.4} s, {factor:.2}; {} MiB", memory.unwrap_or(0) >> 10);
            if factor > MOST && of_two > SHORTEST {
                found.push(format!("{name}: {of_one:.3} s, {of_two:.3} s, {factor:.2} times"));
            }
            if let Some(memory) = memory.filter(|memory| *memory > MEMORY_MAX) {
                found.push(format!("{name}: {} MiB", memory >> 10));
            }
        }
    }
    found
}

#[test]
#[ignore = "long: measures this machine"]
fn twice_as_large_a_file_takes_twice_the_time() {
    let results = |text: &str| drop(black_box(loadline_imported::read(text, "file", 0)));
    let demand = |text: &str| drop(black_box(loadline_demand::read(text.as_bytes(), "file", &ReadOptions::default())));
    let traces = |text: &str| drop(black_box(loadline_recording::formats::read(text.as_bytes())));
    let found = [
        too_much("pure/strangers/imported/tests/corpus", &results),
        too_much("pure/strangers/imported/tests/corpus/fio", &results),
        too_much("tests/corpus/ioping", &results),
        too_much("tests/corpus/sysbench", &results),
        too_much("fuzz/corpus/monitoring_files", &demand),
        too_much("fuzz/corpus/recordings", &traces),
        too_much("tests/corpus/dool", &demand),
    ]
    .concat();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
