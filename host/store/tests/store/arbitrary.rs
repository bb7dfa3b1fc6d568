//! Every record comes back exactly as it was stored.

use loadline_block::{ErrorKind, Operation};
use loadline_load::{LatencyFigure, Objective};
use loadline_record::*;
use loadline_store::Store;
use loadline_units::Duration;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

/// Any text, NUL included.
fn text() -> BoxedStrategy<String> {
    vec(any::<char>(), 0..12).prop_map(String::from_iter).boxed()
}
/// Any figure that is a number: zeros of both signs, subnormals and the largest included.
fn figure() -> BoxedStrategy<f64> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    (POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO).boxed()
}
/// Small enough that the sum over operations is a count, too.
fn count() -> BoxedStrategy<u64> {
    (0..1u64 << 60).boxed()
}
fn json() -> BoxedStrategy<serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        figure().prop_map(Into::into),
        text().prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            btree_map(text(), inner, 0..4).prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

fn histogram() -> impl Strategy<Value = Histogram> {
    vec(any::<u64>(), 0..30).prop_map(|values| {
        let mut histogram = Histogram::new();
        for ns in values {
            histogram.record(Duration::from_ns(ns));
        }
        histogram
    })
}
fn operation_record() -> impl Strategy<Value = OperationRecord> {
    (count(), count(), any::<u64>(), histogram(), of(histogram()), of(histogram()), of(told())).prop_map(
        |(count, bytes, errors, latency, waiting, service, told)| OperationRecord {
            count,
            bytes,
            errors,
            latency,
            waiting,
            service,
            told,
        },
    )
}
fn told() -> impl Strategy<Value = HistogramSnapshot> {
    let percentile = || of(any::<u64>());
    let percentiles = (percentile(), percentile(), percentile(), percentile(), percentile(), percentile());
    (figure(), percentile(), percentiles, any::<u64>()).prop_map(
        |(mean, min, (p50, p90, p95, p99, p99_9, p99_99), max)| HistogramSnapshot {
            mean,
            stddev: p50.map(|ns| ns as f64),
            min,
            p50,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max,
        },
    )
}
fn second() -> impl Strategy<Value = Second> {
    let operation = vec(any::<u64>(), 5).prop_map(|v| SecondOperation {
        count: v[0],
        bytes: v[1],
        p50_ns: v[2],
        p99_ns: v[3],
        max_ns: v[4],
    });
    (proptest::array::uniform4(operation), figure(), any::<u64>())
        .prop_map(|(operations, outstanding, errors)| Second { operations, outstanding, errors })
}
fn series() -> impl Strategy<Value = Series> {
    (any::<u32>(), vec(second(), 0..6), any::<u64>()).prop_map(|(interval_s, seconds, last_ns)| Series {
        interval_s,
        seconds,
        last_ns,
    })
}

fn surroundings() -> impl Strategy<Value = Surroundings> {
    let operation = select(Operation::ALL.to_vec());
    let thread = (figure(), figure(), of(figure())).prop_map(|(busy, spun, queued)| ThreadBusy { busy, spun, queued });
    let turns = any::<[u64; 3]>().prop_map(|[turns, requests, span_ns]| Turns { turns, requests, span_ns });
    let machine = (figure(), figure(), figure(), any::<u32>()).prop_map(|(busy, iowait, steal, cpus)| MachineCpu {
        busy,
        iowait,
        steal,
        cpus,
    });
    let device = (text(), any::<u64>(), any::<u64>()).prop_map(|(name, reads, queue_ms)| DeviceCounters {
        name,
        reads,
        queue_ms,
        ..DeviceCounters::default()
    });
    let other = (any::<u32>(), text(), any::<u64>(), any::<u64>())
        .prop_map(|(pid, name, read_bytes, write_bytes)| OtherLoad { pid, name, read_bytes, write_bytes });
    let clock = (of(text()), figure(), any::<i64>()).prop_map(|(source, drift_ppm, wall_step_ns)| ClockCheck {
        source,
        drift_ppm,
        wall_step_ns,
    });
    let residency = (figure(), figure()).prop_map(|(before, after)| Residency { before, after });
    (
        any::<[u64; 4]>(),
        vec(thread, 0..3),
        of(machine),
        vec(device, 0..3),
        btree_map(operation, any::<(u64, u64)>(), 0..4),
        of(residency),
        vec(other, 0..3),
        of(clock),
        vec(turns, 0..2),
    )
        .prop_map(|(times, threads, machine, devices, asked, residency, others, clock, turns)| Surroundings {
            elapsed_ns: times[0],
            tool_user_ns: times[1],
            load_user_ns: times[2],
            load_system_ns: times[3],
            pressure: (times[0] % 2 == 0).then(|| Pressure { io_full_us: times[1], ..Pressure::default() }),
            threads,
            machine,
            devices,
            asked,
            residency,
            caches_dropped: (times[0] % 3 == 0).then(|| format!("{} % before", times[1] % 100)),
            others,
            clock,
            turns,
            ..Surroundings::default()
        })
}

