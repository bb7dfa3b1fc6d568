//! Runs that several hosts made at the same time on one shared storage, as one run in the store.

use crate::wall_clock::{self, run_id};
use crate::{Ended, Error, HostsRefusal, NewRun, Refusal, RunOutcome};
use loadline_analysis::{ClockOffset, ClockReading, HostRun, merge_hosts};
use loadline_record::{Clock, DeviceFacts, HostFacts, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts};
use loadline_store::Store;
use std::collections::BTreeMap;

/// Runs of hosts that are to become one.
#[derive(Debug, Clone, Default)]
pub struct Merge {
    runs: Vec<(Option<String>, RunRecord)>,
    offsets: BTreeMap<String, i64>,
    readings: BTreeMap<String, Vec<ClockReading>>,
}

impl Merge {
    /// Of no run yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a run. Without a name its host is called by its own.
    #[must_use]
    pub fn with(mut self, host: Option<String>, record: RunRecord) -> Self {
        self.runs.push((host, record));
        self
    }

    /// The wall clock of a host is so many nanoseconds ahead of the common time.
    #[must_use]
    pub fn clock_ahead(mut self, host: &str, offset_ns: i64) -> Self {
        self.offsets.insert(host.to_owned(), offset_ns);
        self
    }

    /// Comparisons of hosts' wall clocks with the common time, by host. Those of hosts that are not there are left out.
    #[must_use]
    pub fn clocks_compared(mut self, readings: BTreeMap<String, Vec<ClockReading>>) -> Self {
        for (host, more) in readings {
            self.readings.entry(host).or_default().extend(more);
        }
        self
    }

    /// Stores them as one run.
    ///
    /// # Errors
    /// Runs that are not of one plan, a clock offset of a host that is not there, or the store.
    pub fn store(self, name: Option<String>, store: &Store) -> Result<RunOutcome, Error> {
        let record = self.record(name)?;
        store.add_run(&record)?;
        let ended = match record.status {
            RunStatus::Finished => Ended::Complete,
            _ => Ended::Interrupted,
        };
        Ok(RunOutcome { record: store.load(&record.header.id)?, ended })
    }

    /// The run that they are.
    ///
    /// # Errors
    /// Runs that are not of one plan, or a clock offset of a host that is not there.
    pub fn record(self, name: Option<String>) -> Result<RunRecord, Error> {
        let Self { runs, mut offsets, mut readings } = self;
        let names = names(&runs);
        let runs: Vec<HostRun> = (runs.into_iter().zip(names))
            .map(|((_, record), host)| {
                let offset = offsets.remove(&host).map(ClockOffset);
                let readings = readings.remove(&host).unwrap_or_default();
                HostRun { host, record, offset, readings }
            })
            .collect();
        if let Some(host) = offsets.into_keys().next() {
            let known = runs.iter().map(|run| run.host.clone()).collect();
            return Err(Refusal::from(HostsRefusal::ClockOfNoHost { host, known }).into());
        }
        let mut cells = merge_hosts(&runs).map_err(|error| Refusal::from(HostsRefusal::from(error)))?;
        let is_finished = runs.iter().all(|run| run.record.status == RunStatus::Finished);
        if is_finished {
            for cell in &mut cells {
                cell.trials_planned = cell.trials.len() as u32;
            }
        }
        let status = if is_finished { RunStatus::Finished } else { RunStatus::Interrupted };
        Ok(RunRecord { header: header(&runs, name), status, cells })
    }
}

/// What each host is called: as named, or by its own name. Several of one name are numbered.
fn names(runs: &[(Option<String>, RunRecord)]) -> Vec<String> {
    let own = |(name, record): &(Option<String>, RunRecord)| {
        name.clone().or_else(|| record.header.host.hostname.clone()).unwrap_or_else(|| "host".to_owned())
    };
    let all: Vec<String> = runs.iter().map(own).collect();
    let numbered = |index: usize, host: &String| {
        let alike = |runs: &[String]| runs.iter().filter(|other| *other == host).count();
        let is_named = runs[index].0.is_some();
        if is_named || alike(&all) == 1 { host.clone() } else { format!("{host}-{}", alike(&all[..=index])) }
    };
    all.iter().enumerate().map(|(index, host)| numbered(index, host)).collect()
}

