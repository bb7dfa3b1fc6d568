//! Records of requests that an application made: on an emulated disk, or recorded there and replayed on another.

use crate::Error;
use loadline_block::Operation;
use loadline_disk::InitialState;
use loadline_emulation::{Standstill, TimeAccount, TimeCause, standstills};
use loadline_prediction::{CreditsWatch, Model};
use loadline_record::{
    Access, AccountReason, ArrivalKind, Binding, CellRecord, Evidence, Limit, Load, LoadFigures, ModelFact,
    ModelRecord, OthersLoad, Series, TimeHeld, TrialRecord,
};

/// The model's record of the requests to a volume, from the beginning of the model on.
///
/// # Errors
/// The environment has no such volume.
pub(crate) fn application_model_record(
    model: &Model,
    volume: &str,
    trial: &ApplicationTrial<'_>,
) -> Result<ModelRecord, Error> {
    let ApplicationTrial { seed, initial, account, series, credits } = *trial;
    let binding = binding(account, series);
    let record = loadline_prediction::account(model, volume, seed, initial, &account.waits, binding)
        .map_err(|source| Error::Prediction { what: volume.to_owned(), source })?;
    let bursts_ended = credits.map_or_else(Vec::new, |credits| credits.ended(series));
    Ok(ModelRecord { bursts_ended, ..record })
}

/// How a model answered an application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApplicationTrial<'a> {
    /// Seed of the model.
    pub seed: u64,
    /// How the storage was before the first request.
    pub initial: InitialState,
    /// What the time of the requests went to.
    pub account: &'a TimeAccount,
    /// Second by second, from the first request on.
    pub series: &'a Series,
    /// Burst credits; `None`: nothing saves any.
    pub credits: Option<&'a CreditsWatch>,
}

/// What bound the requests of an account; `None`: there were none.
fn binding(account: &TimeAccount, series: &Series) -> Option<Binding> {
    let held = account.shares_of_series(series);
    let (limit, reason) = match held.bound_by? {
        TimeCause::Limit(Limit::Arrival) => (Limit::Arrival, Some(AccountReason::LittleAsked)),
        TimeCause::Limit(limit) => (limit, None),
        TimeCause::Other(_) => (Limit::Unexplained, Some(AccountReason::Faults)),
    };
    let shares = held.shares.iter().map(|held| TimeHeld { by: held.by.name().to_owned(), share: held.share }).collect();
    let seen = Evidence::from(ModelFact::Account { reason, shares }).with(stood_still(series));
    Some(Binding::known(limit, None, None, seen))
}

/// The longest time in which nothing was answered while something waited, where there was one.
fn stood_still(series: &Series) -> Option<ModelFact> {
    let (times, longest) = standstills(series).fold((0_u64, None::<Standstill>), |(count, longest), still| {
        (count + 1, Some(longest.filter(|longest| longest.lasting >= still.lasting).unwrap_or(still)))
    });
    let Standstill { from, lasting, .. } = longest?;
    Some(ModelFact::NothingAnswered { lasting_ns: lasting.as_ns(), from_ns: from.as_ns(), times })
}

/// Where the requests to a model come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestSource<'a> {
    /// An application, at work.
    Application,
    /// A trace.
    Trace {
        /// What made them come: their times, or the answers.
        by: &'a str,
    },
}

/// The cell of an application's requests to one volume.
#[must_use]
pub(crate) fn application_cell(
    id: String,
    volume: &str,
    label: String,
    source: RequestSource<'_>,
    trial: &TrialRecord,
) -> CellRecord {
    let transfers: Vec<_> = [Operation::Read, Operation::Write].iter().filter_map(|way| trial.of(*way)).collect();
    let count: u64 = transfers.iter().map(|of| of.count).sum();
    let bytes: u64 = transfers.iter().map(|of| of.bytes).sum();
    // Of trims where nothing else has a size.
    let (sized, size) = match trial.of(Operation::Trim) {
        Some(trims) if count == 0 => (trims.count, trims.bytes),
        _ => (count, bytes),
    };
    let reads = trial.of(Operation::Read).map_or(0, |of| of.count);
    let (pattern, arrival) = match source {
        RequestSource::Application => (Access::Application, ArrivalKind::Application),
        RequestSource::Trace { .. } => (Access::Recorded, ArrivalKind::Recorded),
    };
    let figures = LoadFigures {
        pattern,
        read_ratio: reads as f64 / count.max(1) as f64,
        block_bytes: size / sized.max(1),
        size_bytes: None,
        queue_depth: None,
        threads: 1,
        arrival,
        rate_iops: trial.offered_iops,
        buffered: false,
        flush_every: None,
        duration_ns: trial.measured_ns,
        objective: None,
    };
    let load = |by| OthersLoad { volume: volume.to_owned(), by, figures };
    CellRecord {
        id,
        volume: volume.to_owned(),
        label,
        load: match source {
            RequestSource::Application => Load::Application(load(None)),
            RequestSource::Trace { by } => Load::Recorded(load(Some(by.to_owned()))),
        },
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: 1,
        trials: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_disk::{WaitTimes, Waits};
    use loadline_report::words;
    use loadline_units::{Duration, Instant};

    #[test]
    fn the_binding_limit_of_an_account_has_its_evidence() {
        let second = Duration::from_s(1);
        let waits = Waits { disks: WaitTimes { iops: second * 8, ..WaitTimes::default() }, ..Waits::default() };
        let account = TimeAccount {
            requests: 5,
            first: Some(Instant::ZERO),
            last: Instant::ZERO + second * 10,
            busy: second * 10,
            at_disk: second * 10,
            waits,
            ..TimeAccount::default()
        };
        let bound = binding(&account, &Series::default()).unwrap();
        assert_eq!(bound.limit, Limit::DiskIops);
        assert_eq!(
            words::evidence(&bound.seen),
            "By what its requests waited for: its time went to disk-iops 80 %, latency 20 %."
        );
        let idle = binding(&TimeAccount { busy: second * 2, ..account }, &Series::default()).unwrap();
        assert_eq!(idle.limit, Limit::Arrival);
        assert!(
            words::evidence(&idle.seen).contains("nothing was asked for; its time went to idle 80 %"),
            "{}",
            words::evidence(&idle.seen)
        );
        let second_of = |count: u64| {
            let mut second = loadline_record::Second { outstanding: 8.0, ..loadline_record::Second::default() };
            second.operations[0].count = count;
            second
        };
        let seconds = [50, 0, 7, 0, 0, 0, 50].map(second_of).into();
        let series = Series { interval_s: 1, seconds, last_ns: 1_000_000_000 };
        let stalled = binding(&account, &series).unwrap();
        let told = "Nothing was answered for 3 s on end, from 3 s on, the longest of 2 such times.";
        assert!(words::evidence(&stalled.seen).ends_with(told), "{}", words::evidence(&stalled.seen));
        let held = binding(&TimeAccount { faults: second * 90, ..account }, &Series::default()).unwrap();
        assert_eq!(held.limit, Limit::Unexplained);
        assert_eq!(binding(&TimeAccount::default(), &Series::default()), None);
    }
}
