//! Job files as fio reads them, onto loads; and what is refused.

mod like_fio;
mod places;

use super::*;
use loadline_load::{Arrival, Distribution, Fill, Pattern, Staggered, Walk, Zone, ZoneGaps};
use loadline_units::{Bytes, Duration, Iops, Ratio};

fn jobs(text: &str) -> FioJobs {
    fio_jobs(text, "dir/job.fio").unwrap_or_else(|error| panic!("{error}"))
}
fn problems(text: &str) -> String {
    fio_jobs(text, "job.fio").expect_err("refused").to_string()
}

const SUITE: &str = "\
; the suite of a well-known disk benchmark
[global]
ioengine=libaio
bs=1m
size=1g
direct=1
runtime=60
directory=/mnt/data
filename=test.tmp
group_reporting

[Seq-Read]
rw=read
stonewall
[Seq-Write]
rw=write
stonewall
[Rand-Read-4K-QD32]
bs=4k
iodepth=32
rw=randread
stonewall
";

#[test]
fn sections_inherit_from_the_global_ones_before_them() {
    let read = jobs(SUITE);
    let cells: Vec<_> = read.plan.cells().map(|(spec, _)| spec.clone()).collect();
    assert_eq!((read.plan.name.as_str(), cells.len()), ("job", 3));
    assert_eq!(read.targets, [FioTarget { volume: None, target: "/mnt/data/test.tmp".into() }]);
    assert_eq!(cells[1].reads, Ratio::ZERO);
    assert_eq!(cells[0].blocks[0].size, Bytes::mib(1));
    assert_eq!(cells[2].blocks[0].size, Bytes::kib(4));
    assert_eq!(cells[2].outstanding(), Some(32));
    assert_eq!(cells[2].pattern, Pattern::Random(Distribution::Permutation));
    // Without time_based a job ends with its size, or its time if that comes first.
    assert_eq!((cells[0].duration, cells[0].volume), (Duration::from_s(60), Some(Bytes::gib(1))));
    assert!(!cells[0].buffered && cells[0].trials == 1 && cells[0].warm_up == Duration::ZERO);
    assert!(read.notes.iter().any(|n| n.ends_with("do not change the load: group_reporting")), "{:?}", read.notes);
}

fn one(options: &str) -> LoadSpec {
    let text = format!("[global]\nsize=1g\nruntime=10\n[job]\n{options}\n");
    jobs(&text).plan.loads[0].cells[0].clone()
}

#[test]
fn options_mean_what_they_mean_to_fio() {
    assert!(one("rw=read").buffered, "fio is buffered unless told otherwise");
    assert!(one("rw=read").drop_caches && !one("rw=read\ninvalidate=0").drop_caches);
    // A synchronous engine has no depth.
    assert_eq!(one("iodepth=32\ndirect=1").outstanding(), Some(1));
    // Nor has libaio through the page cache.
    assert_eq!(one("ioengine=libaio\niodepth=8").outstanding(), Some(1));
    assert_eq!(one("ioengine=libaio\niodepth=8\ndirect=1").outstanding(), Some(8));
    assert_eq!(one("ioengine=io_uring\niodepth=8").outstanding(), Some(8));
    // Buffers that are neither scrambled nor filled again have one content.
    assert_eq!(one("rw=write\nscramble_buffers=0").content.duplicate, Ratio::ONE);
    assert_eq!(one("rw=write\nscramble_buffers=0\nrefill_buffers").content.duplicate, Ratio::ZERO);
    let rated = one("ioengine=io_uring\niodepth=4\nnumjobs=2\nrate_iops=350,150\ndirect=1\nrw=randrw\nrwmixread=70");
    assert_eq!(rated.reads, Ratio::percent(70));
    // The rate is each clone's in each direction, and so is the file each clone's.
    assert!(
        matches!(rated.arrival, Arrival::Closed { queue_depth: 4, rate_max, .. } if rate_max == Iops::per_second(1_000))
    );
    assert_eq!(rated.size, Some(Bytes::gib(2)));
    let open = one("rate_iops=500\nrate_process=poisson\nioengine=libaio\nrw=randread");
    assert!(matches!(open.arrival, Arrival::Poisson { rate } if Some(rate) == Iops::per_second(500)));
    let flushed = one("rw=write\nfdatasync=8");
    assert_eq!(flushed.flush.unwrap().every, 8);
    assert_eq!(one("time_based\nrw=read").volume, None);
    assert_eq!(one("rw=randread\nnorandommap").pattern, Pattern::Random(Distribution::Uniform));
    assert_eq!(
        one("rw=randread\nrandom_distribution=zipf:1.2").pattern,
        Pattern::Random(Distribution::Zipf { theta_milli: 1200 })
    );
    let mixed = one("rw=randread\nbssplit=4k/60:64k/40\nnorandommap");
    assert_eq!((mixed.blocks[1].size, mixed.blocks[1].share), (Bytes::kib(64), Ratio::percent(40)));
    // Reads first, then writes.
    assert_eq!(one("rw=write\nbs=4k,64k").blocks[0].size, Bytes::kib(64));
    assert!(
        matches!(one("thinktime=500").arrival, Arrival::Closed { think_time, .. } if think_time == Duration::from_us(500))
    );
    // The suffix rules hold for rates too.
    assert!(
        matches!(one("rate_iops=1k").arrival, Arrival::Closed { rate_max, .. } if rate_max == Iops::per_second(1024))
    );
}

