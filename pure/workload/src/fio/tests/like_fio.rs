//! What jobs of fio do besides what their options say, and what is refused for it.

use super::*;

#[test]
fn jobs_that_only_write_have_new_files_as_in_fio() {
    let fills = |text: &str| {
        let read = jobs(text);
        let fills: Vec<Fill> = read.plan.loads.iter().map(|load| load.cells[0].fill).collect();
        (fills, read.notes.len())
    };
    let log = |options: &str| fills(&format!("[log]\nfilename=log\nsize=1m\nbs=2300\nrw=write\n{options}\n"));
    let (alone, notes_alone) = log("fdatasync=1");
    assert_eq!(alone, [Fill::Never]);
    // A file that grows has more to make durable than one with its length from the beginning.
    for (hole, more) in [("none", 1), ("0", 1), ("truncate", 0)] {
        assert_eq!(log(&format!("fdatasync=1\nfallocate={hole}")), (vec![Fill::Hole], notes_alone + more));
        assert_eq!(log(&format!("fallocate={hole}")), (vec![Fill::Hole], log("").1));
    }
    assert_eq!(log("fallocate=native").0, [Fill::Never]);
    assert_eq!(log("overwrite=1").0, [Fill::Auto]);
    assert_eq!(log("rw=read").0, [Fill::Auto]);
    assert_eq!(log("rw=trim\nbs=4k").0, [Fill::Auto]);
    // A file that one of them reads is full for the other.
    let back = "[back]\nstonewall\nfilename=log\nsize=1m\nrw=read";
    let (shared, notes_shared) = log(back);
    let (overwritten, notes_overwritten) = log(&format!("overwrite=1\n{back}"));
    assert_eq!([shared, overwritten], [[Fill::Auto; 2], [Fill::Auto; 2]]);
    // A log that is full anyway needs no note.
    assert_eq!(notes_shared, notes_overwritten + 1);
    let mixed = log("fallocate=none\n[other]\nstonewall\nfilename=log\nsize=1m\nrw=write");
    assert_eq!(mixed.0, [Fill::Never; 2]);
    let own = jobs("[a]\nrw=write\nsize=1m\n[b]\nstonewall\nrw=randwrite\nsize=1m\n");
    assert!(own.notes.iter().any(|note| note.contains("writes over what the job before it wrote")), "{:?}", own.notes);
}

#[test]
fn zeros_are_zeros_in_every_byte() {
    assert_eq!(one("rw=write\nzero_buffers").content.compressible, Ratio::ONE);
    let marked = refused("rw=write\nzero_buffers\nscramble_buffers=1");
    assert!(marked.contains("job.fio:7: scramble_buffers=1: and zero_buffers"), "{marked}");
}

#[test]
fn distributions_of_fio_that_have_sizes_and_deviations_are_taken() {
    let pattern = |options: &str| one(&format!("rw=randread\n{options}")).pattern;
    let deviation = Ratio::percent(10);
    assert_eq!(pattern("random_distribution=normal:10"), Pattern::Random(Distribution::Normal { deviation }));
    let zones = [(60, 25), (40, 75)]
        .map(|(requests, blocks)| Zone { requests: Ratio::percent(requests), blocks: Ratio::percent(blocks) });
    let by_size = pattern("random_distribution=zoned_abs:60/256m:40/768m");
    assert_eq!(by_size, Pattern::Random(Distribution::Zoned { zones: zones.to_vec() }));
    for odd in ["normal:101", "normal:x", "zoned_abs:60/256m:40/512m", "zoned_abs:60/256m:50/768m", "zoned_abs:60/25"] {
        let told = refused(&format!("rw=randread\nrandom_distribution={odd}"));
        assert!(told.contains(&format!("random_distribution={odd}: loadline has")), "{told}");
    }
}

