//! Job files are the same requests here as to fio: its own logs of what it asked are compared with the load generator.

use loadline_block::Operation;
use loadline_load::{Arrival, LoadSpec};
use loadline_units::{Bytes, Instant};
use loadline_workload::{FioSurroundings, LoadGenerator, Region, fio_harmless, fio_jobs_in};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A request: the number of its file, the operation, offset and length in bytes.
pub(crate) type Asked = (usize, Operation, u64, u64);

/// A share of the requests.
type Share = fn(&[Asked]) -> f64;

/// What every job of these tests has.
const ALL: &str = "size=256k\n";
/// The same in bytes.
const SIZE: u64 = 256 << 10;

pub(crate) fn fio_is_there() -> bool {
    let is_there = Command::new("fio").arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: fio is not installed");
    }
    is_there
}

/// What fio asks in each of these jobs, which run at the same time on files of their own, and its own results.
pub(crate) fn theirs(folder: &Path, jobs: &[String]) -> (Vec<Vec<Asked>>, serde_json::Value) {
    let section = |(number, job): (usize, &String)| format!("[j{number}]\n{ALL}{job}\nwrite_iolog=log{number}\n");
    // What jobs without a size end with.
    std::fs::write(folder.join("made"), vec![1u8; SIZE as usize]).expect("a folder of the test");
    let text: String = jobs.iter().enumerate().map(section).collect();
    std::fs::write(folder.join("jobs.fio"), format!("[global]\nthread\n{text}")).expect("a folder of the test");
    let output = Command::new("fio").args(["--output-format=json", "jobs.fio"]).current_dir(folder).output();
    let output = output.expect("fio was found before");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let start = said.find('{').unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)));
    let results = serde_json::from_str(&said[start..]).unwrap_or_else(|error| panic!("{error}: {said}"));
    let log = |number: usize| std::fs::read_to_string(folder.join(format!("log{number}"))).unwrap_or_default();
    ((0..jobs.len()).map(|number| logged(&log(number))).collect(), results)
}

/// The requests in a log of fio.
fn logged(log: &str) -> Vec<Asked> {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for line in log.lines() {
        // A time, a file, what is done to it, and for requests where and how much.
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, file, what, place @ ..] = words.as_slice() else { continue };
        if *what == "add" {
            let number = files.len();
            files.insert(file, number);
        }
        let operation = match *what {
            "read" => Operation::Read,
            "write" => Operation::Write,
            "sync" | "datasync" => {
                all.push((files[file], Operation::Flush, 0, 0));
                continue;
            }
            _ => continue,
        };
        let [offset, length] = place else { panic!("{line}") };
        all.push((files[file], operation, offset.parse().expect(line), length.parse().expect(line)));
    }
    all
}

/// The load of a job, or why there is none.
fn load(job: &str) -> Result<LoadSpec, String> {
    // As on the machines that these tests run on.
    let keyword = |word: &str| (word == "$pagesize").then_some(4096);
    let around = FioSurroundings { keyword: &keyword, ..FioSurroundings::NONE };
    let jobs = fio_jobs_in(&format!("[j]\n{ALL}{job}\n"), "j", around).map_err(|error| error.to_string())?;
    Ok(jobs.plan.loads[0].cells[0].clone())
}

/// What the load generator asks of one thread, up to the load's volume.
fn ours(spec: &LoadSpec) -> Vec<Asked> {
    ours_of(spec, SIZE)
}

/// The same of a load without a size on a target of so many bytes.
pub(crate) fn ours_of(spec: &LoadSpec, target: u64) -> Vec<Asked> {
    let files = u64::from(spec.files);
    let file_size = (spec.start.get() + spec.size_in(Bytes::new(target - spec.start.get())).get()) / files;
    let region = Region {
        files: spec.files,
        file_size: Bytes::new(file_size),
        start: spec.start,
        size: Bytes::new(file_size - spec.start.get()),
    };
    let mut generator = LoadGenerator::new(spec, &region, 0, 1, Instant::ZERO).expect("the region has room");
    let volume = spec.volume_over(region.size * files).expect("the job ends with its size or its target");
    let (mut all, mut left) = (Vec::new(), volume.get());
    while left > 0 {
        let request = generator.replay();
        // As a load ends: what does not fit is not asked.
        if u64::from(request.length) > left {
            break;
        }
        let (file, offset) = (request.offset / file_size, request.offset % file_size);
        all.push((file as usize, request.operation, offset, u64::from(request.length)));
        left = left.saturating_sub(u64::from(request.length));
    }
    all
}

