//! Options of a finished job that no plan has, set aside with what they mean for its figures.
//!
//! A job that is still to run is refused for them. One that has run has figures, which are true whatever they say here:
//! the load is put as near as it can be, and a sentence beside the figures says what is different.

use loadline_units::{Bytes, Ratio, SECTOR};
use loadline_workload::{BlockShare, Distribution, LoadSpec, Pattern};

/// Sizes of a `bsrange` that are put one by one.
const SIZES_MAX: u64 = 256;

/// Options that say nothing about a load that has run, unless they are looked at before.
const SAYS_NOTHING: [&str; 10] = [
    "verify",
    "do_verify",
    "experimental_verify",
    "random_generator",
    "latency_target",
    "latency_window",
    "latency_percentile",
    "latency_run",
    "steadystate",
    "ss",
];
/// The same by how they begin.
const BEGINNINGS: [&str; 5] = ["verify_", "steadystate_", "ss_", "iodepth_batch", "iodepth_low"];

/// What a job's options say beyond what a plan has.
#[derive(Debug, Default)]
pub(super) struct SetAside {
    /// The options that are left.
    pub(super) options: Vec<(String, String)>,
    /// What the others mean, in sentences without a full stop.
    pub(super) sentences: Vec<String>,
    /// How it verified, if it did.
    pub(super) verify: Option<String>,
    /// Whether reads and writes are reported as one.
    pub(super) is_unified: bool,
    /// Whether fio varied the depth to keep a latency.
    varies_depth: bool,
    /// Block sizes of a range.
    sizes: Vec<BlockShare>,
    /// A block that is no multiple of a sector.
    odd_block: Option<Bytes>,
    /// Which places it preferred.
    preferred: Option<Distribution>,
}

impl SetAside {
    /// Sets aside what no plan has. What cannot be read stays, for its refusal.
    pub(super) fn of(options: &[(String, String)]) -> Self {
        let mut aside = Self::default();
        for (key, value) in options {
            let (name, text) = (key.trim().to_ascii_lowercase(), value.trim());
            if !aside.take(&name, text) {
                aside.options.push((key.clone(), value.clone()));
            }
        }
        if let Some(how) = &aside.verify {
            aside.sentences.push(format!(
                "It checked what it read back (verify={how}): reading back is a job of its own here, \"read back\""
            ));
        }
        aside
    }

    /// Whether an option is set aside.
    fn take(&mut self, key: &str, value: &str) -> bool {
        match key {
            "verify" if !["0", "none", "null"].contains(&value) => self.verify = Some(value.to_owned()),
            "latency_target" if value != "0" => {
                self.varies_depth = true;
                self.sentences.push(format!(
                    "fio varied the depth to keep a latency (latency_target={value}): the depth is the one that it came to, and its figures are those of the whole search"
                ));
            }
            "unified_rw_reporting" => self.is_unified = !["0", "none"].contains(&value),
            "steadystate" | "ss" if value != "0" => self.sentences.push(format!(
                "fio ended it when its rate was steady ({key}={value}): the time is the one that this took"
            )),
            "bsrange" | "blocksize_range" => return self.range(value),
            "bs" | "blocksize" => return self.block(value),
            "iodepth_batch" | "iodepth_batch_submit" if value != "1" => self.batch("submitted", key, value),
            "iodepth_batch_complete_min" | "iodepth_batch_complete" | "iodepth_batch_complete_max" | "iodepth_low"
                if value != "1" =>
            {
                self.batch("taken in", key, value);
            }
            "random_distribution" => return self.distribution(value),
            _ => return SAYS_NOTHING.contains(&key) || BEGINNINGS.iter().any(|begin| key.starts_with(begin)),
        }
        true
    }

    fn batch(&mut self, how: &str, key: &str, value: &str) {
        self.sentences.push(format!(
            "Requests were {how} several at once ({key}={value}): fewer than the depth were outstanding"
        ));
    }

    /// A range of sizes: fio draws every multiple of the least alike (`get_next_buflen`).
    fn range(&mut self, value: &str) -> bool {
        let ends: Option<Vec<u64>> = value.split('-').map(size).collect();
        let Some([least, most]) = ends.as_deref() else { return false };
        let (least, most) = (*least, *most);
        if least == 0 || most < least || !least.is_multiple_of(SECTOR.get()) {
            return false;
        }
        let count = most / least;
        if !most.is_multiple_of(least) || count > SIZES_MAX {
            return false;
        }
        let whole = Ratio::ONE.as_ppm();
        let share = whole / count as u32;
        // The largest has what does not divide.
        let of = |index: u64| if index == count { whole - share * (count as u32 - 1) } else { share };
        self.sizes = (1..=count)
            .map(|index| BlockShare {
                size: Bytes::new(least * index),
                share: Ratio::ppm(of(index)).unwrap_or_default(),
            })
            .collect();
        true
    }