#[test]
fn what_would_change_the_load_and_is_not_known_is_refused_with_its_line() {
    let text = "[job]\nrw=randread\nruntime=10\nsize=1g\niodepth_low=8\nverify=crc32c\n";
    let told = problems(text);
    assert!(told.contains("job.fio:5: iodepth_low=8") && told.contains("job.fio:6: verify=crc32c"), "{told}");
    assert!(told.contains("write it in the job that writes"), "{told}");
    assert!(problems("[a]\nrw=sideways\nruntime=1\n").contains("job.fio:2: rw=sideways"));
    assert!(problems("[a]\nbs=4x\nruntime=1\n").contains("job.fio:2: bs=4x"));
    assert!(problems("[a]\nsize=${SIZE}\nruntime=1\n").contains("job.fio:2: size=${SIZE}: SIZE is not set"));
    assert!(problems("[a]\nsize=$mb_memory\nruntime=1\n").contains("depends on the machine"));
    assert!(problems("[a]\nrw=read\n").contains("neither how long nor how much"));
    assert!(problems("[a]\nioengine=mmap\nruntime=1\n").contains("no such way"));
    assert!(problems("rw=read\n").contains("before the first section"));
    assert!(problems("").contains("without a job"));
}

#[test]
fn jobs_that_run_at_once_and_ask_the_same_are_threads_of_one_load() {
    let global = "[global]\nfilename=/dev/sdz\nrw=randread\nruntime=5\ntime_based\nsize=1g\niodepth=4\nioengine=libaio\ndirect=1\n";
    let same = format!("{global}[a]\nnumjobs=2\nrandseed=1\n[b]\ndescription=x\n[c]\nnumjobs=3\n[d]\nstonewall\n");
    let read = jobs(&same);
    let loads: Vec<_> = read.plan.cells().map(|(spec, _)| (spec.name.clone().unwrap(), spec.threads)).collect();
    assert_eq!(loads, [("a + b + c".to_owned(), 6), ("d".to_owned(), 1)]);
    assert!(read.notes.iter().any(|note| note.starts_with("[c] runs at the same time as [a + b]")), "{:?}", read.notes);
    // Another depth is another load beside it.
    assert_eq!(jobs(&format!("{global}[a]\n[b]\niodepth=8\n")).plan.together.len(), 1);
    // On one file they are in the same blocks, and the load says so.
    let sequential = jobs(&format!("{}[a]\n[b]\n", global.replace("randread", "read")));
    let load = &sequential.plan.loads[0].cells[0];
    assert!(load.overlap && load.threads == 2 && load.to_string().contains("over the same blocks"), "{load}");
    assert!(sequential.notes.iter().any(|note| note.contains("caches may answer")), "{:?}", sequential.notes);
}

/// etcd's check of a disk beside readers, each on its own files.
const BESIDE: &str = "[global]\nruntime=10\ntime_based\ndirectory=/mnt/data\nsize=22m\n\
                      [log]\nrw=write\nfdatasync=1\nbs=2k\n[readers]\nrw=randread\niodepth=8\nioengine=libaio\nstartdelay=2\n";

#[test]
fn jobs_without_stonewall_are_loads_that_run_at_the_same_time() {
    let read = jobs(BESIDE);
    let group = |loads: &[usize], ends| LoadGroup { loads: loads.to_vec(), ends };
    assert_eq!(read.plan.together, [group(&[0, 1], GroupEnd::Each)]);
    let loads: Vec<&LoadSpec> = read.plan.cells().map(|(spec, _)| spec).collect();
    assert_eq!((loads[0].start, loads[1].start), (Bytes::ZERO, Bytes::mib(22)), "files of their own");
    assert_eq!(loads[1].pause, Duration::from_s(2));
    assert!(read.notes.iter().any(|note| note == "jobs without stonewall run at the same time"), "{:?}", read.notes);
    // Up to the next that waits.
    let more = format!("{BESIDE}[c]\nstonewall\nrw=read\n[d]\nstonewall\nrw=read\n[e]\nrw=write\n");
    assert_eq!(jobs(&more).plan.together, [group(&[0, 1], GroupEnd::Each), group(&[3, 4], GroupEnd::Each)]);
    let ends = BESIDE.replace("runtime=10", "runtime=10\nexitall");
    assert_eq!(jobs(&ends).plan.together, [group(&[0, 1], GroupEnd::First)]);
    assert!(problems(&BESIDE.replace("bs=2k", "bs=2k\nexitall")).contains("exitall: here the first"));
    assert!(problems(&BESIDE.replace("bs=2k", "bs=2k\nloops=2")).contains("the same loops"));
}

#[test]
fn jobs_name_targets_of_their_own() {
    let text = BESIDE.replace("directory=/mnt/data\n", "").replace("bs=2k", "bs=2k\nfilename=/dev/sdb");
    let read = jobs(&text.replace("startdelay", "filename=/mnt/x/sdb\nstartdelay"));
    let named: Vec<(&str, &str)> =
        read.targets.iter().map(|of| (of.volume.as_deref().unwrap(), of.target.as_str())).collect();
    assert_eq!(named, [("sdb", "/dev/sdb"), ("sdb-2", "/mnt/x/sdb")]);
    let on: Vec<Option<&str>> = read.plan.loads.iter().map(|load| load.on.as_deref()).collect();
    assert_eq!(on, [Some("sdb"), Some("sdb-2")]);
    // One that has none goes where the first does.
    let sole = jobs(&text);
    assert_eq!((sole.targets.len(), sole.plan.loads[1].on.as_deref()), (1, None));
}

