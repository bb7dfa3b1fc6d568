//! What of a hunt the storage at hand cannot have.

use crate::error::{HuntRefusal, in_a_line};
use crate::kinds::hunt::engine_choice;
use crate::open_volumes::OpenVolumes;
use crate::{Hunt, Refusal, Tried, refusal_of, refuse_impossible};
use loadline_engine::EngineOptions;
use loadline_hunt::{Factor, HuntLoad, HuntVariant};
use loadline_workload::RunCell;

impl Hunt {
    /// Leaves out what the target cannot have. A factor that was named is refused instead.
    pub(crate) fn leave_out_impossible(&mut self, opened: &OpenVolumes) -> Result<(), Refusal> {
        let Self { design, choices, settings, .. } = self;
        let volume_of = |cell: &RunCell| opened[&cell.volume].volume_for(&cell.spec);
        // Where all goes through the page cache anyway, a load that asks for it is the same load.
        let unchanged = |variant: &HuntVariant, load: &HuntLoad| {
            let facts = opened[&load.cell.volume].facts();
            let why = || facts.direct_reason.clone().unwrap_or_else(|| "it has no direct I/O".to_owned());
            (variant.factor == Factor::Direct && !facts.direct)
                .then(|| format!("all goes through the page cache on this target: {}", why()))
        };
        if choices.vary.is_empty() {
            let engine = settings.engine;
            let why = |variant: &HuntVariant, load: &HuntLoad| {
                let options = EngineOptions { engine: load.engine.map_or(engine.engine, engine_choice), ..engine };
                let impossible = refusal_of(volume_of(&load.cell), &load.cell, options);
                impossible.map(|error| in_a_line(&error)).or_else(|| unchanged(variant, load))
            };
            design.leave_out_impossible(why).map_err(|settings| HuntRefusal::NothingVaries { settings })?;
        } else if let Some((factor, why)) =
            design.variants().find_map(|(variant, load)| Some((variant.factor, unchanged(variant, load)?)))
        {
            return Err(HuntRefusal::Unvaried { factor, why }.into());
        }
        let engine = self.settings.engine;
        let cells = self.cells();
        let tried = cells.iter().map(|cell| Tried {
            cell: &cell.cell,
            label: &cell.label,
            options: EngineOptions { engine: cell.engine.unwrap_or(engine.engine), ..engine },
        });
        refuse_impossible(volume_of, tried)
    }
}
