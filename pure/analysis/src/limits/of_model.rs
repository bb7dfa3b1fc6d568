//! The limits of a prediction: the model's own ceilings, each with where it is from and which loads it bound.

use super::listing::{figure, kind_name};
use super::{LimitFigure, Quantity};
use crate::curves::outstanding;
use crate::summary::CellSummary;
use loadline_record::{Ceiling, Limit};

/// Ends what a source says of the limit itself; what follows is about one load.
const OF_A_LOAD: &str = "; ";

/// Every ceiling once, as the first load that has it has it, by volume; and what requests of each kind and size take where nothing waits.
pub(super) fn limits(cells: &[CellSummary]) -> Vec<LimitFigure> {
    let mut figures: Vec<LimitFigure> = Vec::new();
    let mut known: Vec<(String, String)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.total.is_some()) {
        for ceiling in &cell.ceilings {
            let name = name(cell, ceiling);
            if ceiling.limit == Limit::Arrival
                || known.iter().any(|other| *other == (cell.volume.clone(), name.clone()))
            {
                continue;
            }
            let bound: Vec<&CellSummary> = cells.iter().filter(|other| binds(other, cell, &name)).collect();
            let labels: Vec<&str> = bound.iter().map(|cell| cell.label.as_str()).collect();
            let told = match labels.as_slice() {
                [] => "bound none of the loads".to_owned(),
                [only] => format!("bound {only}"),
                [first, .., last] => format!("bound {} loads, from {first} to {last}", labels.len()),
            };
            let (quantity, value) = match (ceiling.limit, outstanding(cell)) {
                (Limit::Latency, Some(depth)) => (Quantity::LatencyNs, depth as f64 / ceiling.iops * 1e9),
                (Limit::Latency, None) => continue,
                _ => figure(ceiling, cell),
            };
            let source = format!("{}; {told}", ceiling.source);
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
fn name(cell: &CellSummary, ceiling: &Ceiling) -> String {
    match ceiling.limit {
        Limit::Latency => format!("latency of {} {}", cell.load.block_bytes, kind_name(cell)),
        limit => {
            let source = ceiling.source.split(OF_A_LOAD).next().unwrap_or_default();
            format!("{}: {source}", limit.name())
        }
    }
}

/// Whether the limit `called` so bound `cell`, a load on the volume of `first`: of several of one name, the lowest.
fn binds(cell: &CellSummary, first: &CellSummary, called: &str) -> bool {
    let Some(binding) = cell.binding.as_ref().filter(|_| cell.volume == first.volume) else { return false };
    let lowest = cell.ceilings.iter().filter(|ceiling| ceiling.limit == binding.limit);
    let lowest = lowest.min_by(|a, b| a.iops.total_cmp(&b.iops));
    lowest.is_some_and(|ceiling| name(cell, ceiling) == called)
}

#[cfg(test)]
mod tests {
    use crate::example::predicted;
    use crate::limits::listing::{known_limits, limits};
    use loadline_record::{Ceiling, Limit};

    #[test]
    fn a_prediction_has_the_limits_of_its_model_and_infers_none() {
        let mut record = predicted(&[1.0, 0.8, 1.1]);
        for model in record.cells[0].trials.iter_mut().filter_map(|trial| trial.model.as_mut()) {
            let of = |limit, iops, source: &str| Ceiling { limit, iops, source: source.to_owned() };
            model.ceilings.push(of(
                Limit::VmCachedThroughput,
                30_000.0,
                "the VM; 4.00 KiB for each request of this load",
            ));
            model.ceilings.push(of(Limit::Latency, 8_000.0, "8 outstanding, 1.00 ms each when nothing waits"));
        }
        let mut deeper = record.cells[0].clone();
        (deeper.id, deeper.label) = ("deep".into(), "random read 4 KiB, depth 16".into());
        deeper.load.figures_mut().expect("figures").queue_depth = Some(16);
        for model in deeper.trials.iter_mut().filter_map(|trial| trial.model.as_mut()) {
            model.ceilings[0].source.push_str("; 2 counted requests on it for each of this load");
        }
        record.cells.push(deeper);
        let told: Vec<String> = known_limits(&record)
            .iter()
            .map(|f| format!("{} {:.0} {} {:?}: {}", f.limit.name(), f.value, f.inferred, f.cells.len(), f.source))
            .collect();
        assert_eq!(
            told,
            [
                "disk-iops 5000 false 2: the disk; bound 2 loads, from random read 4 KiB, depth 8 to random read 4 KiB, depth 16",
                "vm-cached-throughput 122880000 false 0: the VM; 4.00 KiB for each request of this load; bound none of the loads",
                "latency 1000000 false 0: 8 outstanding, 1.00 ms each when nothing waits; bound none of the loads",
            ]
        );
        // What the figures show by themselves is for those who make a model of them.
        assert!(limits(&record).iter().all(|figure| figure.inferred));
    }
}