fn model() -> impl Strategy<Value = ModelRecord> {
    let stages = [Stage::Cache, Stage::VmCached, Stage::VmUncached, Stage::Shared, Stage::Disk, Stage::Service];
    let stage = || select(stages.to_vec());
    let wait = (stage(), any::<[u64; 3]>()).prop_map(|(stage, [requests_ns, bytes_ns, credits_ns])| StageWait {
        stage,
        requests_ns,
        bytes_ns,
        credits_ns,
    });
    let ceiling = || {
        (figure(), text()).prop_map(|(iops, source)| Ceiling {
            limit: Limit::VmCachedIops,
            iops,
            source: source.as_str().into(),
        })
    };
    let binding = (figure(), of(figure()), text(), any::<bool>(), any::<bool>(), of(figure())).prop_map(|bound| {
        let (ceiling, utilization, evidence, inferred, presumed, amplification) = bound;
        let limit = if presumed { Limit::Flush } else { Limit::BurstExhausted };
        Binding {
            inferred,
            presumed,
            amplification,
            ..Binding::known(limit, Some(ceiling), utilization, Evidence::written(evidence))
        }
    });
    let end = (stage(), any::<u64>(), of(figure()), of(figure())).prop_map(|(stage, at_ns, before, after)| BurstEnd {
        stage,
        at_ns,
        iops_before: before,
        iops_after: after,
        bytes_per_s_before: after,
        bytes_per_s_after: before,
    });
    (
        (any::<[u32; 3]>(), of(any::<u32>()), any::<u64>(), any::<[bool; 3]>()),
        (vec(wait, 0..4), of(any::<[u64; 2]>()), vec(ceiling(), 0..4), of(binding), vec(end, 0..3)),
    )
        .prop_map(|((draw, delivered_ppm, seed, state), (waits, cache, ceilings, binding, bursts_ended))| {
            ModelRecord {
                bucket_ns: u64::from(draw[1]),
                window_ns: u64::from(draw[2]),
                draw: DrawTaken {
                    number: draw[0],
                    latency_ppm: draw[1],
                    enforcement_ppm: draw[2],
                    delivered_ppm,
                    bursts_ppm: draw[2],
                },
                seed,
                initial: StateTaken {
                    bursts_full: state[0],
                    vm_bursts_full: delivered_ppm.map(|ppm| ppm % 2 == 0),
                    caches_warm: state[1],
                    carried: state[2],
                },
                waits,
                cache: cache.map(|[hits, misses]| CacheUse { hits, misses }),
                ceilings,
                binding,
                bursts_ended,
                limits_unknown: vec!["a limit".to_owned()],
                known_deviations: vec![KnownDeviation {
                    disk: "a disk".to_owned(),
                    text: "half of it".to_owned(),
                    source: "a report".to_owned(),
                }],
                beside: vec!["log".to_owned()],
            }
        })
}