pub(crate) fn sorted(mut requests: Vec<Asked>) -> Vec<Asked> {
    requests.sort_by_key(|(file, operation, offset, length)| (*file, *operation == Operation::Read, *offset, *length));
    requests
}

/// The share of the requests in the first twentieth of the range.
pub(crate) fn first_places(asked: &[Asked]) -> f64 {
    let end = asked.iter().map(|(_, _, offset, length)| offset + length).max().unwrap_or_default();
    asked.iter().filter(|(_, _, offset, _)| *offset < end / 20).count() as f64 / asked.len() as f64
}

/// The share of the requests that begin where the last of their kind ended.
pub(crate) fn next_places(asked: &[Asked]) -> f64 {
    let mut ends: BTreeMap<(usize, bool), u64> = BTreeMap::new();
    let follows = |(file, what, offset, length): &Asked| {
        ends.insert((*file, *what == Operation::Read), offset + length) == Some(*offset)
    };
    asked.iter().map(follows).filter(|follows| *follows).count() as f64 / asked.len() as f64
}

/// The share of the requests of a size.
fn share_of_size(asked: &[Asked], size: u64) -> f64 {
    asked.iter().filter(|(.., length)| *length == size).count() as f64 / asked.len() as f64
}

/// The share of the requests at the twentieth of the 4 KiB blocks that is asked most.
pub(crate) fn wanted_places(asked: &[Asked]) -> f64 {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for (_, _, offset, _) in asked {
        *counts.entry(offset >> 12).or_default() += 1;
    }
    let end = asked.iter().map(|(_, _, offset, length)| offset + length).max().unwrap_or_default();
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts.iter().take((end >> 12) as usize / 20).sum::<usize>() as f64 / asked.len() as f64
}

