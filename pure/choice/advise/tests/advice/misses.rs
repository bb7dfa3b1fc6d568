//! What just misses beside simulated rows rests on simulation as they do.

use crate::rates;
use loadline_advise::{AdviceOptions, Candidate, FixChange, Miss, Need, advise};
use loadline_catalog::Catalog;
use loadline_units::{Bytes, Duration};
use loadline_workload::{LatencyFigure, Objective};

fn need(iops: f64, provider: &str, p99: Duration) -> Need {
    let mut need = Need::steady("n", rates(iops, 0.7, 8192), Bytes::gib(500));
    need.wanted.providers = vec![provider.to_owned()];
    need.objective = Some(Objective { of: LatencyFigure::P99, limit: p99 });
    need
}

/// The machine, and the disk with its number, after the change.
fn changed(miss: &Miss) -> Option<(&str, &str, u32)> {
    let disk = &miss.candidate.volumes[0].disks[0];
    Some(match &miss.fix.as_ref()?.change {
        FixChange::Machine { to, .. } => (to, disk.sku.as_str(), disk.count),
        FixChange::Disks { to, .. } => (&miss.candidate.machine, to.sku.as_str(), to.count),
    })
}

#[test]
fn a_change_that_would_do_meets_the_objective_and_more_of_the_need_costs_no_less() {
    let catalog = Catalog::builtin();
    let options = AdviceOptions::default();
    for (iops, provider, p99) in
        [(9_000.0, "azure", Duration::from_us(1_500)), (5_000.0, "azure", Duration::from_ms(4))]
    {
        let need = need(iops, provider, p99);
        let advice = advise(&need, &catalog, &options).unwrap();
        let best = advice.winner().map(|row| row.price_month.amount);
        for step in advice.staircase.iter().filter(|step| step.times > 1.0) {
            let (Some(amount), Some(best)) = (step.cheapest.amount, best) else { continue };
            assert!(amount >= best * (1.0 - 1e-6), "{iops} {provider}: {step:?} below {best}");
        }
        for (machine, disk, count) in advice.misses.iter().filter_map(changed) {
            let mut on = need.clone();
            on.wanted.machines = vec![machine.to_owned()];
            on.wanted.disks = vec![disk.to_owned()];
            on.wanted.disks_max = count;
            let again = advise(&on, &catalog, &options).unwrap();
            let is_it = |row: &&Candidate| row.machine == machine && row.volumes[0].disks[0].count == count;
            assert!(again.candidates.iter().any(|row| is_it(&row) && row.meets), "{machine} {disk} {count}");
        }
    }
}
