//! The plans that come with loadline, embedded as text.

use loadline_document::nearest;

/// A plan that comes with loadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name that `run` takes.
    pub name: &'static str,
    /// What it answers, in one line; the plan's description.
    pub title: &'static str,
    /// The plan, TOML with comments.
    pub text: &'static str,
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "quick-look",
        title: "Sequential read and write, 1 GiB at a time, trial by trial: is there a trend?",
        text: include_str!("../../../plans/quick-look.toml"),
    },
    Preset {
        name: "crystaldiskmark-8",
        title: "The four rows of CrystalDiskMark 8, read and write",
        text: include_str!("../../../plans/crystaldiskmark-8.toml"),
    },
    Preset {
        name: "crystaldiskmark-3",
        title: "The four rows of CrystalDiskMark 3, read and write",
        text: include_str!("../../../plans/crystaldiskmark-3.toml"),
    },
    Preset {
        name: "outstanding-sweep",
        title: "8 KiB random, 1 to 1024 outstanding: which limit is it, and up to which depth is latency kept?",
        text: include_str!("../../../plans/outstanding-sweep.toml"),
    },
    Preset {
        name: "layouts",
        title: "The same eight rows on several volumes: which layout is worth its money?",
        text: include_str!("../../../plans/layouts.toml"),
    },
    Preset {
        name: "search-farm",
        title: "Writes of a search farm's SQL server during a full crawl: is 20 ms kept?",
        text: include_str!("../../../plans/search-farm.toml"),
    },
    Preset {
        name: "matrix-200",
        title: "Pattern x reads x block x depth, 200 cells of 7 minutes: where does a volume stop scaling?",
        text: include_str!("../../../plans/matrix-200.toml"),
    },
    Preset {
        name: "matrix-200-short",
        title: "The 200 cells of matrix-200 at a few seconds each: their shape, not their figures",
        text: include_str!("../../../plans/matrix-200-short.toml"),
    },
];

/// All of them, the quickest to read first.
#[must_use]
pub const fn presets() -> &'static [Preset] {
    PRESETS
}

/// The one of this name.
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The name of a preset that was most probably meant, if any is near.
#[must_use]
pub fn nearest_preset(name: &str) -> Option<&'static str> {
    nearest(name, PRESETS.iter().map(|preset| preset.name))
}

