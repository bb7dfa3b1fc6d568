//! What a load is beyond the figures that tables need, as programs read it.

use loadline_load::{Arrival, BlockShare, Distribution, FlushMethod, LoadSpec, Pattern, Walk, Zone};
use loadline_record::Load;
use loadline_units::{Bytes, Ratio};
use serde::{Deserialize, Serialize};

/// What tells loads of the same pattern, block and depth apart. Everything is `null` for what no plan describes: recorded loads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadDetails {
    /// Random loads: `uniform`, `permutation`, `zipf`, `hot-cold`, `pareto` or `zoned`.
    pub distribution: Option<String>,
    /// The exponent of a `zipf` distribution.
    pub zipf_theta: Option<f64>,
    /// Share of the requests that go to the hot blocks of `hot-cold`.
    pub hot_requests_ratio: Option<f64>,
    /// Share of the blocks that are hot.
    pub hot_blocks_ratio: Option<f64>,
    /// The share h of a `pareto` distribution: a share 1 - h of the requests goes to a share h of the blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pareto_h: Option<f64>,
    /// The deviation of a `normal` distribution, as a share of all blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_deviation_ratio: Option<f64>,
    /// The zones of a `zoned` distribution, from the start of the volume on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<ZoneDetails>>,
    /// Sequential loads: from the start of one request to the start of the next, where that is not the block size.
    pub stride_bytes: Option<u64>,
    /// Sequential loads: `again` if the same blocks come again at the end, `back` if the load goes backward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub walk: Option<String>,
    /// Sequential loads: each thread goes through the whole range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<bool>,
    /// In place of a size: the share of the target that the load spreads over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_ratio: Option<f64>,
    /// Sequential loads: from where one thread begins to where the next does, where stretches are not side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_step_bytes: Option<u64>,
    /// How much each of such threads goes through, where that is not all up to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_length_bytes: Option<u64>,
    /// Requests after which a thread goes to its next file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_turn_requests: Option<u32>,
    /// Random loads: the share of requests that begin at the end of the last one of their kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_ratio: Option<f64>,
    /// Sequential loads from zone to zone: how long a zone is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_bytes: Option<u64>,
    /// What is left out behind each zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_skip_bytes: Option<u64>,
    /// How many times the bytes of its range end the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// Offsets are multiples of this, where that is not the smallest block.
    pub align_bytes: Option<u64>,
    /// Where in the target the load begins.
    pub start_bytes: Option<u64>,
    /// Test files that the size is spread over.
    pub files: Option<u32>,
    /// The sizes of a mix with their shares; `null` where there is one size.
    pub block_mix: Option<Vec<BlockInMix>>,
    /// Share of trims among all requests.
    pub trim_ratio: Option<f64>,
    /// Closed loop: from a completion to the request that takes its place.
    pub think_time_ns: Option<u64>,
    /// Writes are made durable after so many of a thread; `null` for never.
    pub flush_every_writes: Option<u64>,
    /// How: `fdatasync` or `fua`.
    pub flush_method: Option<String>,
    /// Whether the load ends with a flush, whose time is measured as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_flush: Option<bool>,
    /// Share of each written block that compresses away.
    pub compressible_ratio: Option<f64>,
    /// Share of written blocks that repeat others.
    pub duplicate_ratio: Option<f64>,
    /// Whether every block is marked and checked.
    pub verify: Option<bool>,
    /// Load before the measurement, without the rounds of a steady-state rule.
    pub warm_up_ns: Option<u64>,
    /// Measured time that was asked for.
    pub duration_ns: Option<u64>,
}

/// A zone of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ZoneDetails {
    /// Share of the requests that go to it.
    pub requests_ratio: f64,
    /// Its share of the blocks.
    pub blocks_ratio: f64,
}

/// One size in a mix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockInMix {
    /// Block size.
    pub bytes: u64,
    /// Share of the requests that are of this size.
    pub ratio: f64,
}

impl LoadDetails {
    /// Of a load; nothing where it is none of a plan's.
    #[must_use]
    pub fn of(load: &Load) -> Self {
        load.spec().map_or_else(Self::default, Self::from)
    }
}

