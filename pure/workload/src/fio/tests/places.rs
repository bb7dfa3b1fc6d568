//! Which blocks a job asks, of which sizes, and which jobs end together.

use super::*;

#[test]
fn distributions_are_those_of_fio() {
    let of = |text: &str| match one(&format!("rw=randread\nrandom_distribution={text}")).pattern {
        Pattern::Random(distribution) => distribution,
        other @ Pattern::Sequential { .. } => panic!("{other:?}"),
    };
    assert_eq!(of("pareto:0.2"), Distribution::Pareto { h_milli: 200 });
    let zone = |requests, blocks| Zone { requests: Ratio::percent(requests), blocks: Ratio::percent(blocks) };
    let three = Distribution::Zoned { zones: vec![zone(50, 5), zone(30, 15), zone(20, 80)] };
    assert_eq!(of("zoned:50/5:30/15:20/80"), three);
    assert_eq!(of("zoned:50/5:30/15:20/"), three, "the last has the rest");
    for wrong in [
        "pareto:1",
        "pareto:x",
        "zipf:0",
        "zoned:50/5:30/15",
        "zoned:50/50:60/50",
        "normal:150",
        "zoned:50/5:50/95,100/100",
    ] {
        let said = refused(&format!("rw=randread\nrandom_distribution={wrong}"));
        assert!(said.contains("job.fio:6: random_distribution=") && said.contains("pareto:H"), "{wrong}: {said}");
    }
    let mixed = one("rw=randread\nbssplit=4k/50:64k/50\nrandom_distribution=zoned:50/50:50/50");
    assert_eq!(mixed.blocks.len(), 2, "fio keeps no map of the blocks of a zoned job");
}

#[test]
fn ranges_of_block_sizes_are_drawn_as_in_fio() {
    let sizes =
        |options: &str| -> Vec<u64> { one(options).blocks.iter().map(|block| block.size.get() >> 10).collect() };
    assert_eq!(sizes("rw=read\nbsrange=4k-16k"), [4, 8, 12, 16]);
    assert_eq!(sizes("rw=write\nbsrange=4k-16k,64k-64k"), [64]);
    // A dash is no range in bs: what stands before it is of reads.
    assert_eq!((sizes("rw=read\nbs=4k-16k"), sizes("rw=write\nbs=4k-16k")), (vec![4], vec![16]));
    assert_eq!(sizes("rw=read\nbsrange=4k-16k\nbs=8k"), [8], "the last counts");
    assert_eq!(one("rw=randread\nbsrange=4k-16k").pattern, Pattern::Random(Distribution::Covering));
    assert!(refused("rw=read\nbsrange=16k-4k").contains("bsrange=16k-4k: is no range"));
}

#[test]
fn the_end_of_a_job_ends_those_that_it_ends_in_fio() {
    let ends = |options: &str, second: &str| {
        let text = format!("[global]\nsize=1m\nexitall\n{options}\n[a]\nrw=read\n[b]\nrw=randread\n{second}\n");
        fio_jobs(&text, "job.fio").map(|jobs| jobs.plan.together[0].ends).map_err(|error| error.to_string())
    };
    assert_eq!(ends("", ""), Ok(GroupEnd::First));
    assert_eq!(ends("exit_what=stonewall", "new_group"), Ok(GroupEnd::First));
    assert!(ends("", "new_group").unwrap_err().contains("a job ends those of its own group"));
    assert!(
        ends("exit_what=all", "").unwrap_err().contains("exit_what=all: in fio this ends the jobs that have not begun")
    );
    assert_eq!(one("filename=/dev/sdz\nsize=0\nrw=write\nfill_device=1").passes, Some(1));
    assert!(refused("filename=/m/f\nsize=0\nrw=write\nfill_device=1").contains("fill_device=1: "));
}

#[test]
fn shares_of_the_target_and_of_chance_and_zones_are_taken() {
    let half = one("filename=/dev/sdz\nsize=50%\nrw=read\nnumjobs=2");
    assert_eq!((half.size_share, half.size, half.passes), (Some(Ratio::percent(50)), None, Some(2)));
    assert!(refused("size=50%").contains("size=50%: is a share of a file or device that is there"));
    assert_eq!(one("rw=randread\npercentage_random=30").continued, Ratio::percent(70));
    assert_eq!(one("rw=read\npercentage_random=30").continued, Ratio::ZERO, "of a sequential job none is random");
    let zones = "zonemode=strided\nzonesize=256m\nzoneskip=2g";
    let gaps = ZoneGaps { size: Bytes::mib(256), skip: Bytes::gib(2) };
    assert_eq!(one(&format!("rw=read\nfilename=/dev/sdz\n{zones}")).zones, Some(gaps));
    assert!(refused(&format!("rw=randread\n{zones}")).contains("zonemode=strided: in a random job"));
    assert!(refused(&format!("rw=read\nzonerange=1g\n{zones}")).contains("zonerange=1g: fio moves"));
    assert!(refused("rw=read\nzonemode=strided").contains("zonesize does not say"));
}