/// So many jobs that ask the same at the same time.
fn clones_in_sections(count: usize) -> String {
    format!("[global]\nrw=randread\nsize=1m\n{}", "[g]\n".repeat(count))
}

#[test]
fn what_many_joined_jobs_are_called_does_not_grow_with_their_number() {
    let text_of = |count: usize| {
        let read = jobs(&clones_in_sections(count));
        let [load] = read.plan.loads.as_slice() else { panic!("one load") };
        assert_eq!(load.cells[0].threads as usize, count);
        load.cells[0].name.clone().unwrap().len() + read.notes.iter().map(String::len).sum::<usize>()
    };
    // The number itself has more digits.
    assert!(text_of(1_000) <= text_of(100) + 10);
    // More than a load may have are refused in as few words.
    assert!(problems(&clones_in_sections(10_000)).len() < 500);
    let read = jobs(&clones_in_sections(20));
    assert_eq!(read.plan.loads[0].cells[0].name.as_deref(), Some("g + g + g + g + g + g + g + g + 12 more"));
    assert!(read.notes.iter().any(|note| note.starts_with("12 more run at the same time as [g + g")));
}

#[test]
fn options_over_all_jobs_and_problems_have_a_bound() {
    let keys: Vec<String> = (0..2_000).map(|number| format!("x{number}=1\n")).collect();
    let many = format!("[global]\n{}{}", keys.concat(), "[a]\n".repeat(2_000));
    let error = fio_jobs(&many, "many").unwrap_err();
    let is_named = |problem: &FioProblem| problem.message.contains("options, those of [global] counted");
    assert!(error.problems.iter().any(is_named) && error.problems.len() < 2 * PROBLEMS_FOUND_MAX);
    let wrong = fio_jobs(&"[a]\nnonsense=1\n".repeat(20_000), "wrong").unwrap_err();
    assert!(wrong.problems.len() <= PROBLEMS_FOUND_MAX + 100, "{}", wrong.problems.len());
}

#[test]
fn thinking_after_each_request_is_what_a_think_time_is() {
    let each = one("thinktime=500\nthinktime_blocks=1");
    assert_eq!(each.arrival, one("thinktime=500").arrival);
    assert!(problems("[a]\nsize=1g\nthinktime_blocks=4\nthinktime=9\n").contains("here each request is thought about"));
}

fn refused(options: &str) -> String {
    problems(&format!("[global]\nsize=1g\nruntime=10\n[job]\n{options}\n"))
}

#[test]
fn a_job_that_thinks_has_one_request_at_a_time() {
    let thinking = one("ioengine=libaio\ndirect=1\niodepth=16\nthinktime=10ms\nrw=randread");
    let Arrival::Closed { queue_depth, think_time, .. } = thinking.arrival else { panic!("{thinking:?}") };
    assert_eq!((queue_depth, think_time), (1, Duration::from_ms(10)));
    assert_eq!(one("ioengine=libaio\ndirect=1\niodepth=16\nthinktime=0\nrw=randread").outstanding(), Some(16));
    let open = refused("rw=randread\nrate_iops=10\nrate_process=poisson\nthinktime=5");
    assert!(open.contains("job.fio:8: thinktime: arrivals"), "{open}");
}

#[test]
fn rates_hold_for_reads_and_writes_apart() {
    let rate = |options: &str| match one(options).arrival {
        Arrival::Closed { rate_max, .. } => rate_max.map(Iops::get),
        other => panic!("{other:?}"),
    };
    assert_eq!(rate("rw=randrw\nrate_iops=100"), Some(200));
    assert_eq!(rate("rw=randrw\nrwmixread=70\nrate_iops=70,30"), Some(100));
    assert_eq!(rate("rw=randwrite\nrate_iops=70,30"), Some(30));
    assert_eq!(rate("rw=randrw\nrwmixread=75\nrate=3m,1m\nbs=64k"), Some(64));
    assert_eq!(rate("rw=randread\nrate_iops=0\nrate=0"), None);
    // Together they are whole requests, alone they are not.
    assert_eq!(rate("rw=randread\nbs=64k\nrate=100k\nnumjobs=16"), Some(25));
    let uneven = refused("rw=randrw\nrwmixread=70\nrate_iops=100");
    assert!(uneven.contains("job.fio:7: rate_iops=100: fio holds reads and writes to it apart"), "{uneven}");
    assert!(uneven.contains("write rate_iops=140,60 for that mix, or rwmixread=50 for what fio does"), "{uneven}");
    assert!(refused("rw=randread\nrate=1000").contains("job.fio:6: rate=1000: is no whole number"), "4 KiB in 4 s");
    assert!(refused("rw=randread\nnorandommap\nbssplit=4k/50:64k/50\nrate_iops=100").contains("write rate instead"));
    assert!(refused("rw=randread\nrate=1m\nrate_iops=100").contains("two rates"));
}

#[test]
fn what_fio_does_with_the_files_themselves_is_no_load() {
    for options in ["pre_read=1", "pre_read", "create_only=1", "create_only", "opendir=/srv"] {
        let told = refused(&format!("rw=randread\n{options}"));
        assert!(told.contains(&format!("job.fio:6: {}", options.split('=').next().unwrap())), "{told}");
    }
    let plain = one("rw=randread");
    assert!(refused("rw=randread\ncreate_on_open=1").contains("job.fio:6: create_on_open=1"));
    assert_eq!(one("rw=randwrite\ncreate_on_open=1"), one("rw=randwrite"));
    assert!(refused("rw=randread\nexitall\nnumjobs=2").contains("job.fio:6: exitall=1: "));
    assert_eq!(one("rw=randread\nexitall"), plain);
    assert_eq!(one("rw=randread\npre_read=0\ncreate_only=0"), plain);
}

