//! Job files with options drawn together ask the same here as in fio, or are refused, or a line says what is otherwise.

use super::fio_loads::{Asked, fio_is_there, first_places, next_places, ours_of, sorted, theirs, wanted_places};
use loadline_block::Operation;
use loadline_workload::{FioSurroundings, fio_jobs_in};

/// Bytes of each job's file.
const SIZE: u64 = 2 << 20;
/// Jobs that run at the same time.
const AT_ONCE: usize = 20;
/// Shares of so many draws differ by no more from one run to the next.
const SHARE_OFF: f64 = 0.12;

/// Draws by SplitMix64: the same jobs in each run.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[(self.next() % of.len() as u64) as usize]
    }
    /// One of these in `of` of ten jobs.
    fn some<'a>(&mut self, of_ten: u64, choices: &[&'a str]) -> &'a str {
        let chosen = self.one(choices);
        if self.next() % 10 < of_ten { chosen } else { "" }
    }
}

/// A job of options that are taken alone.
fn drawn(draws: &mut Draws) -> String {
    let kinds =
        ["rw=read", "rw=write", "rw=randread", "rw=randwrite", "rw=rw\nrwmixread=70", "rw=randrw\nrwmixread=30"];
    let strides = ["rw=read:8k", "rw=write:12k", "rw=read:-8k", "rw=write:-16k", "rw=read:60k"];
    let sizes =
        ["bs=8k", "bs=16k", "bs=4k,8k", "bs=2300", "bssplit=4k/50:16k/50", "bsrange=4k-16k", "bs=64k", "blocksize=512"];
    let places = [
        "norandommap",
        "random_distribution=zipf:1.1",
        "random_distribution=pareto:0.2",
        "random_distribution=zoned:50/10:50/90\nnorandommap",
        "random_distribution=normal:10",
        "random_distribution=zoned_abs:50/512k:50/1536k\nnorandommap",
        "random_generator=lfsr",
        "percentage_random=40",
    ];
    let files = [
        "nrfiles=4",
        "nrfiles=4\nfile_service_type=sequential",
        "nrfiles=4\nfile_service_type=random",
        "nrfiles=2\nfile_service_type=roundrobin:2",
        "filename=named",
    ];
    let moved = ["io_size=512k", "io_size=3m", "number_ios=50", "loops=1", "filesize=2m"];
    let flushes = ["fdatasync=4", "fsync=8", "fdatasync=1", "sync=1"];
    let zones =
        ["zonemode=strided\nzonesize=64k\nzoneskip=64k", "zonemode=strided\nzonesize=128k\nzonerange=128k\nzoneskip=0"];
    let rest = [
        "offset=64k",
        "overwrite=1",
        "ioengine=libaio\niodepth=4",
        "fallocate=none",
        "invalidate=0",
        "rate=40m,",
        "ba=4k",
    ];
    let kind = if draws.next().is_multiple_of(8) { draws.one(&strides) } else { draws.one(&kinds) };
    let chosen = [
        kind,
        draws.some(5, &sizes),
        draws.some(if kind.contains("rand") { 5 } else { 1 }, &places),
        draws.some(3, &files),
        draws.some(3, &moved),
        draws.some(2, &flushes),
        draws.some(1, &zones),
        draws.some(4, &rest),
    ];
    chosen.into_iter().filter(|option| !option.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A figure of both, where they are apart.
fn apart(what: &str, (here, there): (f64, f64), most: f64) -> Option<String> {
    ((here - there).abs() > most).then(|| format!("{what}: {here} here, {there} to fio"))
}

/// What is otherwise here than in fio, and is not told by a line.
fn difference(job: &str, ours: &[Asked], theirs: &[Asked], notes: &[String]) -> Option<String> {
    let is_told = |words: &str| notes.iter().any(|note| note.contains(words));
    let moves = |all: &[Asked]| -> Vec<Asked> {
        all.iter().filter(|(_, what, ..)| *what != Operation::Flush).copied().collect()
    };
    let flushes = |all: &[Asked]| (all.len() - moves(all).len()) as f64;
    let (own, of_fio) = (moves(ours), moves(theirs));
    let is_aligned = job.contains("rand") && job.contains("\nba=");
    let many = is_aligned || ["bssplit", "bsrange"].iter().any(|key| job.contains(key));
    let is_drawn = many
        || ["rw=rw", "randrw", "norandommap", "random_distribution", "percentage_random"]
            .iter()
            .any(|key| job.contains(key));
    if !is_drawn {
        let is_random = job.contains("rw=rand");
        let is_part = of_fio.iter().map(|(.., length)| length).sum::<u64>() % SIZE != 0;
        // What a part of a pass asks is drawn; it comes to as many.
        let passes = if is_told("a request more or less") { 2 } else { 0 };
        let is_same = if is_random && is_part {
            own.len().abs_diff(of_fio.len()) <= passes
        } else if is_random {
            sorted(own.clone()) == sorted(of_fio.clone())
        } else {
            own == of_fio
        };
        let at = own.iter().zip(&of_fio).position(|(one, other)| one != other);
        let told = format!("{} here, {} to fio, the first other one at {at:?}", own.len(), of_fio.len());
        return (!is_same).then_some(told).or_else(|| apart("flushes", (flushes(ours), flushes(theirs)), 1.0));
    }
    let (count, of_them) = (own.len() as f64, of_fio.len() as f64);
    let bytes = |all: &[Asked]| all.iter().map(|(.., length)| *length as f64).sum::<f64>();
    let reads = |all: &[Asked]| {
        all.iter().filter(|(_, what, ..)| *what == Operation::Read).count() as f64 / all.len().max(1) as f64
    };
    let differs = apart("requests", (count, of_them), of_them.max(20.0) * 0.2)
        .or_else(|| apart("bytes", (bytes(&own), bytes(&of_fio)), bytes(&of_fio) * 0.2 + 65_536.0))
        .or_else(|| apart("reads", (reads(&own), reads(&of_fio)), SHARE_OFF.max(2.0 / of_them.sqrt())))
        .or_else(|| {
            let most =
                if is_told("flushes again after each read") { f64::INFINITY } else { flushes(theirs) * 0.25 + 2.0 };
            apart("flushes", (flushes(ours), flushes(theirs)), most)
        });
    let has_enough = of_them >= 250.0 && !job.contains("nrfiles") && !is_told("from one place");
    let places =
        [("first", first_places as fn(&[Asked]) -> f64), ("most wanted", wanted_places), ("next", next_places)];
    // Which blocks are wanted most is drawn.
    let is_spread = ["zipf", "pareto", "normal"].iter().any(|of| job.contains(of));
    let places = if is_spread { &places[1..2] } else { &places[..] };
    let place = |(what, of): &(&str, fn(&[Asked]) -> f64)| apart(what, (of(&own), of(&of_fio)), SHARE_OFF);
    differs.or_else(|| if has_enough { places.iter().find_map(place) } else { None })
}

/// Draws so many jobs; says what is otherwise, and how many were refused.
fn compare(seed: u64, count: usize) -> (Vec<String>, usize) {
    let mut draws = Draws(seed);
    let jobs: Vec<String> = (0..count).map(|_| format!("size=2m\n{}", drawn(&mut draws))).collect();
    let (mut differences, mut refused) = (Vec::new(), 0);
    for jobs in jobs.chunks(AT_ONCE) {
        // fio adds to logs that are there.
        let folder = tempfile::tempdir().expect("a folder of the test");
        let (theirs, _) = theirs(folder.path(), jobs);
        for (job, theirs) in jobs.iter().zip(theirs) {
            let Ok(read) = fio_jobs_in(&format!("[j]\n{job}\n"), "j", FioSurroundings::NONE) else {
                refused += 1;
                continue;
            };
            let spec = &read.plan.loads[0].cells[0];
            if let Some(what) = difference(job, &ours_of(spec, SIZE), &theirs, &read.notes) {
                differences.push(format!("{what}\n{job}\n"));
            }
        }
    }
    (differences, refused)
}

fn none_differs(seed: u64, count: usize) {
    if !fio_is_there() {
        return;
    }
    let (differences, refused) = compare(seed, count);
    assert!(refused * 2 < count, "{refused} of {count} are refused");
    println!("{count} jobs drawn by {seed}: {refused} refused");
    assert!(differences.is_empty(), "{} of {count}:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn jobs_of_drawn_options_ask_the_same_here_as_in_fio() {
    none_differs(1, 20);
}

#[test]
#[ignore = "long: runs 200 jobs in fio"]
fn many_jobs_of_drawn_options_ask_the_same_here_as_in_fio() {
    none_differs(2, 200);
}