/// Jobs that ask the same requests in the same order.
const IN_ORDER: [&str; 46] = [
    "rw=read",
    "rw=write\nbs=4k,16k",
    "rw=read\nbs=8k\noffset=64k",
    "rw=read\nio_size=640k",
    "rw=read\nnrfiles=4\nfile_service_type=sequential",
    "rw=read\nnrfiles=4\nfilename=named",
    "rw=read\nfile_service_type=random",
    "rw=read\nnumber_ios=10",
    "rw=read\nloops=1\nfilesize=262144",
    "rw=write\niodepth_batch=4\ncpus_allowed=0\nnice=0",
    "rw=read\npre_read=0\ncreate_only=0\nrate_iops=0\nthinktime=0",
    "rw=read:8k",
    "rw=write:12k",
    "rw=read:-8k",
    "rw=read:-12k\nio_size=640k",
    "rw=write:112k\nbs=16k\nio_size=1m",
    "rw=read:-8k\nfilename=backward",
    "rw=read:8k\nnumber_ios=200",
    "rw=read:8k\nio_size=100k",
    "rw=write:12k\nio_size=640k",
    "rw=read\nbs=4k-16k",
    "rw=write\nbs=4k-16k",
    "rw=read\nbsrange=8k-8k",
    "rw=read\nbs=$pagesize*2",
    "rw=write\nnumber_ios=$pagesize/1024",
    "rw=read\nsize=262144.0",
    "rw=read\nsize=100%%\nfilename=made",
    "rw=read\nsize=0\nfilename=made",
    "rw=read\nnrfiles=4",
    "rw=write\nnrfiles=4\nfile_service_type=roundrobin",
    "rw=read\nnrfiles=4\nfile_service_type=roundrobin:2",
    "rw=read\nnrfiles=3",
    "rw=read\nnrfiles=4\nio_size=512k",
    "rw=read\nnrfiles=2\nbs=16k\nnumber_ios=9",
    "rw=read\nfilename=fa:fb",
    "rw=read\nfilename=fa\nfilename=fb\nopenfiles=2",
    "rw=read\nsize=50%\nfilename=made",
    "rw=read\nsize=30%\nfilename=made",
    "rw=read\nsize=256k\nzonemode=strided\nzonesize=16k\nzoneskip=48k",
    "rw=write\nbs=8k\nzonemode=strided\nzonesize=16k\nzonerange=16k\nzoneskip=40k",
    "rw=read\nzonemode=strided\nzonesize=64k\nzoneskip=40k",
    "rw=read\nsize=0\nfilename=made\nzonemode=strided\nzonesize=64k\nzoneskip=40k",
    "rw=read\nsize=0\nfilename=made\nzonemode=strided\nzonesize=16k\nzoneskip=48k",
    "rw=read\nzonemode=strided\nzonesize=16k\nzoneskip=48k\nio_size=512k",
    "rw=read\nzonemode=strided\nzonesize=16k\nzoneskip=0",
    "rw=read\npercentage_random=30",
];
/// Jobs that ask the same requests in an order that is drawn.
const IN_ANY_ORDER: [&str; 12] = [
    "rw=randread",
    "rw=randwrite\nbs=16k",
    "rw=randread\nio_size=512k",
    "rw=randread\nnrfiles=4",
    "rw=randread\nnrfiles=4\nfile_service_type=random",
    "rw=randread\nbssplit=16k/100",
    "rw=write\nbs=2300\nsize=230000",
    "rw=randread\nrandom_generator=lfsr",
    "rw=randwrite\nsize=0\nfilename=made",
    "rw=randread\nsize=30%\nfilename=made",
    "rw=randread\nfilename=fa:fb",
    "rw=randwrite\nnrfiles=4\nfile_service_type=roundrobin:4",
];
/// Jobs whose requests are drawn: their number and share of reads are like fio's. Each time that fio has been over the whole
/// file it draws the same again, so that the mixes go over theirs once.
const DRAWN: [&str; 20] = [
    "size=8m\nrw=randread\nrandom_distribution=normal:10\nio_size=8m",
    "size=8m\nrw=randread\nnorandommap\nrandom_distribution=zoned_abs:60/2m:40/6m\nio_size=8m",
    "rw=randread\nnorandommap\nbssplit=4k/50:64k/50\nio_size=16m",
    "rw=randread\nrandom_distribution=zipf:1.2\nbssplit=4k/50:16k/50\nio_size=8m",
    "rw=read\nbssplit=4k/60:16k/40\nio_size=8m",
    "size=8m\nrw=randrw\nrwmixread=70\nio_size=8m",
    "size=8m\nrw=randrw\nrwmixread=70\nrwmixwrite=90\nio_size=8m",
    "size=8m\nrw=randrw\nrwmixread=70\nio_size=8m\nrate_iops=140000,60000",
    "size=8m\nrw=randread\nnorandommap\nrandom_distribution=zoned:50/5:30/15:20/\nio_size=8m",
    "size=8m\nrw=randread\nrandom_distribution=zoned:10/50:90/50\nio_size=8m",
    "size=8m\nrw=randread\nrandom_distribution=pareto:0.2\nio_size=8m",
    "size=8m\nrw=randwrite\nnorandommap\nbsrange=4k-16k\nio_size=8m",
    "size=8m\nrw=randwrite\nnorandommap\nbsrange=3000-10000\nba=512\nio_size=8m",
    "size=16m\nrw=read\nbsrange=4k-64k\nio_size=16m",
    "size=8m\nrw=randread\npercentage_random=30",
    "size=8m\nrw=randrw\nrwmixread=70\npercentage_random=60",
    "size=32m\nrw=randread\nbssplit=4k/50:64k/50",
    "size=32m\nrw=randrw\nrwmixread=80\nbssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10",
    "size=16m\nrw=randwrite\nbsrange=4k-64k",
    "size=16m\nrw=randread\nnorandommap\nbssplit=4k/50:16k/50\nnrfiles=2",
];