#[test]
fn several_files_are_asked_in_turns() {
    let two = jobs("[global]\nfilename=/m/a\nsize=1g\nruntime=1\n[job]\nfilename=/m/b\n");
    let load = &two.plan.loads[0].cells[0];
    assert_eq!((load.files, load.in_turn, two.targets[0].target.as_str()), (2, Some(1), "/m"));
    assert!(two.notes.iter().any(|note| note.contains("2 test files in /m take the place")), "{:?}", two.notes);
    assert_eq!(one("filename=a:b:c\nnumjobs=2\nrw=read").files, 3, "clones share them");
    for (names, why) in [
        ("/a:/a", "no names of different files"),
        ("/dev/sdb:/dev/sdc", "fio takes turns between these devices"),
        ("/x/a:/y/b", "files of several folders"),
    ] {
        assert!(refused(&format!("filename={names}")).contains(&format!("job.fio:5: filename={names}: ")), "{names}");
        assert!(refused(&format!("filename={names}")).contains(why), "{names}");
    }
    assert!(problems("[j]\nfilename=a:b\nruntime=1\n").contains("write size"));
    let apart = problems("[global]\nsize=1m\n[a]\nfilename=a:b\nrw=read\n[b]\nfilename=c:d\nrw=randread\n");
    assert!(apart.contains("would share those of different names"), "{apart}");
    assert!(refused("directory=/a::/b").contains("job.fio:5: directory=/a::/b"));
    assert_eq!((one("rw=read\nnrfiles=4").in_turn, one("rw=read\nnrfiles=4").files), (Some(1), 4));
    assert_eq!(one("rw=read\nfile_service_type=roundrobin:8\nnrfiles=4").in_turn, Some(8));
    assert!(refused("rw=read\nnrfiles=4\nbs=192k\nfile_service_type=roundrobin:8").contains("a short one"));
    assert!(refused("rw=read\nnrfiles=4\nbssplit=4k/50:8k/50").contains("end one before the other"));
    assert!(refused("rw=randread\nnrfiles=4\nfile_service_type=random:2").contains("file_service_type=random"));
    assert_eq!(one("rw=read\nnrfiles=3\nbs=1m").size, Some(Bytes::mib(1023)), "whole blocks in each");
    assert!(refused("rw=read\nnrfiles=4\nopenfiles=2").contains("openfiles=2: "));
    assert!(refused("rw=randread\nnrfiles=4\nfile_service_type=zipf:1.2").contains("file_service_type=zipf"));
    assert!(refused("rw=randread\nnrfiles=4\nfile_service_type=sequential").contains("job.fio:7: file_service_type"));
    assert_eq!(one("rw=read\nnrfiles=4\nfile_service_type=sequential").files, 4);
    assert_eq!(one("rw=randread\nnrfiles=4\nnumjobs=2").files, 8, "each clone has its own");
    assert_eq!(one("rw=read\nnrfiles=4\nfilename=/a").files, 1, "fio's is then the one that is named");
    assert_eq!(one("rw=read\nfile_service_type=zipf:1.2"), one("rw=read"));
    assert!(refused("rw=randread\nnumjobs=2\nfilename_format=x").contains("one name"));
}

#[test]
fn blocks_that_fio_cuts_are_cut_here() {
    let cut = one("rw=randread\nbssplit=4k/50:64k/50");
    assert_eq!((cut.pattern, cut.overlap), (Pattern::Random(Distribution::Covering), false));
    assert!(one("rw=randread\nbssplit=4k/50:64k/50\nfilename=/a\nnumjobs=2").overlap, "each goes over all of it");
    for (odd, why) in [("bssplit=4k/50:10k/50", "multiples"), ("bssplit=4k/50:8k/50\nrate=1m", "rate")] {
        let told = refused(&format!("rw=randread\n{odd}"));
        assert!(told.contains("job.fio:6: bssplit=") && told.contains(why), "{told}");
    }
    for whole in ["norandommap", "random_distribution=zipf:1.1"] {
        assert_eq!(one(&format!("rw=randread\nbssplit=4k/50:64k/50\n{whole}")).blocks.len(), 2);
    }
    assert_eq!(one("rw=read\nbssplit=4k/50:64k/50").blocks.len(), 2);
    assert_eq!(one("rw=randread\nbssplit=4k/100").blocks.len(), 1);
}

