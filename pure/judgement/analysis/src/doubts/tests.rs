//! For each code a trial that earns the doubt and one that does not.

mod devices;
mod short;
mod steady;

use super::*;
use crate::example::{ExampleDisk, closed, latencies, open, trial, volume};
use loadline_block::ErrorKind;
use loadline_record::{
    AskedAndMoved, ClockCheck, Compression, Extents, FileSystemFacts, KnownDeviation, MemoryBacked, OperationRecord,
    OtherLoad, Residency, Stops, ThreadBusy, VerifyFault, VerifyFaultKind, VerifyRecord,
};

const KIB4: u64 = 4 << 10;
const GIB: u64 = 1 << 30;

struct Scene {
    load: LoadFigures,
    trial: TrialRecord,
    volume: VolumeFacts,
}

impl Scene {
    /// A minute of a load on the example's disk, which leaves nothing to doubt.
    fn of(load: LoadFigures) -> Self {
        let trial = trial(&load, &ExampleDisk::default(), 0, 1.0);
        Self { load, trial, volume: volume("data") }
    }
    fn reads() -> Self {
        Self::of(closed("random", 1.0, KIB4, 32))
    }
    fn writes() -> Self {
        Self::of(closed("random", 0.0, KIB4, 32))
    }
    fn changed(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
    fn codes(&self) -> Vec<DoubtCode> {
        doubts(&self.load, &self.trial, &self.volume).into_iter().map(|d| d.code).collect()
    }
    fn seen(&self, code: DoubtCode) -> Option<DoubtEvidence> {
        doubts(&self.load, &self.trial, &self.volume).into_iter().find(|d| d.code == code).map(|d| d.seen)
    }
    /// The code is there, with what is wanted of its evidence.
    #[track_caller]
    fn earns(&self, code: DoubtCode, is_wanted: impl Fn(&DoubtEvidence) -> bool) {
        let seen = self.seen(code).unwrap_or_else(|| panic!("no {code} among {:?}", self.codes()));
        assert!(is_wanted(&seen), "{seen:?}");
    }
    #[track_caller]
    fn lacks(&self, code: DoubtCode) {
        assert_eq!(self.seen(code), None);
    }
    fn counters(&mut self) -> &mut loadline_record::DeviceCounters {
        &mut self.trial.surroundings.devices[0]
    }
    fn asked(&self, operation: Operation) -> (u64, u64) {
        self.trial.surroundings.asked[&operation]
    }
    /// Requests per second by second, with some noise.
    fn with_rates(mut self, rate: impl Fn(usize) -> f64) -> Self {
        for (i, second) in self.trial.series.seconds.iter_mut().enumerate() {
            second.operations[0].count = (rate(i) * (1.0 + (i * 37 % 11) as f64 / 500.0)) as u64;
        }
        self
    }
}

/// Whether evidence is of a form, with what it says.
macro_rules! seen {
    ($form:pat $(if $so:expr)?) => { |seen: &DoubtEvidence| matches!(seen, $form $(if $so)?) };
}
use seen;

/// Whether the devices moved this share of what was asked.
fn moved_share(bytes: &AskedAndMoved, share: f64) -> bool {
    is_about(bytes.moved_bytes as f64 / bytes.asked_bytes as f64, share)
}

fn is_about(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() <= wanted.abs() * 0.02
}

#[test]
fn an_honest_minute_leaves_nothing_to_doubt() {
    for load in [
        closed("random", 1.0, KIB4, 1),
        closed("random", 0.0, KIB4, 128),
        closed("random", 0.7, 8 << 10, 16),
        closed("sequential", 1.0, 1 << 20, 8),
        open("random", 1.0, KIB4, 2_500.0),
    ] {
        let codes = Scene::of(load.clone()).codes();
        // At 200 a second a minute holds 12,000 one-megabyte requests: enough; at depth 1 and 1 ms 60,000: enough.
        assert_eq!(codes, [], "{load:?}");
    }
}

#[test]
fn reads_that_no_device_saw_are_cached() {
    let scene = Scene::reads().changed(|s| s.counters().read_bytes /= 4);
    scene.earns(
        DoubtCode::CachedReads,
        seen!(DoubtEvidence::MovedLess { devices, bytes } if devices == &["vda"] && moved_share(bytes, 0.25)),
    );
    Scene::reads().changed(|s| s.counters().read_bytes -= s.counters().read_bytes / 40).lacks(DoubtCode::CachedReads);
    Scene::writes().lacks(DoubtCode::CachedReads);
}

#[test]
fn reads_without_counters_are_not_called_cached() {
    Scene::reads().changed(|s| s.trial.surroundings.devices.clear()).lacks(DoubtCode::CachedReads);
}

#[test]
fn failed_reads_are_not_cached_ones() {
    Scene::reads()
        .changed(|s| {
            let half = s.asked(Operation::Read).0 / 2;
            s.counters().read_bytes /= 2;
            s.trial.errors.insert(ErrorKind::Io, half);
        })
        .lacks(DoubtCode::CachedReads);
}

#[test]
fn a_file_in_memory_is_cached_and_buffered() {
    let scene = Scene::reads().changed(|s| {
        s.volume.file_system = Some(FileSystemFacts { kind: "tmpfs".into(), ..FileSystemFacts::default() });
    });
    for code in [DoubtCode::CachedReads, DoubtCode::Buffered] {
        scene.earns(code, seen!(DoubtEvidence::FileInMemory { file_system } if file_system == "tmpfs"));
    }
    Scene::reads()
        .changed(|s| s.counters().name = "zram0".into())
        .earns(DoubtCode::CachedReads, seen!(DoubtEvidence::DevicesInMemory { devices } if devices == &["zram0"]));
    Scene::reads().changed(|s| s.counters().name = "ramdisk".into()).lacks(DoubtCode::CachedReads);
}

#[test]
fn a_device_whose_contents_lie_in_this_machines_memory_is_told() {
    let over = |kind: &str, direct| {
        Scene::writes().changed(|s| {
            let device = &mut s.volume.devices[0];
            device.backing_file = Some("/images/disk".into());
            (device.backing_file_system, device.backing_direct) = (Some(kind.into()), direct);
        })
    };
    let over_file = |file_system: Option<&str>| {
        let (device, file) = ("vda".to_owned(), "/images/disk".to_owned());
        DoubtEvidence::ContentsInMemory {
            devices: vec![MemoryBacked { device, file, file_system: file_system.map(str::to_owned) }],
        }
    };
    over("ext4", Some(false)).earns(DoubtCode::CachedBelow, |seen| *seen == over_file(None));
    over("tmpfs", Some(true)).earns(DoubtCode::CachedBelow, |seen| *seen == over_file(Some("tmpfs")));
    over("ext4", Some(true)).lacks(DoubtCode::CachedBelow);
    over("ext4", None).lacks(DoubtCode::CachedBelow);
    over("tmpfs", None).changed(|s| s.volume.kind = TargetKind::Null).lacks(DoubtCode::CachedBelow);
}

#[test]
fn a_tool_that_did_not_run_is_told_with_the_quota_that_held_it() {
    let stopped = |total_ms: u64, longest_ms: u64, throttled_ms: Option<u64>| {
        let ns = |ms: u64| ms * 1_000_000;
        Scene::reads().changed(|s| {
            s.trial.surroundings.stops = Some(Stops {
                count: total_ms / longest_ms,
                total_ns: ns(total_ms),
                longest_ns: ns(longest_ms),
                throttled_ns: throttled_ms.map(ns),
            });
        })
    };
    let told = |total_ms: u64, longest_ms: u64, quota_spent_ms: Option<u64>| {
        move |seen: &DoubtEvidence| {
            let ms = |ns: u64| ns / 1_000_000;
            matches!(seen, DoubtEvidence::ToolStopped { total_ns, longest_ns, measured_ns, quota_spent_ns, .. }
                if (ms(*total_ns), ms(*longest_ns), ms(*measured_ns)) == (total_ms, longest_ms, 60_000)
                    && quota_spent_ns.map(ms) == quota_spent_ms)
        }
    };
    stopped(2_000, 2_000, None).earns(DoubtCode::ToolStopped, told(2_000, 2_000, None));
    stopped(30_000, 80, Some(31_000)).earns(DoubtCode::ToolStopped, told(30_000, 80, Some(31_000)));
    stopped(30_000, 80, Some(10)).earns(DoubtCode::ToolStopped, told(30_000, 80, None));
    // A scheduler's small delays, on the whole below one percent.
    stopped(500, 60, Some(0)).lacks(DoubtCode::ToolStopped);
    // One stop that stands in the maximum.
    stopped(580, 580, None).earns(DoubtCode::ToolStopped, told(580, 580, None));
    Scene::reads().lacks(DoubtCode::ToolStopped);
}

#[test]
fn a_resident_file_makes_buffered_reads_cached() {
    let buffered = |before, after| {
        Scene::reads().changed(|s| {
            s.load.buffered = true;
            s.trial.surroundings.residency = Some(Residency { before, after });
        })
    };
    buffered(0.60, 0.62).earns(DoubtCode::CachedReads, seen!(DoubtEvidence::Resident { share: 0.60 }));
    // The device read all that was asked: what rose is what it read.
    buffered(0.0, 0.9).lacks(DoubtCode::CachedReads);
    buffered(0.0, 0.9)
        .changed(|s| s.trial.surroundings.devices.clear())
        .earns(DoubtCode::CachedReads, seen!(DoubtEvidence::ResidencyRose { direct: false, after_share: 0.9, .. }));
    buffered(0.0, 0.0)
        .changed(|s| s.counters().read_bytes /= 2)
        .earns(DoubtCode::CachedReads, seen!(DoubtEvidence::MovedLess { bytes, .. } if moved_share(bytes, 0.5)));
}

#[test]
fn direct_reads_that_fill_the_page_cache_were_not_direct() {
    let rising =
        |after| Scene::reads().changed(|s| s.trial.surroundings.residency = Some(Residency { before: 0.0, after }));
    rising(0.5)
        .earns(DoubtCode::CachedReads, seen!(DoubtEvidence::ResidencyRose { direct: true, after_share: 0.5, .. }));
    rising(0.01).lacks(DoubtCode::CachedReads);
}

#[test]
fn reads_of_holes_need_no_disk() {
    let sparse = |unwritten: u64, read_share: f64| {
        Scene::reads().changed(|s| {
            s.volume.extents = Some(Extents {
                written_bytes: GIB,
                unwritten_bytes: unwritten / 2,
                hole_bytes: unwritten / 2,
                ..Extents::default()
            });
            s.counters().read_bytes = (s.counters().read_bytes as f64 * read_share) as u64;
        })
    };
    let scene = sparse(GIB, 0.5);
    let half = seen!(DoubtEvidence::NeverWritten { operation: Operation::Read, share: 0.5, bytes: GIB });
    scene.earns(DoubtCode::UnwrittenExtents, half);
    // The holes account for what the device did not read.
    scene.lacks(DoubtCode::CachedReads);
    sparse(0, 1.0).lacks(DoubtCode::UnwrittenExtents);
    // Filled after the extents were taken: the device read everything.
    sparse(GIB, 1.0).lacks(DoubtCode::UnwrittenExtents);
    sparse(GIB, 1.0).changed(|s| s.trial.surroundings.devices.clear()).earns(DoubtCode::UnwrittenExtents, half);
}

#[test]
fn first_writes_of_blocks_are_told_until_they_are_few() {
    let fresh = |unwritten_bytes: u64, written_bytes: u64| {
        Scene::writes()
            .changed(|s| s.volume.extents = Some(Extents { unwritten_bytes, written_bytes, ..Extents::default() }))
    };
    let all = seen!(DoubtEvidence::NeverWritten { operation: Operation::Write, share: 1.0, bytes: GIB });
    fresh(GIB, 0).earns(DoubtCode::UnwrittenExtents, all);
    fresh(0, GIB).lacks(DoubtCode::UnwrittenExtents);
    // A minute writes 1.14 GiB: a piece of 8 MiB is soon written.
    fresh(8 << 20, 0).lacks(DoubtCode::UnwrittenExtents);
    fresh(8 << 20, GIB).lacks(DoubtCode::UnwrittenExtents);
}

#[test]
fn a_busy_load_thread_may_be_the_limit() {
    let busy = |shares: &[f64]| {
        let threads = shares.iter().map(|busy| ThreadBusy { busy: *busy, ..ThreadBusy::default() }).collect();
        Scene::reads().changed(|s| s.trial.surroundings.threads = threads)
    };
    for (shares, all) in [(&[0.3, 0.97][..], 2), (&[0.97], 1)] {
        let one =
            seen!(DoubtEvidence::ThreadsBusy { threads, busy_threads: 1, busiest_share: 0.97, .. } if *threads == all);
        busy(shares).earns(DoubtCode::GeneratorBound, one);
    }
    busy(&[0.3, 0.89]).lacks(DoubtCode::GeneratorBound);
    Scene::reads()
        .changed(|s| s.trial.surroundings.threads = vec![ThreadBusy { busy: 0.1, spun: 0.89, queued: None }])
        .lacks(DoubtCode::GeneratorBound);
}

#[test]
fn arrivals_that_were_not_answered_are_told() {
    let offered = |rate| Scene::of(open("random", 1.0, KIB4, rate));
    let completed = |wanted: f64| {
        move |seen: &DoubtEvidence| {
            matches!(seen, DoubtEvidence::ArrivalsMissed { completed_iops, .. }
                if is_about(*completed_iops, wanted))
        }
    };
    offered(5_500.0).earns(DoubtCode::OfferedLoadMissed, completed(5_001.0));
    offered(4_000.0).lacks(DoubtCode::OfferedLoadMissed);
    // Some of it was answered, however little.
    offered(49_997_516.0).earns(
        DoubtCode::OfferedLoadMissed,
        seen!(DoubtEvidence::ArrivalsMissed { offered_iops: 49_997_516.0, completed_iops, .. } if *completed_iops > 0.0),
    );
    // Completed in time on the whole, and yet some were dropped.
    offered(4_000.0)
        .changed(|s| s.trial.missed = 1_000)
        .earns(DoubtCode::OfferedLoadMissed, seen!(DoubtEvidence::ArrivalsMissed { never_issued: Some(1_000), .. }));
    offered(4_000.0).changed(|s| s.trial.missed = 2).lacks(DoubtCode::OfferedLoadMissed);
    // A disk that takes 60 ms has 6 of 300 under way at the end, which were not at the beginning, unless the warm-up was longer.
    let taking = |warm_up_ms: u64, count, takes: &dyn Fn(u64) -> Duration| {
        offered(100.0).changed(|s| {
            (s.trial.measured_ns, s.trial.warm_up_ns) = (3_000_000_000, warm_up_ms * 1_000_000);
            let reads = s.trial.operations.get_mut(&Operation::Read).unwrap();
            (reads.count, reads.latency) = (count, Histogram::new());
            (0..300).for_each(|number| reads.latency.record(takes(number)));
        })
    };
    taking(0, 294, &|_| Duration::from_ms(60)).lacks(DoubtCode::OfferedLoadMissed);
    taking(60, 294, &|_| Duration::from_ms(60)).earns(DoubtCode::OfferedLoadMissed, completed(98.0));
    taking(0, 100, &|_| Duration::from_s(2)).earns(DoubtCode::OfferedLoadMissed, completed(33.3));
    // In a queue that grows, what comes last takes longest.
    taking(0, 270, &Duration::from_ms).earns(DoubtCode::OfferedLoadMissed, completed(90.0));
    // Two of a hundred were still under way at the end.
    offered(100.0)
        .changed(|s| {
            s.trial.measured_ns = 1_000_000_000;
            s.trial.operations.get_mut(&Operation::Read).unwrap().count = 98;
        })
        .lacks(DoubtCode::OfferedLoadMissed);
}

#[test]
fn few_requests_carry_no_far_percentiles() {
    let count = |count| {
        Scene::reads().changed(|s| {
            let record = OperationRecord { count, latency: latencies(count, 1e6), ..OperationRecord::default() };
            s.trial.operations.insert(Operation::Read, record);
        })
    };
    let lacking = |requests: u64, figures: &[DoubtedFigure]| {
        let operations = vec![FewOfOperation { operation: Operation::Read, requests, figures: figures.to_vec() }];
        move |seen: &DoubtEvidence| *seen == DoubtEvidence::FewRequests { operations: operations.clone() }
    };
    let all = [DoubtedFigure::P99, DoubtedFigure::P999, DoubtedFigure::P9999];
    count(999).earns(DoubtCode::FewSamples, lacking(999, &all));
    count(1_000).earns(DoubtCode::FewSamples, lacking(1_000, &all[1..]));
    count(10_000).lacks(DoubtCode::FewSamples);
    count(1).earns(DoubtCode::FewSamples, lacking(1, &all));
}

#[test]
fn reads_of_holes_that_the_load_itself_makes_are_not_called_cached() {
    let trimming = |kind: TargetKind| {
        Scene::reads().changed(|s| {
            s.volume.kind = kind;
            s.trial.surroundings.asked.insert(Operation::Trim, (1_000, 1_000 * KIB4));
            s.counters().read_bytes /= 2;
        })
    };
    let scene = trimming(TargetKind::TestFile);
    scene.lacks(DoubtCode::CachedReads);
    let half = seen!(DoubtEvidence::MovedLess { bytes, .. } if moved_share(bytes, 0.5));
    scene.earns(DoubtCode::UnwrittenExtents, half);
    // A device answers for what was trimmed as well.
    trimming(TargetKind::BlockDevice).earns(DoubtCode::CachedReads, half);
}

#[test]
fn a_file_system_that_compresses_is_told() {
    let mounted = |kind: &str, options: &str| {
        let (kind, options) = (kind.to_owned(), options.to_owned());
        Scene::writes()
            .changed(|s| s.volume.file_system = Some(FileSystemFacts { kind, options, ..FileSystemFacts::default() }))
    };
    let by = |file_system: &str, option: Option<&str>| {
        let compression = Compression { file_system: file_system.into(), option: option.map(str::to_owned) };
        let seen = DoubtEvidence::StoredLess { compression: Some(compression), encoded_share: None, wrote_less: None };
        move |found: &DoubtEvidence| *found == seen
    };
    mounted("btrfs", "rw,compress=zstd:3,ssd")
        .earns(DoubtCode::CompressedOrSparse, by("btrfs", Some("compress=zstd:3")));
    mounted("btrfs", "rw,compress=no").lacks(DoubtCode::CompressedOrSparse);
    mounted("btrfs", "rw,ssd").lacks(DoubtCode::CompressedOrSparse);
    mounted("zfs", "rw").earns(DoubtCode::CompressedOrSparse, by("zfs", None));
}

#[test]
fn writes_that_no_device_saw_and_encoded_extents_are_told() {
    Scene::writes().changed(|s| s.counters().write_bytes /= 2).earns(
        DoubtCode::CompressedOrSparse,
        seen!(DoubtEvidence::StoredLess { wrote_less: Some(of), .. } if moved_share(&of.bytes, 0.5)),
    );
    Scene::writes().changed(|s| s.counters().write_bytes -= 4096).lacks(DoubtCode::CompressedOrSparse);
    Scene::reads()
        .changed(|s| {
            s.volume.extents = Some(Extents { written_bytes: GIB, encoded_bytes: GIB / 2, ..Extents::default() });
        })
        .earns(DoubtCode::CompressedOrSparse, seen!(DoubtEvidence::StoredLess { encoded_share: Some(0.5), .. }));
}

#[test]
fn a_clock_that_jumps_drifts_or_ticks_coarsely_is_unstable() {
    let clock = |source: &str, drift_ppm, wall_step_ns| {
        let clock = ClockCheck { source: Some(source.to_owned()), drift_ppm, wall_step_ns };
        Scene::reads().changed(|s| s.trial.surroundings.clock = Some(clock))
    };
    let moved = |drift_ppm: Option<f64>, step_ns: Option<i64>, coarse_source: Option<&str>| {
        let coarse_source = coarse_source.map(str::to_owned);
        let seen = DoubtEvidence::ClockMoved { drift_ppm, step_ns, coarse_source };
        move |found: &DoubtEvidence| *found == seen
    };
    clock("tsc", 800.0, 0).earns(DoubtCode::ClockUnstable, moved(Some(800.0), None, None));
    clock("tsc", 0.0, -2_000_000_000).earns(DoubtCode::ClockUnstable, moved(None, Some(-2_000_000_000), None));
    clock("jiffies", 0.0, 0).earns(DoubtCode::ClockUnstable, moved(None, None, Some("jiffies")));
    clock("kvm-clock", -80.0, 900_000).lacks(DoubtCode::ClockUnstable);
}

#[test]
fn stolen_cpu_time_is_told() {
    let steal = |steal| Scene::reads().changed(|s| s.trial.surroundings.machine.as_mut().unwrap().steal = steal);
    steal(0.034).earns(DoubtCode::CpuStolen, seen!(DoubtEvidence::CpuStolen { share: 0.034 }));
    steal(0.009).lacks(DoubtCode::CpuStolen);
}

#[test]
fn the_page_cache_is_told_whether_asked_for_or_not() {
    Scene::reads().changed(|s| s.load.buffered = true).earns(DoubtCode::Buffered, seen!(DoubtEvidence::PageCacheAsked));
    Scene::writes()
        .changed(|s| {
            s.volume.direct = false;
            s.volume.direct_reason = Some("overlay refuses it".into());
        })
        .earns(
            DoubtCode::Buffered,
            seen!(DoubtEvidence::DirectNotPossible { error: Some(error) } if error == "overlay refuses it"),
        );
    Scene::reads().lacks(DoubtCode::Buffered);
    // An application's use of it is part of what it does.
    let arrival = loadline_record::ArrivalKind::Application;
    Scene::writes().changed(|s| (s.load.buffered, s.load.arrival) = (true, arrival)).lacks(DoubtCode::Buffered);
}

#[test]
fn errors_are_told_by_kind() {
    Scene::reads()
        .changed(|s| {
            s.trial.errors.insert(ErrorKind::Io, 3);
            s.trial.errors.insert(ErrorKind::NoSpace, 1_000);
            s.trial.error_samples.push("read of 4096 at 8192: input/output error".into());
        })
        .earns(
            DoubtCode::Errors,
            seen!(DoubtEvidence::RequestsFailed { by_kind, first_error: Some(first) }
                if *by_kind == [(ErrorKind::Io, 3), (ErrorKind::NoSpace, 1_000)].into() && first.contains("at 8192")),
        );
    Scene::reads().changed(|s| s.trial.errors = [(ErrorKind::Io, 0)].into()).lacks(DoubtCode::Errors);
}

#[test]
fn an_early_end_says_why() {
    let ended = |ending| Scene::reads().changed(|s| (s.trial.ending, s.trial.measured_ns) = (ending, 12_000_000_000));
    let failed = Ending::Failed("the device is gone".into());
    for how in [Ending::Interrupted, failed, Ending::Hung("read at 4096".into())] {
        ended(how.clone()).earns(
            DoubtCode::EndedEarly,
            seen!(DoubtEvidence::CutShort { ending, measured_ns: 12_000_000_000, planned_ns: 60_000_000_000 } if *ending == how),
        );
    }
    ended(Ending::Complete).lacks(DoubtCode::EndedEarly);
}

#[test]
fn damaged_blocks_are_told_with_their_place() {
    let verify = |faults_total| {
        let fault = VerifyFault {
            offset: 8_192,
            length: 4_096,
            kind: VerifyFaultKind::Stale,
            detail: "an earlier generation".into(),
        };
        let faults = if faults_total > 0 { vec![fault] } else { Vec::new() };
        let record = VerifyRecord { blocks_checked: 1_000_000, faults_total, faults, ..VerifyRecord::default() };
        Scene::writes().changed(|s| s.trial.verify = Some(record))
    };
    verify(2).earns(
        DoubtCode::VerifyFailed,
        seen!(DoubtEvidence::BlocksDiffer { blocks: 2, blocks_checked: 1_000_000, first: Some(first) } if first.offset == 8_192),
    );
    verify(0).lacks(DoubtCode::VerifyFailed);
}

#[test]
fn the_null_target_has_no_storage_to_doubt() {
    let codes = Scene::reads()
        .changed(|s| {
            s.volume.kind = TargetKind::Null;
            s.volume.direct = false;
            s.volume.file_system = None;
            s.trial.surroundings.devices.clear();
            s.trial.surroundings.others =
                vec![OtherLoad { pid: 1, name: "a".into(), read_bytes: 99 * GIB, write_bytes: 0 }];
            s.trial.measured_ns = 5_000_000_000;
            s.trial.surroundings.threads = vec![ThreadBusy { busy: 1.0, ..ThreadBusy::default() }];
        })
        .codes();
    assert_eq!(codes, [DoubtCode::GeneratorBound]);
}

#[test]
fn doubts_come_in_the_order_of_reports() {
    let scene = Scene::reads().changed(|s| {
        s.load.buffered = true;
        s.trial.measured_ns = 1_000_000_000;
        s.trial.errors.insert(ErrorKind::Io, 1);
        s.trial.surroundings.machine.as_mut().unwrap().steal = 0.5;
    });
    let codes = scene.codes();
    let places: Vec<_> = codes.iter().map(|c| DoubtCode::ALL.iter().position(|a| a == c)).collect();
    assert_eq!(codes.len(), 4);
    assert!(places.is_sorted(), "{codes:?}");
}

/// A prediction of the example, with its volume.
fn predicted() -> Scene {
    let record = crate::example::predicted(&[1.0]);
    let mut scene = Scene::reads();
    scene.trial = record.cells[0].trials[0].clone();
    scene.volume = record.header.volumes[0].clone();
    scene
}

#[test]
fn a_limit_that_nobody_knows_is_a_doubt_of_a_prediction() {
    predicted().lacks(DoubtCode::UnknownLimit);
    predicted().lacks(DoubtCode::KnownDeviation);
    let unknown = |s: &mut Scene| s.trial.model.as_mut().unwrap().limits_unknown.push("what the cache answers".into());
    predicted().changed(unknown).earns(
        DoubtCode::UnknownLimit,
        seen!(DoubtEvidence::LimitsNotPublished { limits } if limits == &["what the cache answers"]),
    );
    let (disk, text, source) = ("own/small".into(), "measured at half".into(), "a report".into());
    let known = KnownDeviation { disk, text, source };
    let deviates = |s: &mut Scene| s.trial.model.as_mut().unwrap().known_deviations.push(known.clone());
    predicted().changed(deviates).earns(
        DoubtCode::KnownDeviation,
        seen!(DoubtEvidence::ModelDeviates { measurements } if measurements == std::slice::from_ref(&known)),
    );
}

#[test]
fn a_rate_that_a_spent_burst_moved_is_not_called_unsteady() {
    let mut scene = predicted().with_rates(|i| if i < 45 { 5_000.0 } else { 500.0 });
    assert!(!scene.trial.model.as_ref().unwrap().bursts_ended.is_empty());
    scene.lacks(DoubtCode::NotSteady);
    scene.trial.model.as_mut().unwrap().bursts_ended.clear();
    scene.earns(DoubtCode::NotSteady, seen!(DoubtEvidence::RateStepped { .. } | DoubtEvidence::RateMoves { .. }));
}
