//! What bound a predicted cell: the model knows it, draw by draw.

use crate::statistics::mean;
use crate::trials::{trials_counted, trials_used};
use loadline_record::{
    Asked, Binding, Ceiling, CellRecord, Evidence, Limit, LimitDraws, LoadFact, ModelFact, TrialRecord,
};

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
    let of_draws =
        |limit: Limit| LimitDraws { limit, trials: all.iter().filter(|other| **other == limit).count() as u64 };
    let differing = (!others.is_empty()).then(|| ModelFact::DrawsDiffer {
        trials: all.len() as u64,
        others: others.iter().copied().map(of_draws).collect(),
    });
    // Of several trials the figures are their means, as everywhere.
    let offered: Option<Vec<f64>> = used.iter().map(|trial| trial.offered_iops).collect();
    let offered = offered.filter(|all| first.limit == Limit::Arrival && all.len() > 1).and_then(|all| mean(&all));
    let seen = offered.map_or_else(
        || first.seen.clone(),
        |asked_iops| Evidence::from(LoadFact::Offered(Asked { asked_iops, completed_iops: middle })),
    );
    let seen = seen.with(differing);
    Some(Binding::known(first.limit, figure(|b| b.ceiling_iops), figure(|b| b.utilization), seen))
}

/// The ceilings of the most plausible draw.
pub(super) fn ceilings(cell: &CellRecord) -> Vec<Ceiling> {
    let used = trials_used(cell);
    used.iter().find_map(|trial| trial.model.as_ref()).map(|model| model.ceilings.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::example::predicted;
    use crate::{FindingCode, FindingSeen, Limit, summarize};
    use loadline_record::Rate;
    use loadline_record::{Fact, LimitDraws, ModelFact, Stage};

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
        let others = vec![LimitDraws { limit: Limit::VmUncachedIops, trials: 1 }];
        let differ = Fact::from(ModelFact::DrawsDiffer { trials: 3, others });
        assert_eq!(binding.seen.facts()[1..], [differ]);
        assert_eq!(summary.cells[0].ceilings.len(), 1);
    }

    #[test]
    fn the_end_of_a_burst_is_found_with_its_range() {
        let summary = summarize(&predicted(&[1.0, 0.8, 1.1]));
        let found = summary.findings.iter().find(|f| f.code == FindingCode::BurstEnded).unwrap();
        let FindingSeen::BurstEnded { load, stage, at_ns, range_ns, rates } = &found.seen else { panic!("{found:?}") };
        assert_eq!((load.at.as_str(), *stage, at_ns / 1_000_000_000), ("depth 8", Stage::Disk, 20));
        assert_eq!(range_ns.map(|(least, most)| [least, most].map(|ns| ns / 1_000_000_000)), Some([20, 22]));
        assert_eq!(*rates, Some((Rate::Iops(3_000.0), Rate::Iops(100.0))));
    }
}