#[test]
fn a_job_asks_the_same_requests_here_as_in_fio() {
    if !fio_is_there() {
        return;
    }
    let jobs: Vec<String> = [&IN_ORDER[..], &IN_ANY_ORDER, &DRAWN].concat().into_iter().map(str::to_owned).collect();
    let folder = tempfile::tempdir().expect("a folder of the test");
    let (theirs, _) = theirs(folder.path(), &jobs);
    for (number, (job, theirs)) in jobs.iter().zip(theirs).enumerate() {
        let ours = ours(&load(job).unwrap_or_else(|error| panic!("{job}: {error}")));
        if number < IN_ORDER.len() {
            assert_eq!(ours, theirs, "{job}");
        } else if number < IN_ORDER.len() + IN_ANY_ORDER.len() {
            if job.contains(':') || job.contains("roundrobin") {
                let files = |asked: &[Asked]| asked.iter().map(|(file, ..)| *file).collect::<Vec<_>>();
                assert_eq!(files(&ours), files(&theirs), "{job}");
            }
            assert_eq!(sorted(ours), sorted(theirs), "{job}");
        } else {
            if job.contains("rand")
                && job.contains("bs")
                && !job.contains("norandommap")
                && !job.contains("distribution")
            {
                let bytes = |asked: &[Asked]| asked.iter().map(|(.., length)| length).sum::<u64>();
                assert_eq!(bytes(&ours), bytes(&theirs), "{job}");
                // Of blocks that are cut there are other sizes than those that it names.
                for size in [4 << 10, 64 << 10] {
                    let (here, there) = (share_of_size(&ours, size), share_of_size(&theirs, size));
                    assert!((here - there).abs() < 0.05, "{job}: {here} of {size} bytes here, {there} to fio");
                }
            }
            let reads = |asked: &[Asked]| asked.iter().filter(|(_, what, ..)| *what == Operation::Read).count() as f64;
            let (count, count_of_fio) = (ours.len() as f64, theirs.len() as f64);
            // Of 500 draws or more, whose own error is at most a twentieth.
            assert!((count / count_of_fio - 1.0).abs() < 0.2, "{job}: {count} here, {count_of_fio} to fio");
            let (share, share_of_fio) = (reads(&ours) / count, reads(&theirs) / count_of_fio);
            assert!((share - share_of_fio).abs() < 0.1, "{job}: {share} reads here, {share_of_fio} to fio");
            if job.starts_with("size=") {
                let places: [(&str, Share); 3] =
                    [("first", first_places), ("most wanted", wanted_places), ("next", next_places)];
                for (what, place) in places {
                    let (here, there) = (place(&ours), place(&theirs));
                    let told = format!("{job}: {here} of the requests at the {what} places, {there} to fio");
                    assert!((here - there).abs() < 0.05, "{told}");
                }
            }
        }
    }
}

#[test]
fn a_job_of_clones_moves_as_much_here_as_in_fio() {
    if !fio_is_there() {
        return;
    }
    let jobs = [
        "rw=randread\nnumjobs=3",
        "rw=randread\nnumjobs=3\nfilename=shared",
        "rw=read\nnumjobs=2\nfilename=shared\noffset_increment=256k",
        "rw=read\nnumjobs=2\nfilename=made",
        "rw=read\nnumjobs=3\nsize=0\nfilename=made",
        "rw=randread\nnumjobs=3\nsize=0\nfilename=made",
        "rw=read\nnumjobs=2\nfilename=fa:fb",
        "rw=read\nnumjobs=2\nnrfiles=3",
        "rw=randread\nnumjobs=2\nbssplit=4k/50:64k/50",
        "rw=randread\nnumjobs=2\nbssplit=4k/50:64k/50\nfilename=shared",
        "rw=read\nnumjobs=2\nsize=30%\nfilename=made",
        "rw=read\nnumjobs=3\nfilename=shared2\noffset_increment=64k",
        "rw=read\nnumjobs=3\nsize=0\nfilesize=256k\nfilename=made\noffset_increment=64k",
    ];
    let jobs: Vec<String> = jobs.iter().map(|job| format!("{job}\ngroup_reporting\nnew_group")).collect();
    let folder = tempfile::tempdir().expect("a folder of the test");
    let (_, results) = theirs(folder.path(), &jobs);
    for (number, job) in jobs.iter().enumerate() {
        let spec = load(job).unwrap_or_else(|error| panic!("{job}: {error}"));
        let moved = results["jobs"][number]["read"]["io_bytes"].as_u64();
        assert_eq!(spec.volume_over(spec.size_in(Bytes::new(SIZE))).map(Bytes::get), moved, "{job}");
    }
}