#[test]
fn what_a_job_moves_is_that_of_all_its_clones() {
    let shared = one("rw=randread\nfilename=/a\nnumjobs=4");
    assert_eq!((shared.size, shared.volume), (Some(Bytes::gib(1)), Some(Bytes::gib(4))));
    assert!(shared.overlap, "each goes over all of it, in an order of its own");
    let gaps = one("rw=randread\nfilename=/a\nnumjobs=4\noffset_increment=2g");
    let own = Staggered { step: Bytes::gib(2), length: Some(Bytes::gib(1)) };
    assert_eq!((gaps.staggered, gaps.size, gaps.volume), (Some(own), Some(Bytes::gib(7)), Some(Bytes::gib(4))));
    let files = refused("rw=randread\nnumjobs=4\noffset_increment=2g");
    assert!(files.contains("job.fio:7: offset_increment=2 GiB") && files.contains("size=2147483648"), "{files}");
    // As dbench has it, and Google's page.
    let apart = one("rw=read\nfilename=/a\nnumjobs=4\noffset_increment=512m");
    let step = Bytes::mib(512);
    assert_eq!(apart.staggered, Some(Staggered { step, length: Some(Bytes::gib(1)) }));
    assert_eq!((apart.size, apart.volume, apart.overlap), (Some(Bytes::mib(2560)), Some(Bytes::gib(4)), false));
    let whole = one("size=0\nrw=write\nfilename=/dev/sdz\nnumjobs=4\noffset_increment=512m\ntime_based");
    assert_eq!((whole.staggered, whole.size), (Some(Staggered { step, length: None }), None));
    let filled = one("size=0\nfilesize=2g\nrw=write\nfilename=/a\nnumjobs=2\noffset_increment=1g");
    assert_eq!((filled.size, filled.volume), (Some(Bytes::gib(2)), Some(Bytes::gib(3))));
    assert_eq!(one("rw=read\nfilename=/a\nnumjobs=4\noffset_increment=1g").size, Some(Bytes::gib(4)));
    assert_eq!(one("rw=trim\nbs=4k,64k").blocks[0].size, Bytes::kib(64), "the last counts for those left out");
}

#[test]
fn of_options_that_say_the_same_the_last_counts() {
    let reads = |options: &str| one(&format!("rw=randrw\n{options}")).reads;
    assert_eq!(reads("rwmixread=70\nrwmixwrite=90"), Ratio::percent(10));
    assert_eq!(reads("rwmixwrite=90\nrwmixread=70"), Ratio::percent(70));
    assert!(one("direct=1\nbuffered=1").buffered && !one("buffered=1\ndirect=1").buffered);
    assert!(refused("rw=write\nfsync=4\nfdatasync=2").contains("job.fio:7: fdatasync=2: and fsync are two"));
    assert!(refused("rw=write\nfsync=4\nsync=1").contains("job.fio:7: sync=1: "));
}

#[test]
fn what_ends_or_moves_otherwise_than_in_fio_is_said() {
    let notes = |text: &str| jobs(text).notes.join("\n");
    assert!(notes("[a]\nrw=rw\nsize=1g\n").contains("fio goes on with its reads and with its writes apart"));
    assert!(notes("[a]\nruntime=5\n").contains("fio wants a size of a job that names no file"));
    assert!(notes("[a]\nsize=1g\nramp_time=5\n").contains("towards the size"));
    assert_eq!(notes("[a]\nruntime=5\ntime_based\nramp_time=5\n"), "");
}

#[test]
fn comments_end_a_line_where_they_stand() {
    let text = "[global] ; of all\nsize=1g # so much\nruntime=10\n; rw=write\n[job] # one\nrw=randread ; not write\n";
    assert!(is_fio(text));
    assert_eq!(jobs(text).plan.loads[0].cells[0], one("rw=randread"));
}

#[test]
fn what_asks_for_nothing_could_as_well_be_absent() {
    let plain = one("rw=randread\nbs=8k");
    for nothing in [
        "verify=0\nverify_fatal=0\ndo_verify=1\nverify_backlog=16",
        "rate_iops=0\nrate=0\nrate_min=0\nthinktime=0\nio_size=0\noffset=0\nnumber_ios=0",
        "random_generator=tausworthe64",
        "random_generator=lfsr",
        "bsrange=8k-8k",
        "iodepth_batch_submit=1\nfill_fs=0\nzonemode=none\nend_fsync=0\npercentage_random=100",
        "nr_files=1\nthreads=1\nkb_base=1024",
        "size=1073741824.0",
    ] {
        assert_eq!(one(&format!("rw=randread\nbs=8k\n{nothing}")), plain, "{nothing}");
    }
    let whole = one("size=100%%\nfilename=/dev/sdz");
    assert_eq!((whole.size, whole.volume, whole.passes), (None, None, Some(1)));
    for something in
        ["verify=md5", "random_generator=lfsr\nnorandommap", "bsrange=4k-9k", "rate_min=1m", "zonemode=zbd"]
    {
        assert!(refused(&format!("rw=randread\n{something}")).contains("job.fio:6: "), "{something}");
    }
    let between = refused("rw=randwrite\nverify=md5\nverify_backlog=16");
    assert!(between.contains("job.fio:7: verify_backlog=16: fio reads back what it wrote after"), "{between}");
    // How it verifies is one fault with that it does.
    assert_eq!(refused("verify=md5\nverify_fatal=1\nverify_dump=1").lines().count(), 1);
}

#[test]
fn a_fault_in_a_global_section_is_told_once() {
    let told = problems(&format!("[global]\nsize=1g\nnonsense=1\n{}", "[a]\nstonewall\n".repeat(30)));
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.starts_with("job.fio:3: nonsense=1"), "{told}");
}

/// A job file with these variables and files.
fn within(text: &str, variables: &[(&str, &str)], files: &[(&str, &str)]) -> Result<FioJobs, FioError> {
    let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let file = |path: &str, from: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        let text = found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("{path} of {from} is not there"))?;
        Ok(FioFile { path: path.to_owned(), text })
    };
    let keyword = |word: &str| (word == "$ncpus").then_some(2);
    fio_jobs_in(text, "job.fio", FioSurroundings { variable: &variable, keyword: &keyword, file: &file })
}