/// The preset that keeps the shape of the named one in a fraction of its time, where there is one.
#[must_use]
pub fn short_form(name: &str) -> Option<&'static Preset> {
    preset(&format!("{name}-short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, BlockShare, LoadSpec, Order, Pattern, Plan};
    use loadline_units::{Bytes, Duration, Ratio};

    fn plan(name: &str) -> Plan {
        Plan::parse(preset(name).unwrap().text, name).unwrap_or_else(|error| panic!("{error}"))
    }
    fn cells(name: &str) -> Vec<LoadSpec> {
        plan(name).cells().map(|(spec, _)| spec.clone()).collect()
    }

    #[test]
    fn every_preset_is_a_plan_with_its_name_and_title() {
        for preset in presets() {
            let plan = plan(preset.name);
            assert_eq!(plan.name, preset.name);
            assert_eq!(plan.description.as_deref(), Some(preset.title));
            assert!(preset.text.starts_with("# "), "{} says first what it answers", preset.name);
        }
    }

    #[test]
    fn presets_have_the_cells_that_they_should() {
        let counts: Vec<(&str, usize)> = presets().iter().map(|p| (p.name, cells(p.name).len())).collect();
        let wanted = [
            ("quick-look", 2),
            ("crystaldiskmark-8", 8),
            ("crystaldiskmark-3", 8),
            ("outstanding-sweep", 44),
            ("layouts", 8),
            ("search-farm", 4),
            ("matrix-200", 200),
            ("matrix-200-short", 200),
        ];
        assert_eq!(counts, wanted);
    }

    #[test]
    fn the_matrix_takes_most_of_a_day() {
        let time: Duration = cells("matrix-200").iter().map(LoadSpec::trial_time).sum();
        assert_eq!(time, Duration::from_s(200 * 420));
    }

    #[test]
    fn the_short_matrix_differs_only_in_time_and_size() {
        let (long, short) = (cells("matrix-200"), cells("matrix-200-short"));
        for (long, short) in long.into_iter().zip(short) {
            assert!(short.trial_time() <= Duration::from_s(5));
            let LoadSpec { size, warm_up, cool_down, duration, .. } = long.clone();
            assert_eq!(LoadSpec { size, warm_up, cool_down, duration, ..short }, long);
        }
        assert_eq!(short_form("matrix-200").unwrap().name, "matrix-200-short");
        assert_eq!(short_form("layouts"), None);
    }

    #[test]
    fn the_sweep_doubles_to_1024_and_keeps_20_ms() {
        let cells = cells("outstanding-sweep");
        let deepest = cells.iter().filter_map(LoadSpec::outstanding).max();
        assert_eq!(deepest, Some(1024));
        for cell in &cells {
            assert_eq!(cell.blocks, [BlockShare { size: Bytes::kib(8), share: Ratio::ONE }]);
            assert_eq!(cell.objective.unwrap().limit, Duration::from_ms(20));
        }
        for reads in [Ratio::ONE, Ratio::ZERO] {
            assert_eq!(cells.iter().filter(|cell| cell.reads == reads).count(), 11);
        }
    }

    #[test]
    fn crystaldiskmark_8_has_its_rows() {
        let rows: Vec<(String, String)> =
            cells("crystaldiskmark-8").iter().map(|cell| (cell.name.clone().unwrap(), cell.to_string())).collect();
        let wanted = [
            ("SEQ1M Q8T1", "sequential read 1 MiB, depth 8"),
            ("SEQ1M Q8T1", "sequential write 1 MiB, depth 8"),
            ("SEQ1M Q1T1", "sequential read 1 MiB, depth 1"),
            ("SEQ1M Q1T1", "sequential write 1 MiB, depth 1"),
            ("RND4K Q32T1", "random read 4 KiB, depth 32"),
            ("RND4K Q32T1", "random write 4 KiB, depth 32"),
            ("RND4K Q1T1", "random read 4 KiB, depth 1"),
            ("RND4K Q1T1", "random write 4 KiB, depth 1"),
        ];
        assert_eq!(rows, wanted.map(|(row, load)| (row.to_owned(), load.to_owned())));
    }

    #[test]
    fn plans_of_crystaldiskmark_ask_for_the_best_that_it_prints() {
        let asking = |name: &str| cells(name).iter().filter(|cell| cell.best_of_trials).count();
        assert_eq!(["crystaldiskmark-8", "crystaldiskmark-3", "outstanding-sweep"].map(asking), [8, 8, 0]);
    }

    #[test]
    fn the_quick_look_moves_1_gib_a_trial_past_every_cache() {
        let plan = plan("quick-look");
        for (cell, order) in plan.cells() {
            assert_eq!(order, Order::AsListed);
            assert_eq!(cell.pattern, Pattern::Sequential { stride: None });
            assert!(matches!(cell.arrival, Arrival::Closed { queue_depth: 1, .. }));
            assert_eq!((cell.volume, cell.trials, cell.pause), (Some(Bytes::GIB), 12, Duration::from_s(10)));
            assert_eq!(cell.warm_up, Duration::ZERO);
            assert!(!cell.buffered && cell.drop_caches);
        }
    }

    #[test]
    fn a_misspelt_preset_is_recognised() {
        assert_eq!(nearest_preset("matrix200"), Some("matrix-200"));
        assert_eq!(nearest_preset("crystaldiskmark"), Some("crystaldiskmark-8"));
        assert_eq!(nearest_preset("Outstanding Sweep"), Some("outstanding-sweep"));
        assert_eq!(nearest_preset("zzz"), None);
        assert_eq!(preset("matrix200"), None);
    }
}