#[test]
fn clones_are_shared_out_over_directories_as_in_fio() {
    if !fio_is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder of the test");
    let directories = ["x", "y"].map(|name| folder.path().join(name).display().to_string());
    for path in &directories {
        std::fs::create_dir(path).expect("a folder of the test");
    }
    for (number, options) in ["numjobs=5", "numjobs=1", "numjobs=3\nfilename=named"].into_iter().enumerate() {
        let job = format!("[j{number}]\nrw=write\nsize=64k\nthread\ndirectory={}\n{options}\n", directories.join(":"));
        let file = folder.path().join("jobs.fio");
        std::fs::write(&file, &job).expect("a folder of the test");
        assert!(Command::new("fio").arg(&file).output().expect("fio was found before").status.success());
        let files = |path: &String| {
            let own = |name: &str| name.starts_with(&format!("j{number}.")) || name == "named";
            let entries = std::fs::read_dir(path).expect("a folder of the test").filter_map(Result::ok);
            entries.filter(|entry| entry.file_name().to_str().is_some_and(own)).count() as u32
        };
        let theirs = directories.each_ref().map(files);
        let jobs = fio_jobs_in(&job, "j", FioSurroundings::NONE).unwrap_or_else(|error| panic!("{error}"));
        let mut ours = [0, 0];
        for (place, load) in jobs.plan.loads.iter().enumerate() {
            ours[place] = if options.contains("filename") { 1 } else { load.cells[0].threads };
        }
        assert_eq!(ours, theirs, "{options}");
    }
}

#[test]
fn a_job_that_thinks_is_at_depth_1_but_for_its_beginning() {
    if !fio_is_there() {
        return;
    }
    let job = "rw=randread\nioengine=libaio\niodepth=16\nthinktime=20us\nio_size=1m";
    let folder = tempfile::tempdir().expect("a folder of the test");
    let (theirs, results) = theirs(folder.path(), &[job.to_owned()]);
    let Arrival::Closed { queue_depth, .. } = load(job).expect("can be run").arrival else { panic!("{job}") };
    assert_eq!(queue_depth, 1);
    let requests = theirs[0].len() as f64;
    let alone = results["jobs"][0]["iodepth_level"]["1"].as_f64().expect("fio counts depths") / 100.0 * requests;
    assert!(alone >= requests - 16.0, "{alone} of {requests} at depth 1");
}

/// Jobs that are refused, since to fio they are other requests than those of the job without the option.
const OTHERWISE: [(&str, &str); 5] = [
    ("offset=64k", "rw=read:12k"),
    ("rw=read", "rw=read:6k"),
    ("rw=read", "create_only=1"),
    ("zonesize=16k\nzoneskip=48k\nrw=randread", "zonemode=strided"),
    ("rw=randread", "nrfiles=4\nfile_service_type=sequential"),
];

/// A rate for mixed requests: fio holds back reads and writes apart, each as fast as this machine lets it.
const MIXED_RATE: (&str, &str) = ("rw=randrw\nrwmixread=80\nio_size=2m", "rate_iops=2000");

#[test]
fn a_rate_for_mixed_requests_is_refused() {
    let error = load(&format!("{}\n{}", MIXED_RATE.0, MIXED_RATE.1)).expect_err("refused");
    assert!(error.contains("rate_iops="), "{error}");
}