#[test]
fn times_sizes_and_rates_of_one_direction_are_read_as_fio_reads_them() {
    let (delayed, read) = (one("rw=read\nstartdelay=1-2"), jobs("[a]\nrw=read\nsize=1m\nstartdelay=1-2\n"));
    assert_eq!(delayed.pause, Duration::from_ms(1_500));
    assert!(read.notes.iter().any(|note| note.contains("fio draws one between them")), "{:?}", read.notes);
    assert!(refused("rw=read\nstartdelay=2-1").contains("startdelay=2-1: is not a time"));
    let files = refused("rw=write\nnrfiles=4\nfilesize=16k-64k");
    assert!(files.contains("filesize=16k-64k: in fio the size of each file is drawn"), "{files}");
    let rate = |options: &str| one(options).arrival;
    assert_eq!(rate("rw=read\nrate=400k,"), rate("rw=read\nrate=400k"));
    assert_eq!(rate("rw=write\nrate=400k,"), rate("rw=write"));
    assert_eq!(rate("rw=write\nrate=,400k"), rate("rw=write\nrate=400k"));
    let mixed = refused("rw=randrw\nrate=400k,");
    assert!(mixed.contains("rate=400k,: fio holds one direction to it and lets the other run"), "{mixed}");
    let slow = refused("rw=read\nrate=1250");
    assert!(slow.contains("rate=1250: is no whole number of requests per second"), "{slow}");
}

#[test]
fn what_has_no_place_here_is_refused_by_what_it_does_in_fio() {
    for (options, says) in [
        ("rw=randrw\nbs=4k,16k", "bs=4k,16k: in fio reads and writes then have sizes of their own"),
        ("rw=rw\nbssplit=4k/60:8k/40,16k/100", "bssplit=4k/60:8k/40,16k/100: in fio reads and writes then have sizes"),
        ("rw=read\noffset=50%", "offset=50%: in fio it is that share of the file as it is found"),
        ("rw=read\nnumjobs=2\nfilename=/a\noffset_increment=10%", "offset_increment=10%: in fio it is that share"),
    ] {
        let told = refused(options);
        assert!(told.contains(says), "{told}");
    }
    // The part of the job's own operation counts.
    assert_eq!(one("rw=write\nbssplit=4k/60:8k/40,16k/100").blocks[0].size, Bytes::kib(16));
    assert_eq!(one("rw=read\nbssplit=4k/60:8k/40,16k/100").blocks.len(), 2);
    assert_eq!(one("rw=randrw\nnorandommap\nbssplit=4k/50:8k/50,4k/50:8k/50").blocks.len(), 2);
}

#[test]
fn a_job_whose_blocks_are_aligned_otherwise_may_ask_one_again_as_in_fio() {
    let pattern = |options: &str| one(&format!("rw=randread\n{options}")).pattern;
    for otherwise in ["bs=8k\nba=4k", "bs=4k\nba=16k", "bssplit=4k/50:8k/50\nba=512", "ba=8k"] {
        assert_eq!(pattern(otherwise), Pattern::Random(Distribution::Uniform), "{otherwise}");
    }
    assert_eq!(pattern("bs=8k\nba=8k"), Pattern::Random(Distribution::Permutation));
    let early = refused("rw=randwrite\nbs=4k,8k");
    assert!(early.contains("bs=4k,8k: without norandommap fio keeps a map in blocks of the smallest size"), "{early}");
    assert_eq!(one("rw=randread\nbs=4k,8k").blocks[0].size, Bytes::kib(4));
    assert_eq!(one("rw=randwrite\nbs=4k,8k\nnorandommap").blocks[0].size, Bytes::kib(8));
    let mixed = jobs("[a]\nrw=randrw\nsize=1m\nfdatasync=4\n");
    assert!(mixed.notes.iter().any(|note| note.contains("again after each read until the next write")));
}

#[test]
fn what_is_left_of_a_size_is_one_more_request_where_it_is_to_fio() {
    let requests = |options: &str| {
        let load = one(&format!("size=2m\nbs=48k\n{options}"));
        load.volume.unwrap().get() as f64 / load.block_max().get() as f64
    };
    for part in ["rw=read\nio_size=512k", "rw=randread\nio_size=512k"] {
        assert!((requests(part) - 11.0).abs() < 1e-9, "{part}");
    }
    assert!((requests("rw=randread\nnorandommap") - 43.0).abs() < 1e-9);
    for whole in ["rw=read", "rw=randread"] {
        assert!((42.0..43.0).contains(&requests(whole)), "the load ends before what does not fit: {whole}");
    }
}
