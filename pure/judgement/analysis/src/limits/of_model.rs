//! The limits of a prediction: the model's own ceilings, each with where it is from and which loads it bound.

use super::listing::{figure, kind_name};
use super::{LimitFigure, Quantity};
use crate::curves::outstanding;
use crate::summary::CellSummary;
use loadline_record::{Ceiling, CeilingSource, Limit, LimitSource, LoadsShown};

/// Every ceiling once, as the first load that has it has it, by volume; and what requests of each kind and size take where nothing waits.
pub(super) fn limits(cells: &[CellSummary]) -> Vec<LimitFigure> {
    let mut figures: Vec<LimitFigure> = Vec::new();
    let mut known: Vec<(String, Named)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.total.is_some()) {
        for ceiling in &cell.ceilings {
            let name = name(cell, ceiling);
            if ceiling.limit == Limit::Arrival
                || known.iter().any(|other| *other == (cell.volume.clone(), name.clone()))
            {
                continue;
            }
            let bound: Vec<&CellSummary> = cells.iter().filter(|other| binds(other, cell, &name)).collect();
            let labels: Vec<String> = bound.iter().map(|cell| cell.label.clone()).collect();
            let (quantity, value) = match (ceiling.limit, outstanding(cell)) {
                (Limit::Latency, Some(depth)) => (Quantity::LatencyNs, depth as f64 / ceiling.iops * 1e9),
                (Limit::Latency, None) => continue,
                _ => figure(ceiling, cell),
            };
            let source = LimitSource::Modelled { source: ceiling.source.clone(), bound: LoadsShown::of(&labels) };
            let cells = bound.iter().map(|cell| cell.id.clone()).collect();
            figures.push(LimitFigure::told(cell, ceiling.limit, (quantity, value), source, cells));
            known.push((cell.volume.clone(), name));
        }
    }
    let volumes: Vec<String> = figures.iter().map(|figure| figure.volume.clone()).collect();
    figures.sort_by_key(|figure| volumes.iter().position(|volume| *volume == figure.volume));
    figures
}

/// What tells one limit from another: where it is from, or of a latency for which requests it is.
#[derive(Debug, Clone, PartialEq)]
enum Named {
    Latency { block_bytes: u64, loads: String },
    Of(Limit, CeilingSource),
}

fn name(cell: &CellSummary, ceiling: &Ceiling) -> Named {
    match ceiling.limit {
        Limit::Latency => Named::Latency { block_bytes: cell.load.block_bytes, loads: kind_name(cell) },
        limit => Named::Of(limit, ceiling.source.of_any_load()),
    }
}

/// Whether the limit `called` so bound `cell`, a load on the volume of `first`: of several of one name, the lowest.
fn binds(cell: &CellSummary, first: &CellSummary, called: &Named) -> bool {
    let Some(binding) = cell.binding.as_ref().filter(|_| cell.volume == first.volume) else { return false };
    let lowest = cell.ceilings.iter().filter(|ceiling| ceiling.limit == binding.limit);
    let lowest = lowest.min_by(|a, b| a.iops.total_cmp(&b.iops));
    lowest.is_some_and(|ceiling| name(cell, ceiling) == *called)
}

#[cfg(test)]
mod tests {
    use crate::example::predicted;
    use crate::limits::listing::{known_limits, limits};
    use loadline_record::{
        Budget, BudgetOwner, BudgetRate, BudgetRates, Ceiling, CeilingSource, Limit, LimitSource, LoadsShown,
    };

    /// A disk's budget, of which one load has so many counted requests for each of its own.
    fn disk(counted_requests: Option<f64>) -> CeilingSource {
        CeilingSource::Budget(Budget {
            owner: BudgetOwner::Disk { name: String::new(), alike: 1 },
            allowed: BudgetRates::Together { rate: BudgetRate::RateIops(5_000) },
            published: None,
            steady_per_s: 5_000,
            credits: None,
            counted_requests,
            bytes_each: None,
        })
    }

    #[test]
    fn a_prediction_has_the_limits_of_its_model_and_infers_none() {
        let mut record = predicted(&[1.0, 0.8, 1.1]);
        for model in record.cells[0].trials.iter_mut().filter_map(|trial| trial.model.as_mut()) {
            model.ceilings[0].source = disk(None);
            let of = |limit, iops, source: &str| Ceiling { limit, iops, source: source.into() };
            model.ceilings.push(of(Limit::VmCachedThroughput, 30_000.0, "the VM"));
            model.ceilings.push(of(Limit::Latency, 8_000.0, "8 outstanding"));
        }
        let mut deeper = record.cells[0].clone();
        (deeper.id, deeper.label) = ("deep".into(), "random read 4 KiB, depth 16".into());
        deeper.load.figures_mut().expect("figures").queue_depth = Some(16);
        for model in deeper.trials.iter_mut().filter_map(|trial| trial.model.as_mut()) {
            model.ceilings[0].source = disk(Some(2.0));
        }
        record.cells.push(deeper);
        let told: Vec<(Limit, f64, bool, LimitSource)> =
            known_limits(&record).into_iter().map(|f| (f.limit, f.value.round(), f.inferred, f.source)).collect();
        let of = |source, labels: &[&str]| {
            let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
            LimitSource::Modelled { source, bound: LoadsShown::of(&labels) }
        };
        let both = ["random read 4 KiB, depth 8", "random read 4 KiB, depth 16"];
        assert_eq!(
            told,
            [
                (Limit::DiskIops, 5_000.0, false, of(disk(None), &both)),
                (Limit::VmCachedThroughput, 122_880_000.0, false, of("the VM".into(), &[])),
                (Limit::Latency, 1_000_000.0, false, of("8 outstanding".into(), &[])),
            ]
        );
        // What the figures show by themselves is for those who make a model of them.
        assert!(limits(&record).iter().all(|figure| figure.inferred));
    }
}
