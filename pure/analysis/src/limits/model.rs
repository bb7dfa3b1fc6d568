//! What bound a predicted cell: the model knows it, draw by draw.

use crate::statistics::mean;
use crate::summarize::{trials_counted, trials_used};
use crate::words::listed;
use loadline_record::{Binding, Ceiling, CellRecord, Limit};

/// The limit that bound the most plausible draw, with what the others were bound by where that differs.
pub(super) fn binding(cell: &CellRecord) -> Option<Binding> {
    let used = trials_used(cell);
    let own: Vec<&Binding> = used.iter().filter_map(|trial| trial.model.as_ref()?.binding.as_ref()).collect();
    let first = *own.first()?;
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
        String::new()
    } else {
        let told: Vec<String> = others
            .iter()
            .map(|other| format!("{} in {}", other.name(), all.iter().filter(|limit| *limit == other).count()))
            .collect();
        format!(" Of {} trials over what is uncertain it was {}.", all.len(), listed(&told))
    };
    Some(Binding {
        limit: first.limit,
        ceiling_iops: figure(|b| b.ceiling_iops),
        utilization: figure(|b| b.utilization),
        evidence: format!("{}{differing}", first.evidence),
        inferred: false,
    })
}

/// The ceilings of the most plausible draw.
pub(super) fn ceilings(cell: &CellRecord) -> Vec<Ceiling> {
    let used = trials_used(cell);
    used.iter().find_map(|trial| trial.model.as_ref()).map(|model| model.ceilings.clone()).unwrap_or_default()
}