#[test]
fn variables_have_their_values_in_the_text_that_is_kept() {
    let text = "[job]\nrw=randread\nsize=${SIZE}\nfilename=/mnt/${DISK}/${DISK}.tmp # here\nruntime=10\n";
    let read = within(text, &[("SIZE", "1g"), ("DISK", "sdb")], &[]).unwrap();
    assert_eq!(read.targets[0].target, "/mnt/sdb/sdb.tmp");
    assert!(read.plan.text.contains("size=1g ; ${SIZE}\n"), "{}", read.plan.text);
    // What is kept stands for itself.
    assert_eq!(jobs(&read.plan.text).plan.loads, read.plan.loads);
    let unset = within(text, &[("SIZE", "1g")], &[]).unwrap_err().to_string();
    assert!(unset.starts_with("job.fio:4: filename=/mnt/${DISK}/${DISK}.tmp: DISK is not set"), "{unset}");
    assert!(within(text, &[("SIZE", "1g"), ("DISK", "a;b")], &[]).is_err(), "the rest would be a comment");
}

#[test]
fn words_for_the_machine_are_computed_as_in_fio() {
    let read = |line: &str| within(&format!("[job]\nsize=1g\nrw=randread\n{line}\n"), &[("N", "3")], &[]);
    let threads = |line: &str| {
        let read = read(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        // What is kept stands for itself, and names the words behind it.
        assert_eq!(jobs(&read.plan.text).plan.loads, read.plan.loads);
        assert!(read.plan.text.contains("; $ncpus"), "{}", read.plan.text);
        read.plan.loads[0].cells[0].threads
    };
    assert_eq!(threads("numjobs=$ncpus"), 2);
    assert_eq!(threads("numjobs=$ncpus*2 # each twice"), 4);
    assert_eq!(threads("numjobs=$ncpus*${N}"), 6);
    let units = read("numjobs=$ncpus*1k").unwrap_err().to_string();
    assert!(units.starts_with("job.fio:4: numjobs=$ncpus*1k: is no whole number once $ncpus is in it"), "{units}");
    assert!(read("size=$pagesize").unwrap_err().to_string().contains("its value is not at hand"));
    // fio reads a product without parentheses as its first number.
    assert_eq!(one("size=(10*10m)").size, Some(Bytes::mib(100)));
    assert!(refused("size=10*10m").contains("size=10*10m: is not a size"));
}

#[test]
fn a_job_without_size_and_time_ends_with_its_target() {
    let of = |options: &str| jobs(&format!("[job]\n{options}\n")).plan.loads.remove(0).cells.remove(0);
    let whole = of("rw=write\nfilename=/dev/sdz");
    assert_eq!((whole.size, whole.volume, whole.passes), (None, None, Some(1)));
    // Each clone goes over all of it.
    assert_eq!(of("rw=randwrite\nfilename=/dev/sdz\nnumjobs=4").passes, Some(4));
    assert_eq!(of("rw=randread\nfilename=/dev/sdz\nloops=5000").passes, Some(5_000));
    let either = of("rw=randread\nfilename=/dev/sdz\nruntime=10");
    assert_eq!((either.passes, either.duration), (Some(1), Duration::from_s(10)));
    for bound in ["time_based\nruntime=10", "io_size=1g", "size=1g"] {
        assert_eq!(of(&format!("rw=randread\nfilename=/dev/sdz\n{bound}")).passes, None, "{bound}");
    }
    let counted = of("rw=randread\nfilename=/dev/sdz\nnumber_ios=10");
    assert_eq!((counted.passes, counted.volume), (Some(1), Some(Bytes::kib(40))), "whichever comes first");
    assert!(problems("[a]\nrw=read\ndirectory=/mnt\n").contains("nor names a file that ends it"));
}

#[test]
fn a_job_that_leaves_out_or_goes_back_turns_as_in_fio() {
    let way = |options: &str| {
        let load = one(options);
        (load.pattern, load.walk)
    };
    let stride = |kib| Pattern::Sequential { stride: Some(Bytes::kib(kib)) };
    assert_eq!(way("rw=read:-8k"), (stride(4), Walk::Back));
    assert_eq!(way("rw=write:112k\nbs=16k"), (stride(128), Walk::Again));
    assert_eq!(way("rw=read"), (Pattern::Sequential { stride: None }, Walk::Onward));
    for (options, told) in [
        ("rw=read:-4k", "goes back by two blocks at least"),
        ("rw=read:6k", "is a multiple of the one block size"),
        ("rw=read:x", "behind the colon"),
        ("rw=read:0", "behind the colon"),
        ("rw=rw:8k", "reads and with its writes apart"),
        ("rw=read:8k\noffset=8k", "adds the offset twice"),
        ("rw=read:2g", "nothing is left"),
        ("rw=read:8k\nnrfiles=2\nfile_service_type=sequential", "turns within each file"),
    ] {
        let said = refused(options);
        assert!(said.contains("job.fio:5: rw=") && said.contains(told), "{options}: {said}");
    }
    assert!(jobs("[a]\nrw=read:8k\nfilename=/a\nsize=1g\n").notes.iter().any(|note| note.contains("end of the file")));
}

#[test]
fn a_job_that_writes_may_end_with_a_flush() {
    for option in ["end_fsync=1", "fsync_on_close=1", "end_fsync"] {
        assert!(one(&format!("rw=write\n{option}")).end_flush, "{option}");
    }
    assert!(!one("rw=write\nend_fsync=0").end_flush && !one("rw=read\nend_fsync=1").end_flush);
    let beside = problems("[global]\nsize=1m\n[a]\nrw=write\nend_fsync=1\n[b]\nrw=read\n");
    assert!(beside.contains("job.fio:3: end_fsync: a flush at the end is measured of jobs that run alone"), "{beside}");
}

#[test]
fn clones_are_shared_out_over_several_directories() {
    let text = |job: &str| {
        format!("[global]\nsize=1m\nrw=randread\n[first]\n[a]\nstonewall\ndirectory=/x:/y\n{job}\n[b]\nstonewall\n")
    };
    let read = jobs(&text("numjobs=5"));
    let loads: Vec<_> = (read.plan.loads.iter()).map(|load| (load.on.as_deref(), load.cells[0].threads)).collect();
    assert_eq!(loads, [(Some("x"), 1), (Some("x"), 3), (Some("y"), 2), (Some("x"), 1)]);
    assert_eq!(read.plan.together, [LoadGroup { loads: vec![1, 2], ends: GroupEnd::Each }]);
    assert!(read.notes.iter().any(|note| note.starts_with("directory=/x:/y: each directory")), "{:?}", read.notes);
    // One clone, or a file with a name, lies in the first.
    for first in ["numjobs=1", "numjobs=5\nfilename=f"] {
        assert_eq!(jobs(&text(first)).plan.loads.len(), 3, "{first}");
    }
}

#[test]
fn a_job_that_waits_for_the_one_before_it_waits_for_all() {
    let jobs_of =
        |middle: &str| format!("[global]\nsize=1m\nrw=randread\n[a]\n[b]\nbs=8k\n{middle}[c]\nbs=16k\nwait_for=b\n");
    let read = jobs(&jobs_of("wait_for=a\n"));
    assert_eq!((read.plan.loads.len(), read.plan.together.len()), (3, 0));
    let beside = problems(&jobs_of(""));
    assert!(beside.contains("job.fio:9: wait_for=b: in fio the job begins when that job has ended"), "{beside}");
}

#[test]
fn included_files_are_in_the_text_that_is_kept_and_their_faults_have_their_line() {
    let files =
        [("common", "rw=randread\ninclude sizes\n"), ("sizes", "; of all\nsize=1g\n"), ("self", "include self\n")];
    let read = within("[global]\ninclude common\n[job]\nruntime=10\n", &[], &files).unwrap();
    assert_eq!(read.plan.loads[0].cells[0], one("rw=randread"));
    assert_eq!(jobs(&read.plan.text).plan.loads, read.plan.loads);
    let told = |text: &str, files: &[(&str, &str)]| within(text, &[], files).unwrap_err().to_string();
    let fault = told("[global]\ninclude common\n[job]\nbs=x\n", &[("common", "size=1g\n\nbs=y\nnonsense\n")]);
    assert_eq!(fault.lines().count(), 2, "{fault}");
    assert!(fault.contains("common:4: nonsense=1") && fault.contains("job.fio:4: bs=x"), "{fault}");
    assert!(told("[a]\ninclude other\n", &files).contains("job.fio:2: include: other of job.fio is not there"));
    assert!(told("[a]\ninclude self\n", &files).contains("self:1: include self: is nested more than 16 deep"));
    assert!(told("[a]\ninclude s\n", &[("s", "[b]\n")]).contains("s:1: [b]: an included file has no sections"));
    // Files that include each other twice do not grow without bound.
    let twice = told("[a]\ninclude t\n", &[("t", "include t\ninclude t\n")]);
    assert!(twice.lines().count() <= PROBLEMS_MAX + 1);
}

fn command(line: &str) -> Result<FioJobs, FioError> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    assert!(is_fio_command(&words), "{line}");
    fio_command(&words, FioSurroundings::NONE)
}

