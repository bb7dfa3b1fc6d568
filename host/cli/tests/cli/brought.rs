//! What people brought, through the command: job files, results, storage.

use crate::devices::{Memory, run};
use crate::{Bench, entries, or_skip, text};

const BOUND_BY_SIZE: &str = include_str!("jobs/bound-by-size.fio");
const NEW_FILE: &str = include_str!("jobs/names-a-new-file.fio");

#[test]
fn bytes_that_bound_a_load_are_in_the_table_with_an_estimate() {
    let bench = Bench::new();
    let file = bench.file("small.fio", BOUND_BY_SIZE);
    let target = bench.target();
    let told = bench.done(&["run", &file, "--dry-run", "--on", &target]);
    assert!(told.contains("until 16.0 MiB"), "{told}");
    assert!(told.contains("bytes end them: 32.0 MiB in about 1 s"), "{told}");
    // By its own rate, where it has one: 1,024 requests at 100 a second.
    let open = "[j]\nrw=randread\nioengine=libaio\niodepth=4\nsize=4m\nrate_iops=100\nrate_process=poisson\n";
    let file = bench.file("open.fio", open);
    let told = bench.done(&["run", &file, "--dry-run", "--on", &target]);
    assert!(told.contains("bytes end them: 4.00 MiB in about 11 s at their own rates"), "{told}");
}

#[test]
fn a_file_that_fio_would_make_is_a_test_file_in_its_folder() {
    let bench = Bench::new();
    let file = bench.file("new.fio", NEW_FILE);
    let output = bench.run(&["run", &file, "--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    assert!(told.contains("./bench.tmp is not there: a test file is made in ., and removed at the end"), "{told}");
    assert_eq!(bench.last()["cells"][0]["load"]["block_bytes"], 4096);
    assert!(entries(&bench.path("")).iter().all(|name| !name.contains("bench.tmp") && !name.contains("loadline-")));
}

/// A result of a job, with a depth of its own.
fn job(number: u64) -> String {
    let count = 90_000 + number;
    format!(
        "{{\"jobname\": \"j{number}\", \"groupid\": {number}, \"error\": 0, \"elapsed\": 31, \"job_runtime\": 30000, \
         \"job options\": {{\"rw\": \"randread\", \"bs\": \"4k\", \"iodepth\": \"{}\", \"ioengine\": \"libaio\", \"direct\": \"1\", \
         \"runtime\": \"30\", \"filename\": \"/dev/sdb\"}}, \"read\": {{\"io_bytes\": {}, \"io_kbytes\": {}, \"iops\": {}, \"runtime\": 30000, \
         \"total_ios\": {count}, \"clat_ns\": {{\"min\": 1000, \"max\": 42000000, \"mean\": 300000.0, \"N\": {count}, \
         \"percentile\": {{\"50.000000\": 290000, \"99.000000\": 2100000}}}}}}}}",
        1 + number % 64,
        count * 4096,
        count * 4,
        count as f64 / 30.0
    )
}

/// With the cube of their number this would take minutes.
#[test]
fn results_of_many_jobs_are_imported_and_shown() {
    let bench = Bench::new();
    let jobs: Vec<String> = (0..800).map(job).collect();
    let all = format!("{{\"fio version\": \"fio-3.36\", \"timestamp\": 1700000000, \"jobs\": [{}]}}", jobs.join(","));
    let file = bench.file("many.json", all);
    let shown = bench.done(&["import", &file]);
    assert!(shown.contains("j799"), "every job has its row");
    assert_eq!(bench.last()["cells"].as_array().map(Vec::len), Some(800));
}

const WRITES: &str = "schema = 1\nname = \"w\"\n[[load]]\nreads = \"0 %\"\nsize = \"4 MiB\"\nduration = \"200 ms\"\nwarm_up = \"0 s\"\n\
                      trials = 1\n";

/// A loop device that the kernel has read-only.
struct ReadOnlyLoop(String);

impl ReadOnlyLoop {
    fn attach(file: &str) -> Option<Self> {
        run("losetup", &["--read-only", "--find", "--show", file]).map(|node| Self(node.trim().to_owned()))
    }
}

impl Drop for ReadOnlyLoop {
    fn drop(&mut self) {
        let _ = run("losetup", &["--detach", &self.0]);
    }
}

#[test]
fn a_device_that_the_kernel_has_read_only_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let image = bench.file("image", vec![0_u8; 64 << 20]);
    let device = or_skip!(ReadOnlyLoop::attach(&image), "it takes root and loop devices");
    let plan = bench.file("p.toml", WRITES);
    let on = format!("data={}", device.0);
    for command in [&["run", &plan, "--on", &on, "--overwrite", &device.0][..], &["quick", &device.0]] {
        let told = bench.refused(1, command);
        assert!(told.contains("read-only") && told.contains("--read-only"), "{command:?}: {told}");
    }
    assert!(bench.runs().is_empty());
}

#[test]
fn files_of_an_overlay_in_memory_are_memory() {
    let bench = Bench::new();
    let memory = or_skip!(Memory::mount(&bench.path("memory"), "size=64m"), "cannot mount");
    let layers = ["upper", "work"].map(|name| format!("{}/{name}", memory.0));
    for folder in layers.iter().cloned().chain(["lower", "merged"].map(|name| bench.path(name).display().to_string())) {
        std::fs::create_dir(&folder).unwrap();
    }
    let merged = bench.path("merged").display().to_string();
    let options = format!("lowerdir={},upperdir={},workdir={}", bench.path("lower").display(), layers[0], layers[1]);
    let mounted = run("mount", &["-t", "overlay", "overlay", "-o", &options, &merged]);
    or_skip!(mounted, "cannot mount overlays");
    let plan = bench.file("p.toml", WRITES.replace("\"0 %\"", "\"100 %\""));
    let done = bench.run(&["run", &plan, "--on", &merged]);
    let unmounted = run("umount", &[&merged]);
    assert!(done.status.success() && unmounted.is_some(), "{}", text(&done.stderr));
    let record = bench.last();
    assert_eq!(record["run"]["volumes"][0]["direct"], false, "{record}");
    let doubts = record["cells"][0]["doubts"].to_string();
    assert!(doubts.contains("cached-reads") && doubts.contains("buffered"), "{doubts}");
    assert_eq!(record["cells"][0]["binding"]["limit"], "cache");
}
