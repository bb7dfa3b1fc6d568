//! What a model knows of requests that others made: recorded ones on other storage, an application's on an emulated disk.

use loadline_block::Operation;
use loadline_disk::InitialState;
use loadline_emulator::{Account, HeldBy, Holder};
use loadline_prediction::Model;
use loadline_record::{Binding, CellRecord, Limit, LoadSummary, ModelRecord, TrialRecord};

/// The model's account of the requests to a volume, from the beginning of the model on.
///
/// # Errors
/// The environment has no such volume.
pub(crate) fn record(model: &Model, volume: &str, seed: u64, account: &Account) -> anyhow::Result<ModelRecord> {
    let initial = InitialState::default();
    Ok(loadline_prediction::account(model, volume, seed, initial, &account.waits, binding(account))?)
}

/// What bound the requests of an account; `None`: there were none.
fn binding(account: &Account) -> Option<Binding> {
    let held = account.held();
    let (limit, why) = match held.bound_by? {
        Holder::Limit(Limit::Arrival) => (Limit::Arrival, "for half of its time or more nothing was asked for; "),
        Holder::Limit(limit) => (limit, ""),
        Holder::Other(_) => (Limit::Unexplained, "faults that were made on purpose held it; "),
    };
    let evidence = format!("Of the requests' own account: {why}its time went to {}.", HeldBy::words(&held.shares));
    Some(Binding { limit, ceiling_iops: None, utilization: None, evidence, inferred: false })
}

/// A cell of requests that others made, to one volume; `label` tells whose they were, `arrival` when they came.
pub(crate) fn cell(
    id: String,
    volume: &str,
    label: String,
    arrival: &str,
    trial: &TrialRecord,
    spec: serde_json::Value,
) -> CellRecord {
    let transfers: Vec<_> = [Operation::Read, Operation::Write].iter().filter_map(|way| trial.of(*way)).collect();
    let count: u64 = transfers.iter().map(|of| of.count).sum();
    let bytes: u64 = transfers.iter().map(|of| of.bytes).sum();
    let reads = trial.of(Operation::Read).map_or(0, |of| of.count);
    CellRecord {
        id,
        volume: volume.to_owned(),
        label,
        load: LoadSummary {
            pattern: arrival.into(),
            read_ratio: reads as f64 / count.max(1) as f64,
            block_bytes: bytes / count.max(1),
            size_bytes: None,
            queue_depth: None,
            threads: 1,
            arrival: arrival.into(),
            rate_iops: trial.offered_iops,
            buffered: false,
            flush_every: None,
            duration_ns: trial.measured_ns,
            objective: None,
        },
        spec,
        ceilings: Vec::new(),
        trials_planned: 1,
        trials: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_disk::{Waited, Waits};
    use loadline_units::{Duration, Instant};

    #[test]
    fn the_binding_limit_of_an_account_has_its_evidence() {
        let second = Duration::from_s(1);
        let waits = Waits { disks: Waited { iops: second * 8, ..Waited::default() }, ..Waits::default() };
        let account = Account {
            requests: 5,
            first: Some(Instant::ZERO),
            last: Instant::ZERO + second * 10,
            busy: second * 10,
            at_disk: second * 10,
            waits,
            ..Account::default()
        };
        let bound = binding(&account).unwrap();
        assert_eq!(bound.limit, Limit::DiskIops);
        assert_eq!(bound.evidence, "Of the requests' own account: its time went to disk-iops 80 %, latency 20 %.");
        let idle = binding(&Account { busy: second * 2, ..account }).unwrap();
        assert_eq!(idle.limit, Limit::Arrival);
        assert!(idle.evidence.contains("nothing was asked for; its time went to idle 80 %"), "{}", idle.evidence);
        let held = binding(&Account { faults: second * 90, ..account }).unwrap();
        assert_eq!(held.limit, Limit::Unexplained);
        assert_eq!(binding(&Account::default()), None);
    }
}