#[test]
fn a_command_line_is_the_job_file_that_it_stands_for() {
    let line = "fio --name=job --rw=randread --size=1g --runtime=10";
    let read = command(line).unwrap();
    assert_eq!(read.plan.loads[0].cells[0], one("rw=randread"));
    assert_eq!(jobs(&read.plan.text).plan.loads, read.plan.loads, "the text stands for itself");
    // As scripts write them: single dashes, values apart, what is printed, options of all jobs first.
    let other = "/usr/bin/fio -rw randread --size 1g --output-format=json --minimal --eta never -name job -runtime=10";
    assert_eq!(command(other).unwrap().plan.loads, read.plan.loads);
    let two = command("fio --size=1g --group_reporting --name=a --rw=read --name=b --stonewall --rw=write").unwrap();
    let names: Vec<_> = two.plan.cells().map(|(spec, _)| (spec.name.clone().unwrap(), spec.reads)).collect();
    assert_eq!(names, [("a".to_owned(), Ratio::ONE), ("b".to_owned(), Ratio::ZERO)]);
    let wrong = command("fio --name=a --size=1g --rw sideways --nonsense").unwrap_err().to_string();
    assert!(wrong.contains("--rw: rw=sideways: ") && wrong.contains("--nonsense: nonsense=1: "), "{wrong}");
    assert!(command("fio --rw=read --size=1g").unwrap_err().to_string().contains("without a job"));
    assert!(command("fio a.fio --size=1g").unwrap_err().to_string().starts_with("a.fio: is no option"));
    assert!(!is_fio_command(&["fio".to_owned()]) && !is_fio_command(&["a.fio".to_owned(), "-x".to_owned()]));
}

