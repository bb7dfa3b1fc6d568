//! The loads of a hunt: the baseline and a cell for each variation, with the plan that is stored with the run.

use crate::factor::IoEngine;
use crate::plan::{HuntPlan, HuntVariant, SkippedSetting};
use crate::vary::Variations;
use loadline_catalog::Environment;
use loadline_units::Ratio;
use loadline_workload::{LoadSpec, Order, RunCell, cell_id};

/// A load of a hunt: the baseline, or one variation of it.
#[derive(Debug, Clone)]
pub struct HuntLoad {
    /// Its cell.
    pub cell: RunCell,
    /// Its name for people.
    pub label: String,
    /// The engine, where that is varied.
    pub engine: Option<IoEngine>,
    /// The environment, where that is varied.
    pub environment: Option<Environment>,
}

/// All that a hunt measures, before its first trial.
#[derive(Debug, Clone)]
pub struct HuntDesign {
    /// The baseline first, then the variants in the order of the plan.
    pub loads: Vec<HuntLoad>,
    /// What is stored with the run.
    pub plan: HuntPlan,
}

impl HuntDesign {
    /// A cell for the baseline, called `label`, and one for each variation of it.
    #[must_use]
    pub fn new(volume: &str, load: &LoadSpec, label: &str, found: Variations, margin: Ratio) -> Self {
        let baseline = cell(volume, load, 0);
        let mut plan = HuntPlan {
            baseline: baseline.id.clone(),
            variants: Vec::new(),
            margin: margin.as_f64(),
            not_tried: found.skipped,
            lacks: found.absent,
            fixed: found.fixed,
        };
        let mut loads = vec![HuntLoad { cell: baseline, label: label.to_owned(), engine: None, environment: None }];
        for (number, variation) in (1u32..).zip(found.variations) {
            // Some variations leave the load as it is: their number tells the cells apart.
            let cell = cell(volume, &variation.load, number);
            plan.variants.push(HuntVariant {
                cell: cell.id.clone(),
                factor: variation.factor,
                from: variation.from,
                to: variation.to.clone(),
            });
            loads.push(HuntLoad {
                cell,
                label: format!("{label}: {} {}", variation.factor.name(), variation.to),
                engine: variation.engine,
                environment: variation.environment,
            });
        }
        Self { loads, plan }
    }

    /// The variants, each with its load.
    pub fn variants(&self) -> impl Iterator<Item = (&HuntVariant, &HuntLoad)> {
        self.plan.variants.iter().zip(&self.loads[1..])
    }

    /// Leaves out the variants for which `why` gives a reason.
    ///
    /// # Errors
    /// All variants with their reasons, where none would be left.
    pub fn leave_out_impossible(
        &mut self,
        why: impl Fn(&HuntVariant, &HuntLoad) -> Option<String>,
    ) -> Result<(), Vec<SkippedSetting>> {
        let skipped = |(variant, load): (&HuntVariant, &HuntLoad)| {
            let because = why(variant, load)?;
            Some(SkippedSetting { factor: variant.factor, to: Some(variant.to.clone()), because })
        };
        let impossible: Vec<SkippedSetting> = self.variants().filter_map(skipped).collect();
        if impossible.len() == self.plan.variants.len() {
            return Err(impossible);
        }
        self.leave_out(&impossible);
        Ok(())
    }

    /// Leaves out these settings, where they would be tried.
    pub fn leave_out(&mut self, settings: &[SkippedSetting]) {
        let is_in = |variant: &HuntVariant| {
            settings.iter().any(|one| one.factor == variant.factor && one.to.as_deref() == Some(variant.to.as_str()))
        };
        let (gone, left): (Vec<_>, Vec<_>) = self.plan.variants.drain(..).partition(is_in);
        self.plan.variants = left;
        self.loads.retain(|load| gone.iter().all(|variant| variant.cell != load.cell.id));
        let known = &self.plan.not_tried;
        let added: Vec<SkippedSetting> = settings.iter().filter(|one| !known.contains(one)).cloned().collect();
        self.plan.not_tried.extend(added);
    }
}

/// The cell of a load; `occurrence` tells apart loads that are otherwise the same.
fn cell(volume: &str, load: &LoadSpec, occurrence: u32) -> RunCell {
    let id = cell_id(volume, load, occurrence);
    RunCell { id, volume: volume.to_owned(), spec: load.clone(), order: Order::Interleaved }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::Factor;
    use crate::vary::{Baseline, BaselineStorage, FactorRequest, variations};

    fn design() -> HuntDesign {
        let load = LoadSpec::default();
        let storage = BaselineStorage::Target { is_directory: true, engine: None };
        let wanted = FactorRequest::parse_all(&["engine", "depth=8"]).unwrap();
        let found = variations(&Baseline { load: &load, storage }, &wanted).unwrap();
        HuntDesign::new("data", &load, "reads", found, Ratio::percent(5))
    }

    #[test]
    fn every_load_has_a_cell_of_its_own_also_where_only_the_engine_differs() {
        let design = design();
        let labels: Vec<&str> = design.loads.iter().map(|load| load.label.as_str()).collect();
        assert_eq!(labels, ["reads", "reads: engine aio", "reads: engine threads", "reads: depth 8"]);
        let mut ids: Vec<&str> = design.loads.iter().map(|load| load.cell.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4);
        assert_eq!(design.plan.baseline, design.loads[0].cell.id);
    }

    #[test]
    fn a_variant_left_out_goes_with_its_load_and_leaves_its_reason() {
        let mut design = design();
        let why = |variant: &HuntVariant, _: &HuntLoad| (variant.to == "aio").then(|| "no AIO here".to_owned());
        design.leave_out_impossible(why).unwrap();
        let left: Vec<&str> = design.variants().map(|(variant, _)| variant.to.as_str()).collect();
        assert_eq!(left, ["threads", "8"]);
        assert!(design.variants().all(|(variant, load)| variant.cell == load.cell.id));
        let skipped =
            SkippedSetting { factor: Factor::Engine, to: Some("aio".to_owned()), because: "no AIO here".to_owned() };
        assert_eq!(design.plan.not_tried, [skipped]);
        let all = design.clone().leave_out_impossible(|_, _| Some("broken".to_owned())).unwrap_err();
        assert_eq!(all.len(), 2);
    }
}
