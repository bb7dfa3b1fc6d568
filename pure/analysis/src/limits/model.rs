//! What bound a predicted cell: the model knows it, draw by draw.

use crate::statistics::mean;
use crate::trials::{trials_counted, trials_used};
use crate::words::{listed, number};
use loadline_record::{Binding, Ceiling, CellRecord, Limit, TrialRecord};

/// The limit that bound the most plausible draw, with what the others were bound by where that differs. Of several trials of
/// that draw, the one nearest to their mean speaks.
pub(super) fn binding(cell: &CellRecord) -> Option<Binding> {
    let used = trials_used(cell);
    let own: Vec<&Binding> = used.iter().filter_map(|trial| trial.model.as_ref()?.binding.as_ref()).collect();
    let rates: Vec<f64> = used.iter().filter_map(|trial| trial.iops()).collect();
    let middle = mean(&rates)?;
    let off = |trial: &&&TrialRecord| trial.iops().map_or(f64::MAX, |rate| (rate - middle).abs());
    let nearest = used.iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let first = nearest.model.as_ref()?.binding.as_ref()?;
    let figure = |of: fn(&Binding) -> Option<f64>| {
        let alike: Option<Vec<f64>> = own.iter().filter(|b| b.limit == first.limit).map(|b| of(b)).collect();
        mean(&alike?)
    };
    let counted = trials_counted(cell);
    let all: Vec<Limit> =
        counted.iter().filter_map(|trial| Some(trial.model.as_ref()?.binding.as_ref()?.limit)).collect();
    let mut others: Vec<Limit> = all.iter().copied().filter(|limit| *limit != first.limit).collect();
    others.sort_unstable();
    others.dedup();
    let differing = if others.is_empty() {
        None
    } else {
        let told: Vec<String> = others
            .iter()
            .map(|other| format!("{} in {}", other.name(), all.iter().filter(|limit| *limit == other).count()))
            .collect();
        Some(format!("Of {} trials over what is uncertain it was {}.", all.len(), listed(&told)))
    };
    // Of several trials the figures are their means, as everywhere.
    let offered: Option<Vec<f64>> = used.iter().map(|trial| trial.offered_iops).collect();
    let offered = offered.filter(|all| first.limit == Limit::Arrival && all.len() > 1).and_then(|all| mean(&all));
    let mut seen = match offered {
        Some(offered) => {
            format!("Of {} requests a second offered, {} were completed.", number(offered), number(middle)).into()
        }
        None => first.seen.clone(),
    };
    if let Some(differing) = differing {
        seen.push(differing);
    }
    Some(Binding {
        limit: first.limit,
        ceiling_iops: figure(|b| b.ceiling_iops),
        utilization: figure(|b| b.utilization),
        seen,
        inferred: false,
        presumed: false,
        amplification: None,
    })
}

/// The ceilings of the most plausible draw.
pub(super) fn ceilings(cell: &CellRecord) -> Vec<Ceiling> {
    let used = trials_used(cell);
    used.iter().find_map(|trial| trial.model.as_ref()).map(|model| model.ceilings.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::example::predicted;
    use crate::words::written;
    use crate::{FindingCode, FindingSeen, Limit, RateSeen, summarize};
    use loadline_record::Stage;

    #[test]
    fn the_most_plausible_draw_gives_the_figures_and_all_of_them_the_range() {
        let summary = summarize(&predicted(&[1.0, 0.8, 1.1]));
        let cell = &summary.cells[0];
        let total = cell.total.as_ref().unwrap();
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.002;
        assert!(near(total.iops, 5_000.0), "{total:?}");
        assert!(near(total.iops_low.unwrap(), 4_000.0) && near(total.iops_high.unwrap(), 5_500.0), "{total:?}");
        let read = cell.read.as_ref().unwrap();
        let range = read.latency_range_ns.unwrap();
        assert!(range.mean_low < read.latency_ns.mean && read.latency_ns.mean < range.mean_high, "{range:?}");
        assert!((range.p99_low..=range.p99_high).contains(&read.latency_ns.p99.unwrap()), "{range:?}");
        assert_eq!(cell.trials, 3);
    }

    #[test]
    fn one_draw_has_no_range() {
        let summary = summarize(&predicted(&[1.0]));
        let total = summary.cells[0].total.as_ref().unwrap();
        assert_eq!((total.iops_low, total.iops_high), (None, None));
        assert_eq!(summary.cells[0].read.as_ref().unwrap().latency_range_ns, None);
    }

    #[test]
    fn the_model_names_the_limit_and_says_where_draws_differ() {
        let summary = summarize(&predicted(&[1.0, 0.8, 1.1]));
        let binding = summary.cells[0].binding.as_ref().unwrap();
        assert_eq!((binding.limit, binding.inferred), (Limit::DiskIops, false));
        assert_eq!(
            written(&binding.seen),
            "Requests waited for it. Of 3 trials over what is uncertain it was vm-uncached-iops in 1."
        );
        assert_eq!(summary.cells[0].ceilings.len(), 1);
    }

    #[test]
    fn the_end_of_a_burst_is_found_with_its_range() {
        let summary = summarize(&predicted(&[1.0, 0.8, 1.1]));
        let found = summary.findings.iter().find(|f| f.code == FindingCode::BurstEnded).unwrap();
        let FindingSeen::BurstEnded { load, stage, at_ns, range_ns, rates } = &found.seen else { panic!("{found:?}") };
        assert_eq!((load.at.as_str(), *stage, at_ns / 1_000_000_000), ("depth 8", Stage::Disk, 20));
        assert_eq!(range_ns.map(|(least, most)| [least, most].map(|ns| ns / 1_000_000_000)), Some([20, 22]));
        assert_eq!(*rates, Some((RateSeen::Iops(3_000.0), RateSeen::Iops(100.0))));
    }
}