#[test]
fn job_files_are_told_from_plans() {
    assert!(is_fio(SUITE));
    assert!(!is_fio("schema = 1\nname = \"x\"\n[[load]]\nblock = \"4 KiB\"\n"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(\\[[a-z]{0,6}\\]|[a-z_]{1,9}=[0-9a-z%,:/]{0,9}|[a-z]{0,5}|\\PC{0,8}|\n){0,40}") {
        let _ = fio_jobs(&text, "any");
    }
    #[test]
    fn every_option_is_taken_listed_or_refused(key in "[a-z_]{3,14}", value in "[0-9]{1,3}") {
        let text = format!("[job]\nsize=1g\nruntime=5\n{key}={value}\n");
        match fio_jobs(&text, "any") {
            Err(error) => proptest::prop_assert!(error.to_string().contains(&key) || !error.problems.is_empty()),
            Ok(read) => {
                let plain = jobs("[job]\nsize=1g\nruntime=5\n");
                let said = read.notes.iter().any(|note| note.contains(canonical(&key)));
                let changed = read.plan.loads != plain.plan.loads;
                // What is neither taken nor listed has the value that it has anyway.
                let taken = ["invalidate", "loops", "numjobs", "iodepth", "fsync", "fdatasync", "rwmixread", "rwmixwrite", "direct", "buffered"];
                proptest::prop_assert!(said || changed || taken.contains(&canonical(&key)) || value.chars().all(|c| c == '0') || !read.targets.is_empty(), "{key}={value}");
            }
        }
    }
}

#[test]
fn what_fio_calls_otherwise_is_the_same_load_here() {
    let of = |keys: &str| jobs(&format!("[j]\nsize=1m\n{keys}\n"));
    let spec = |keys: &str| of(keys).plan.loads[0].cells[0].clone();
    // etcd's blocks, through the page cache.
    assert_eq!(spec("rw=write\nbs=2300\nfdatasync=1").blocks[0].size, Bytes::new(2_300));
    assert!(problems("[j]\nsize=1m\nrw=write\nbs=2300\ndirect=1\n").contains("buffered = true"));
    assert_eq!(spec("rw=randread\nnumber_ios=10").volume, Some(Bytes::kib(40)));
    assert_eq!(jobs("[j]\nfilesize=1m\nrw=read\n").plan.loads, of("rw=read").plan.loads);
    assert_eq!(of("rw=read\nioengine=null").targets[0].target, "null");
    let passes = spec("rw=write\nloops=5000");
    assert_eq!((passes.trials, passes.volume), (1, Some(Bytes::mib(5_000))));
    let rate = Iops::per_second(100).unwrap();
    assert_eq!(spec("rw=randread\nrate_iops=100\nio_submit_mode=offload").arrival, Arrival::Constant { rate });
    let poisson = spec("rw=randread\nrate_iops=100\nio_submit_mode=offload\nrate_process=poisson").arrival;
    assert_eq!(poisson, Arrival::Poisson { rate });
    let checked = of("rw=randwrite\nverify=crc32c\nverify_fatal=1\ncpus_allowed=0-3\niodepth_batch=4");
    assert!(checked.plan.loads[0].cells[0].verify);
    assert!(checked.notes.iter().any(|note| note.starts_with("cpus_allowed is left out: ")), "{:?}", checked.notes);
    for (keys, told) in [
        ("rw=randread:8", "draws each"),
        ("rw=randread\nflow=8", "pace of another"),
        ("rw=write\nfill_device=1", "never does to a file system"),
        ("rw=write\nverify=pattern", "no patterns"),
        ("rw=randread\nfilesize=2m", "filesize=2m: and size differ"),
    ] {
        let told_of = problems(&format!("[j]\nsize=1m\n{keys}\n"));
        assert!(told_of.contains(told), "{keys}: {told_of}");
    }
}

/// Job files as people brought them, cut down to what matters.
#[test]
fn job_files_that_people_brought_are_the_loads_that_fio_makes_of_them() {
    let one = |text: &str| jobs(text).plan.loads.remove(0).cells.remove(0);
    let paced = include_str!("../../tests/jobs/think-time-at-depth.fio");
    let Arrival::Closed { queue_depth, think_time, .. } = one(paced).arrival else { panic!("a closed loop") };
    assert_eq!((queue_depth, think_time), (1, Duration::from_ms(10)), "the job pauses as a whole");
    assert!(jobs(paced).notes.join("\n").contains("the depth is 1"), "{:?}", jobs(paced).notes);

    assert!(one(include_str!("../../tests/jobs/direct-then-buffered.fio")).buffered, "what stands later counts");
    let pattern = include_str!("../../tests/jobs/file-name-pattern.fio");
    assert_eq!(one(pattern), one(&pattern.replace("filename_format=f.$jobnum.$filenum\n", "")));
    let off = include_str!("../../tests/jobs/options-that-are-off.fio");
    assert_eq!(one(off), one(&off.replace("verify=0\n", "")));
    assert_eq!(one(off).outstanding(), Some(16));

    let remarks = one(include_str!("../../tests/jobs/remarks-behind-values.fio"));
    assert_eq!((remarks.buffered, remarks.threads, remarks.duration), (false, 4, Duration::from_s(1)));
    let told = problems(include_str!("../../tests/jobs/pre-read.fio"));
    assert!(told.contains("job.fio:6: pre_read=1: would change the load"), "{told}");
}