impl From<&LoadSpec> for LoadDetails {
    fn from(spec: &LoadSpec) -> Self {
        let mut details = Self {
            align_bytes: spec.align.map(Bytes::get),
            start_bytes: Some(spec.start.get()),
            files: Some(spec.files),
            block_mix: (spec.blocks.len() > 1).then(|| {
                let part = |block: &BlockShare| BlockInMix { bytes: block.size.get(), ratio: block.share.as_f64() };
                spec.blocks.iter().map(part).collect()
            }),
            trim_ratio: Some(spec.trims.as_f64()),
            think_time_ns: match spec.arrival {
                Arrival::Closed { think_time, .. } => Some(think_time.as_ns()),
                Arrival::Constant { .. } | Arrival::Poisson { .. } => None,
            },
            flush_every_writes: spec.flush.map(|flush| flush.every),
            flush_method: spec.flush.map(|flush| {
                match flush.how {
                    FlushMethod::Fdatasync => "fdatasync",
                    FlushMethod::Fua => "fua",
                }
                .to_owned()
            }),
            compressible_ratio: Some(spec.content.compressible.as_f64()),
            duplicate_ratio: Some(spec.content.duplicate.as_f64()),
            verify: Some(spec.verify),
            warm_up_ns: Some(spec.warm_up.as_ns()),
            duration_ns: Some(spec.duration.as_ns()),
            walk: match spec.walk {
                Walk::Onward => None,
                Walk::Again => Some("again".to_owned()),
                Walk::Back => Some("back".to_owned()),
            },
            overlap: spec.overlap.then_some(true),
            end_flush: spec.end_flush.then_some(true),
            passes: spec.passes,
            size_ratio: spec.size_share.map(Ratio::as_f64),
            thread_step_bytes: spec.staggered.map(|staggered| staggered.step.get()),
            thread_length_bytes: spec.staggered.and_then(|staggered| staggered.length).map(Bytes::get),
            in_turn_requests: spec.in_turn,
            continued_ratio: (spec.continued != Ratio::ZERO).then(|| spec.continued.as_f64()),
            zone_bytes: spec.zones.map(|zones| zones.size.get()),
            zone_skip_bytes: spec.zones.map(|zones| zones.skip.get()),
            ..Self::default()
        };
        match &spec.pattern {
            Pattern::Sequential { stride } => details.stride_bytes = stride.map(Bytes::get),
            Pattern::Random(distribution) => {
                let name = match distribution {
                    Distribution::Uniform => "uniform",
                    Distribution::Permutation => "permutation",
                    Distribution::Covering => "covering",
                    Distribution::Zipf { theta_milli } => {
                        details.zipf_theta = Some(f64::from(*theta_milli) / 1e3);
                        "zipf"
                    }
                    Distribution::HotCold { requests, blocks } => {
                        details.hot_requests_ratio = Some(requests.as_f64());
                        details.hot_blocks_ratio = Some(blocks.as_f64());
                        "hot-cold"
                    }
                    Distribution::Pareto { h_milli } => {
                        details.pareto_h = Some(f64::from(*h_milli) / 1e3);
                        "pareto"
                    }
                    Distribution::Normal { deviation } => {
                        details.normal_deviation_ratio = Some(deviation.as_f64());
                        "normal"
                    }
                    Distribution::Zoned { zones } => {
                        let part = |zone: &Zone| ZoneDetails {
                            requests_ratio: zone.requests.as_f64(),
                            blocks_ratio: zone.blocks.as_f64(),
                        };
                        details.zones = Some(zones.iter().map(part).collect());
                        "zoned"
                    }
                };
                details.distribution = Some(name.to_owned());
            }
        }
        details
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::LoadFigures;
    use serde_json::{Value, json};

    fn of(spec: &Value) -> LoadDetails {
        LoadDetails::of(&Load::stored(LoadFigures::from(&LoadSpec::default()), spec.clone()))
    }

    /// As stored by a run.
    fn spec() -> Value {
        json!({
            "align": null, "arrival": {"closed": {"queue_depth": 2, "rate_max": null, "think_time": "1 ms"}},
            "blocks": [{"share": "100 %", "size": "4 KiB"}], "buffered": false,
            "content": {"compressible": "0 %", "duplicate": "0 %"}, "cool_down": "0 ns", "drop_caches": false,
            "duration": "30 ms", "files": 1, "fill": "auto", "flush": {"every": 4, "how": "fua"}, "hang_limit": "1 min",
            "name": null, "objective": null, "pattern": {"random": {"zipf": {"theta_milli": 1200}}}, "pause": "0 ns",
            "reads": "50 %", "size": "4 MiB", "start": "0 B", "steady_state": null, "threads": 1, "trials": 1,
            "trims": "10 %", "verify": false, "volume": null, "warm_up": "0 ns"
        })
    }

    #[test]
    fn a_stored_specification_tells_what_no_table_has() {
        let details = of(&spec());
        assert_eq!((details.distribution.as_deref(), details.zipf_theta), (Some("zipf"), Some(1.2)));
        assert_eq!((details.flush_every_writes, details.flush_method.as_deref()), (Some(4), Some("fua")));
        assert_eq!((details.think_time_ns, details.trim_ratio), (Some(1_000_000), Some(0.1)));
        assert_eq!((details.block_mix, details.stride_bytes), (None, None));
        assert_eq!(details.duration_ns, Some(30_000_000));
    }

    #[test]
    fn open_loops_strides_and_mixes_are_read_too() {
        let mut spec = spec();
        spec["arrival"] = json!({"poisson": {"rate": "1000 IOPS"}});
        spec["pattern"] = json!({"sequential": {"stride": "1 MiB"}});
        spec["blocks"] = json!([{"share": "90 %", "size": "4 KiB"}, {"share": "10 %", "size": "64 KiB"}]);
        let details = of(&spec);
        assert_eq!((details.distribution, details.think_time_ns, details.stride_bytes), (None, None, Some(1 << 20)));
        let parts = [BlockInMix { bytes: 4_096, ratio: 0.9 }, BlockInMix { bytes: 65_536, ratio: 0.1 }];
        assert_eq!(details.block_mix, Some(parts.to_vec()));
    }

    #[test]
    fn what_is_no_specification_tells_nothing() {
        assert_eq!(of(&json!({"trace": "x"})), LoadDetails::default());
        assert_eq!(of(&Value::Null), LoadDetails::default());
    }
}