#[test]
#[ignore = "long: measures this machine"]
fn a_rate_for_mixed_requests_changes_their_mix_in_fio() {
    if !fio_is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder of the test");
    let (theirs, _) = theirs(folder.path(), &[format!("{}\n{}", MIXED_RATE.0, MIXED_RATE.1)]);
    let reads = theirs[0].iter().filter(|(_, what, ..)| *what == Operation::Read).count() as f64;
    let share = reads / theirs[0].len() as f64;
    assert!(share < 0.7, "{share} reads");
}

#[test]
fn what_is_refused_is_another_load_to_fio() {
    if !fio_is_there() {
        return;
    }
    let jobs: Vec<String> = OTHERWISE.iter().map(|(job, option)| format!("{job}\n{option}")).collect();
    let folder = tempfile::tempdir().expect("a folder of the test");
    let (theirs, _) = theirs(folder.path(), &jobs);
    for (job, theirs) in jobs.iter().zip(&theirs) {
        let error = load(job).expect_err(job);
        let key = job.lines().last().and_then(|line| line.split('=').next()).unwrap_or_default();
        assert!(error.contains(&format!("{key}=")), "{job}: {error}");
        let bytes: u64 = theirs.iter().map(|(.., length)| length).sum();
        match key {
            // It ends before it has moved its size, or asks within blocks.
            "rw" => assert!(bytes < SIZE || theirs.iter().any(|(_, _, offset, _)| offset % 4096 != 0), "{job}"),
            "create_only" => assert!(theirs.is_empty(), "{job}"),
            // From one zone to the next.
            "zonemode" => assert!(theirs[..4].iter().all(|(_, _, offset, _)| *offset < 16 << 10), "{job}"),
            "file_service_type" => assert!(theirs.iter().map(|(file, ..)| file).is_sorted(), "{job}"),
            _ => panic!("{job} moved {bytes} of {SIZE} bytes, and nothing is said of it"),
        }
    }
}

/// What an option that changes no load is set to; `None` where it stands on a command line only, or belongs to one engine.
fn value(key: &str) -> Option<&'static str> {
    Some(match key {
        "eta" | "minimal" | "status-interval" | "stonewall" | "fixedbufs" | "registerfiles" | "hipri"
        | "nonvectored" | "sqthread_poll" => return None,
        "clocksource" => "clock_gettime",
        "continue_on_error" => "all",
        "description" | "name" => "word",
        "iomem" | "mem" => "malloc",
        "kb_base" => "1000",
        "unit_base" => "8",
        "percentile_list" => "50:99",
        "bwavgtime" | "iopsavgtime" | "log_avg_msec" | "log_hist_msec" => "500",
        "disk_util" | "create_serialize" | "randrepeat" | "allrandrepeat" | "per_job_logs" | "scramble_buffers"
        | "gtod_cpu" => "0",
        "randseed" => "7",
        key if key.starts_with("write_") => "word",
        _ => "1",
    })
}

#[test]
fn what_is_said_to_change_no_load_changes_none_in_fio() {
    if !fio_is_there() {
        return;
    }
    let options: Vec<String> = fio_harmless().filter_map(|key| Some(format!("{key}={}", value(key)?))).collect();
    let kinds = ["rw=read", "rw=randread", "rw=randwrite"];
    let jobs: Vec<String> = kinds
        .iter()
        .flat_map(|kind| options.iter().map(move |option| format!("{kind}\nbs=16384\nsize=262144\n{option}")))
        .collect();
    let folder = tempfile::tempdir().expect("a folder of the test");
    let (theirs, _) = theirs(folder.path(), &jobs);
    for (job, theirs) in jobs.iter().zip(theirs) {
        let plain = load(&job.lines().take(3).collect::<Vec<_>>().join("\n")).expect("can be run");
        let spec = load(job).unwrap_or_else(|error| panic!("{job}: {error}"));
        assert_eq!(spec, plain, "{job}");
        assert_eq!(sorted(ours(&spec)), sorted(theirs), "{job}");
    }
}