fn trial() -> impl Strategy<Value = TrialRecord> {
    let kinds = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::Gone, ErrorKind::TimedOut, ErrorKind::Short];
    let errors = btree_map(select(kinds.to_vec()), count(), 0..4);
    let scatter = (count(), figure()).prop_map(|(samples, deviation_iops)| Scatter { samples, deviation_iops });
    let steady_state = (any::<bool>(), vec(figure(), 0..6), any::<u64>())
        .prop_map(|(reached, rounds, round_ns)| SteadyState { reached, rounds, round_ns });
    let fault = (any::<u64>(), any::<u64>(), text()).prop_map(|(offset, length, detail)| VerifyFault {
        offset,
        length,
        kind: VerifyFaultKind::Torn,
        detail,
    });
    let stream = (any::<[u32; 3]>(), vec(any::<u32>(), 0..3)).prop_map(|(n, failed)| StreamWritten {
        issued: n[0],
        acknowledged: n[1],
        failed,
        durable: n[2],
    });
    let verify =
        (any::<[u64; 4]>(), vec(fault, 0..3), vec(stream, 0..3)).prop_map(|(v, faults, streams)| VerifyRecord {
            blocks_checked: v[0],
            blocks_unwritten: v[1],
            blocks_unknown: v[2],
            faults_total: v[3],
            faults,
            streams,
        });
    let ending = prop_oneof![
        Just(Ending::Complete),
        Just(Ending::Interrupted),
        text().prop_map(Ending::Failed),
        text().prop_map(Ending::Hung)
    ];
    let doubt = (select(DoubtCode::ALL.to_vec()), text()).prop_map(|(code, text)| Doubt::written(code, text));
    (
        (any::<[u64; 3]>(), text(), text(), vec(text(), 0..3), of(figure())),
        btree_map(select(Operation::ALL.to_vec()), operation_record(), 0..4),
        (series(), errors, vec(text(), 0..3), surroundings()),
        (of(scatter), of(steady_state), of(verify), of(model()), ending, vec(doubt, 0..6)),
    )
        .prop_map(|((times, name, reason, options, offered_iops), operations, around, outcome)| {
            let (series, errors, error_samples, surroundings) = around;
            let (told_scatter, steady_state, verify, model, ending, doubts) = outcome;
            TrialRecord {
                trial: 0,
                started_unix_s: times[0],
                measured_from_unix_ns: Some(times[1]),
                hosts: None,
                engine: EngineUsed { name: name.into(), reason, options },
                warm_up_ns: times[1],
                measured_ns: times[2],
                operations,
                missed: offered_iops.map_or(0, f64::to_bits),
                offered_iops,
                series,
                errors,
                error_samples,
                surroundings,
                told_scatter,
                pipeline: None,
                watched: None,
                steps: Steps::default(),
                steady_state,
                verify,
                model,
                ending,
                doubts,
            }
        })
}

fn cell() -> impl Strategy<Value = CellRecord> {
    let load = (
        text(),
        figure(),
        any::<u64>(),
        of(any::<u32>()),
        text(),
        of(figure()),
        of((select(LatencyFigure::ALL.to_vec()), any::<u64>())),
    )
        .prop_map(|(pattern, read_ratio, block_bytes, queue_depth, arrival, rate_iops, objective)| LoadFigures {
            pattern: pattern.into(),
            read_ratio,
            block_bytes,
            queue_depth,
            threads: queue_depth.unwrap_or(1),
            arrival: arrival.into(),
            rate_iops,
            buffered: block_bytes % 2 == 0,
            size_bytes: (block_bytes % 3 == 0).then_some(block_bytes),
            flush_every: (block_bytes % 3 == 0).then_some(block_bytes),
            duration_ns: block_bytes,
            objective: objective.map(|(of, ns)| Objective { of, limit: Duration::from_ns(ns) }),
        });
    // Some trials of those planned are there.
    (text(), text(), load, json(), 0..5u32, vec((any::<bool>(), trial()), 0..4)).prop_map(
        |(volume, label, load, spec, beyond, trials)| {
            let trials: Vec<_> = (0..)
                .zip(trials)
                .filter(|(_, (there, _))| *there)
                .map(|(number, (_, trial))| TrialRecord { trial: number, ..trial })
                .collect();
            let trials_planned = trials.last().map_or(0, |t| t.trial + 1) + beyond;
            CellRecord {
                id: String::new(),
                volume,
                label,
                load: Load::stored(load, spec),
                beside: Vec::new(),
                ceilings: Vec::new(),
                trials_planned,
                trials,
            }
        },
    )
}