    /// A block that is no multiple of 512 bytes, as buffered jobs may have it.
    fn block(&mut self, value: &str) -> bool {
        let Some(bytes) = size(value).filter(|bytes| *bytes > 0 && !bytes.is_multiple_of(SECTOR.get())) else {
            return false;
        };
        let Some(whole) = bytes.checked_next_multiple_of(SECTOR.get()) else { return false };
        self.odd_block = Some(Bytes::new(bytes));
        // A multiple that is allowed, until the load has been read.
        self.options.push(("bs".to_owned(), whole.to_string()));
        true
    }

    /// Distributions besides `random` and `zipf`.
    fn distribution(&mut self, value: &str) -> bool {
        let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
        let told = format!("Which places it preferred (random_distribution={value}) is put here");
        match kind {
            "pareto" => {
                // fio's `pareto_next`: a share of 1 - h of the requests goes to the first h of the blocks.
                let share = rest.split(':').next().and_then(|h| h.parse::<f64>().ok());
                let Some(h) = share.filter(|h| (0.001..=0.999).contains(h)) else { return false };
                let blocks = h.min(1.0 - h);
                let ppm = |share: f64| Ratio::ppm((share * 1e6).round() as u32).unwrap_or_default();
                self.preferred = Some(Distribution::HotCold { requests: ppm(1.0 - blocks), blocks: ppm(blocks) });
                self.sentences.push(format!(
                    "{told} by one share: {:.1} % of the requests on {:.1} % of the blocks",
                    (1.0 - blocks) * 100.0,
                    blocks * 100.0
                ));
                true
            }
            "normal" | "gauss" | "zoned" | "zoned_abs" => {
                self.preferred = Some(Distribution::Uniform);
                self.sentences.push(format!("{told} as everywhere alike"));
                true
            }
            _ => false,
        }
    }

    /// The load with what was set aside, as far as a load can have it.
    pub(super) fn put_into(&self, spec: &mut LoadSpec) {
        if !self.sizes.is_empty() {
            spec.blocks.clone_from(&self.sizes);
        }
        if let (Some(size), [block]) = (self.odd_block, spec.blocks.as_mut_slice()) {
            block.size = size;
        }
        if let (Some(preferred), Pattern::Random(distribution)) = (&self.preferred, &mut spec.pattern) {
            *distribution = preferred.clone();
        }
    }

    /// The depth that fio came to, of a job whose depth it varied; `told` is what it reports.
    pub(super) fn depth(&self, told: Option<u64>) -> Option<u32> {
        told.filter(|depth| self.varies_depth && *depth > 0).and_then(|depth| u32::try_from(depth).ok())
    }
}

/// A plain size: `4k`, `2300`, `1m`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let factor = match text[end..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "ki" => 1 << 10,
        "m" | "mb" | "mi" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aside(options: &[(&str, &str)]) -> SetAside {
        let owned: Vec<(String, String)> = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        SetAside::of(&owned)
    }

    #[test]
    fn a_range_is_every_multiple_of_its_least_alike() {
        let range = aside(&[("bsrange", "4k-16k")]);
        let mut spec = LoadSpec::default();
        range.put_into(&mut spec);
        let sizes: Vec<u64> = spec.blocks.iter().map(|block| block.size.get()).collect();
        assert_eq!((sizes, spec.check()), (vec![4096, 8192, 12_288, 16_384], Ok(())));
        let three = aside(&[("bsrange", "512-1536")]);
        three.put_into(&mut spec);
        assert_eq!((spec.blocks.len(), spec.check()), (3, Ok(())), "thirds add up");
        for left in ["4k-6k", "4k", "0-4k", "512-1g", "100-200", "x-y"] {
            assert_eq!(aside(&[("bsrange", left)]).options.len(), 1, "{left}");
        }
    }

    #[test]
    fn a_pareto_distribution_has_its_one_share() {
        let preferred = |value: &str| aside(&[("random_distribution", value)]).preferred;
        let hot = |percent| Distribution::HotCold {
            requests: Ratio::percent(100 - percent),
            blocks: Ratio::percent(percent),
        };
        assert_eq!((preferred("pareto:0.2"), preferred("pareto:0.9:0.5")), (Some(hot(20)), Some(hot(10))));
        assert_eq!((preferred("pareto:7"), preferred("zipf:1.2")), (None, None));
    }

    #[test]
    fn what_asks_for_nothing_is_absent_and_says_nothing() {
        let nothing = [
            ("verify", "0"),
            ("verify_fatal", "0"),
            ("do_verify", "1"),
            ("random_generator", "lfsr"),
            ("iodepth_batch", "1"),
            ("latency_target", "0"),
            ("bs", "4k"),
        ];
        let aside = aside(&nothing);
        assert_eq!((aside.options.len(), aside.sentences.len(), aside.verify), (1, 0, None));
    }
}
