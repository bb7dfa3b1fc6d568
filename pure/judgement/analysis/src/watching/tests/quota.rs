//! Limits that stand in files of the kernel: the queue of a device, the CPU quota of a program.

use super::*;
use loadline_record::{CpuQuota, ShortQueue};

#[test]
fn a_short_queue_that_is_full_binds_before_an_even_rate() {
    let queue = ShortQueue {
        device: "vda".into(),
        requests: 4,
        queues: 1,
        file: "/sys/block/vda/queue/nr_requests".into(),
        lifted_by: "128".into(),
    };
    let of = |depth| {
        let mut seen = watch(&[reads(4_000.0, depth, 1.0); 10]);
        seen.queue = Some(queue.clone());
        summary(seen, Vec::new())
    };
    let found = of(4.0);
    bound(&found, Limit::Parallelism, 0.99..=1.0);
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    let (WatchHeld::Storage { queue: Some(held), .. }, _) = held(volume) else { panic!("{volume:?}") };
    assert_eq!(held, &queue);
    assert_eq!(volume.certainty, Certainty::Likely, "more that waits above it was not seen");
    assert_eq!(volume.next, Some(Advised::Watch { step: WatchNext::LiftSetting, record: false }));
    assert_eq!(volume.command.as_deref(), Some("echo 128 | sudo tee /sys/block/vda/queue/nr_requests"));
    bound(&of(3.0), Limit::DiskIops, 0.99..=1.0);
}

#[test]
fn a_quota_that_runs_out_is_not_the_storage() {
    let did = ProgramSecond {
        read_bytes: 400_000,
        asked_read_bytes: 400_000,
        quota_periods: 10,
        quota_used_up: 9,
        ..ProgramSecond::default()
    };
    let mut seen = watch(&[reads(100.0, 0.3, 0.3); 10]);
    let file = "/sys/fs/cgroup/cpu/db/cpu.cfs_quota_us".to_owned();
    let quota = CpuQuota { quota_us: 20_000, period_us: 100_000, group: "/db".into(), file, lifted_by: "-1".into() };
    seen.programs = vec![WatchedProgram { quota: Some(quota), ..program("db", 7, 10, did) }];
    let found = summary(seen, Vec::new());
    bound(&found, Limit::Cpu, 0.99..=1.0);
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    assert_eq!(volume.next, Some(Advised::Watch { step: WatchNext::LiftSetting, record: false }));
    assert_eq!(volume.command.as_deref(), Some("echo -1 | sudo tee /sys/fs/cgroup/cpu/db/cpu.cfs_quota_us"));
    let (WatchHeld::Other { cause: Some(share), .. }, _) = held(&found.verdict.as_ref().unwrap().volumes[0]) else {
        panic!("{:?}", found.verdict)
    };
    assert_eq!(share.cause, WatchCause::Quota { program: "db".to_owned() });
}