fn volume() -> impl Strategy<Value = VolumeFacts> {
    let kind = select(vec![TargetKind::Null, TargetKind::TestFile, TargetKind::File, TargetKind::BlockDevice]);
    let device =
        (text(), of(text()), of(any::<bool>()), of(any::<u64>())).prop_map(|(name, serial, rotational, size_bytes)| {
            DeviceFacts { name, serial, rotational, size_bytes, ..DeviceFacts::default() }
        });
    (text(), text(), kind, of(text()), of(any::<u64>()), vec(device, 0..3)).prop_map(
        |(name, target, kind, path, size_bytes, devices)| VolumeFacts {
            name,
            target: target.clone(),
            kind,
            path: path.clone(),
            size_bytes,
            size_reason: target,
            direct: path.is_none(),
            direct_reason: path,
            file_system: None,
            extents: size_bytes.filter(|size| size % 2 == 0).map(|count| Extents { count, ..Extents::default() }),
            devices,
        },
    )
}

fn run() -> impl Strategy<Value = RunRecord> {
    let plan = || (text(), text(), text()).prop_map(|(name, text, hash)| PlanText { name, text, hash });
    let header = (
        ("[A-Za-z0-9._-]{9,30}", text(), text(), any::<u64>(), of(text())),
        (vec(plan(), 0..3), of(plan()), vec(volume(), 0..3), json()),
    )
        .prop_map(|((id, name, verb, seed, hostname), (plans, environment, volumes, settings))| RunHeader {
            id,
            name,
            verb: verb.into(),
            clock: if seed % 2 == 0 { Clock::Real } else { Clock::Virtual },
            started: "2026-01-31T14:22:33Z".into(),
            version: "0.1.0".into(),
            seed,
            imported: (seed % 3 == 0).then(|| ImportedFrom {
                tool: "fio".into(),
                tool_version: hostname.clone(),
                files: vec![ImportedFile { name: "a.json".into(), hash: "00".into() }],
                notes: vec!["a note".into()],
            }),
            host: HostFacts { hostname, memory_bytes: Some(seed), ..HostFacts::default() },
            plans,
            environment,
            volumes,
            settings,
        });
    (header, vec(cell(), 0..5)).prop_map(|(header, mut cells)| {
        for (index, cell) in cells.iter_mut().enumerate() {
            cell.id = format!("cell \u{0} {index}");
        }
        RunRecord { header, status: RunStatus::Unfinished, cells }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_run_comes_back_exactly_as_it_was_stored(run in run()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let store = Store::open(&path).unwrap();
        let id = &run.header.id;
        let plan: Vec<_> = run.cells.iter().map(|c| CellRecord { trials: Vec::new(), ..c.clone() }).collect();
        store.begin_run(&run.header, &plan).unwrap();
        // The last ones first: the order of the record is that of their numbers.
        for cell in run.cells.iter().rev() {
            for trial in cell.trials.iter().rev() {
                store.finish_trial(id, &cell.id, trial).unwrap();
            }
        }
        prop_assert_eq!(&store.load(id).unwrap(), &run);
        drop(store);

        let store = Store::open(&path).unwrap();
        prop_assert_eq!(&store.load(id).unwrap(), &run);
        let trials: BTreeSet<_> =
            run.cells.iter().flat_map(|c| c.trials.iter().map(|t| (c.id.clone(), t.trial))).collect();
        let line = store.list(&loadline_store::Filter::default()).unwrap().remove(0);
        prop_assert_eq!(line.trials_done, trials.len() as u64);
        prop_assert_eq!(line.trials_planned, run.cells.iter().map(|c| u64::from(c.trials_planned)).sum::<u64>());
        prop_assert_eq!(line.doubts, run.cells.iter().map(|c| c.doubts().len() as u64).sum::<u64>());
        prop_assert_eq!(store.finished_trials(id).unwrap(), trials);
    }
}