fn header(runs: &[HostRun], name: Option<String>) -> RunHeader {
    let headers: Vec<&RunHeader> = runs.iter().map(|run| &run.record.header).collect();
    let first = headers[0];
    let named = || format!("{} on {} hosts", first.name, runs.len());
    let new = NewRun {
        id: run_id(wall_clock::now()),
        name: name.unwrap_or_else(named),
        verb: RunVerb::Merge,
        clock: Clock::Real,
        // Each run has its own.
        seed: 0,
        started: wall_clock::now(),
    };
    let of: Vec<serde_json::Value> =
        runs.iter().map(|run| serde_json::json!({ "host": run.host, "run": run.record.header.id })).collect();
    let environment =
        first.environment.clone().filter(|text| headers.iter().all(|h| h.environment.as_ref() == Some(text)));
    RunHeader {
        started: headers.iter().map(|header| header.started.clone()).min().unwrap_or_default(),
        plans: first.plans.clone(),
        environment,
        volumes: first.volumes.iter().map(|volume| shared(volume, runs, &headers)).collect(),
        settings: serde_json::json!({ "merged": of }),
        ..new.header_on(machines(runs, &headers))
    }
}

/// A volume as all hosts see it, up to the furthest end that one of them was given, with the devices through which each host sees it.
fn shared(volume: &VolumeFacts, runs: &[HostRun], headers: &[&RunHeader]) -> VolumeFacts {
    let mut targets: Vec<&str> = Vec::new();
    let mut size_bytes = volume.size_bytes;
    for other in headers.iter().flat_map(|header| &header.volumes).filter(|other| other.name == volume.name) {
        size_bytes = size_bytes.max(other.size_bytes);
        if !targets.contains(&other.target.as_str()) {
            targets.push(&other.target);
        }
    }
    let devices = devices_of_hosts(&volume.name, runs);
    VolumeFacts { target: targets.join(", "), devices, size_bytes, ..volume.clone() }
}

/// The devices below a volume on each host, by whose they are. Those that all hosts of one kernel see alike stand once: each of them may be
/// in a control group of its own, with a throttle that the others lack.
fn devices_of_hosts(volume: &str, runs: &[HostRun]) -> Vec<DeviceFacts> {
    let boot = |run: &HostRun| run.record.header.host.boot_id.clone();
    let is_one_kernel = |one: &HostRun, other: &HostRun| boot(one).is_some() && boot(one) == boot(other);
    let devices = |run: &HostRun| {
        let of_volume = run.record.header.volumes.iter().filter(|of| of.name == volume);
        of_volume.flat_map(|of| &of.devices).cloned().collect::<Vec<_>>()
    };
    let is_one_machine = runs.iter().all(|run| is_one_kernel(run, &runs[0]));
    let mut found: Vec<DeviceFacts> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        for device in devices(run) {
            let alike = |other: &HostRun| {
                devices(other).iter().any(|its| its.name == device.name && its.throttles == device.throttles)
            };
            let is_shared = runs.iter().all(|other| !is_one_kernel(run, other) || alike(other));
            if is_shared && runs[..place].iter().any(|earlier| is_one_kernel(run, earlier)) {
                continue;
            }
            let name = format!("{} of {}", device.name, run.host);
            found.push(if is_shared && is_one_machine { device } else { DeviceFacts { name, ..device } });
        }
    }
    found
}

/// What all machines have in common.
fn machines(runs: &[HostRun], headers: &[&RunHeader]) -> HostFacts {
    fn same<T: PartialEq + Clone>(headers: &[&RunHeader], of: fn(&HostFacts) -> &Option<T>) -> Option<T> {
        let first = of(&headers[0].host).clone()?;
        headers.iter().all(|header| of(&header.host).as_ref() == Some(&first)).then_some(first)
    }
    let first = &headers[0].host.cpu_quotas;
    let is_of_all = headers.iter().all(|header| header.host.cpu_quotas == *first);
    let quotas = if is_of_all { first.clone() } else { Vec::new() };
    HostFacts {
        hostname: Some(runs.iter().map(|run| run.host.as_str()).collect::<Vec<_>>().join(", ")),
        kernel: same(headers, |host| &host.kernel),
        os: same(headers, |host| &host.os),
        cpu_model: same(headers, |host| &host.cpu_model),
        cpus: same(headers, |host| &host.cpus),
        memory_bytes: same(headers, |host| &host.memory_bytes),
        virtualization: same(headers, |host| &host.virtualization),
        clock_source: same(headers, |host| &host.clock_source),
        boot_id: same(headers, |host| &host.boot_id),
        cpu_quotas: quotas,
    }
}
