//! Which blocks a job asks, and in which order.

use super::super::Purpose;
use super::super::units;
use super::blocks::split_shares;
use super::{Job, Kind, base};
use loadline_load::{Distribution, LoadSpec, Pattern, Walk, Zone, ZoneGaps};
use loadline_units::{Bytes, Ratio};

/// Distributions of fio that are taken, for messages.
const DISTRIBUTIONS: &str =
    "random, zipf:THETA, pareto:H, normal:DEVIATION, zoned:REQUESTS/BLOCKS:... and zoned_abs:REQUESTS/SIZE:...";

impl Job<'_> {
    pub(super) fn pattern(&mut self, kind: &Kind, spec: &LoadSpec) -> Pattern {
        let map_off = self.flag("norandommap") == Some(true) || self.is_aligned_otherwise();
        let distribution = self.get("random_distribution");
        if !kind.random {
            if kind.is_mixed() {
                self.note(
                    "in rw=rw fio goes on with its reads and with its writes apart; here both go on from one place",
                );
            }
            return Pattern::Sequential { stride: None };
        }
        let milli = |text: &str, most: f64| {
            let value: f64 = text.parse().ok()?;
            let milli = value * 1e3;
            (value > 0.0 && value <= most && (milli - milli.round()).abs() < 1e-6).then(|| milli.round() as u32)
        };
        let chosen = match distribution.map(|s| s.value.split_once(':').unwrap_or((s.value.as_str(), ""))) {
            // fio asks for each block once before any comes again, as long as it can keep a map of them.
            None | Some(("random", "")) if !map_off && spec.blocks.len() == 1 => Some(Distribution::Permutation),
            None | Some(("random", "")) if self.cuts_blocks(kind) => Some(Distribution::Covering),
            None | Some(("random", "")) => Some(Distribution::Uniform),
            Some(("zipf", theta)) => milli(theta, 5.0).map(|theta_milli| Distribution::Zipf { theta_milli }),
            Some(("pareto", h)) => milli(h, 0.999).map(|h_milli| Distribution::Pareto { h_milli }),
            Some(("normal", deviation)) => whole_percent(deviation).map(|deviation| Distribution::Normal { deviation }),
            Some(("zoned", zones)) => zoned(zones),
            Some(("zoned_abs", zones)) => self.zoned_by_size(zones),
            Some(_) => None,
        };
        if let (None, Some(setting)) = (&chosen, distribution) {
            let message = format!(
                "random_distribution={}: loadline has {DISTRIBUTIONS} for reads and writes alike",
                setting.value
            );
            self.problem(setting.line, message);
        }
        Pattern::Random(chosen.unwrap_or(Distribution::Uniform))
    }

    /// "60/256k:40/768k": zones by their share of the requests and by their size, which make up that of the job.
    fn zoned_by_size(&self, text: &str) -> Option<Distribution> {
        let base = base(&self.section.settings);
        let size = units::bytes(&self.section.settings.get("size")?.value, base)?.get();
        let zones = split_shares_of_requests(text, |text| units::bytes(text, base).map(Bytes::get))?;
        let mut end = 0u64;
        let share_up_to = |bytes: u64| u32::try_from(u128::from(bytes) * 1_000_000 / u128::from(size.max(1))).ok();
        let mut all = Vec::new();
        for (requests, bytes) in zones {
            let begin = share_up_to(end)?;
            end = end.checked_add(bytes)?;
            all.push(Zone { requests, blocks: Ratio::ppm(share_up_to(end)?.checked_sub(begin)?)? });
        }
        let is_whole = end == size && all.iter().all(|zone| zone.blocks != Ratio::ZERO);
        is_whole.then_some(Distribution::Zoned { zones: all })
    }

    /// The share of a random job's requests that go on from the last.
    pub(super) fn continued(&mut self, spec: &LoadSpec, random: bool) -> Ratio {
        let share = |text: &str| text.parse::<u32>().ok().filter(|share| *share <= 100).map(Ratio::percent);
        let share = self.value("percentage_random", "a percentage for all requests, such as 30", share);
        let continued = share.map_or(Ratio::ZERO, Ratio::complement);
        if continued == Ratio::ZERO || !random {
            // Of a sequential job none is random.
            return Ratio::ZERO;
        }
        if spec.files > 1 {
            self.refuse("percentage_random", "and several files: fio goes on in each of them; leave one of them out");
        } else if self.names_file && spec.size.is_some() && self.purpose == Purpose::Run {
            self.note("percentage_random: what goes on turns to chance at the size; fio goes on to the end of the file, if that is larger");
        }
        continued
    }

    /// `zonemode=strided`: zones that are gone through, and gaps that are left out.
    pub(super) fn zones(&mut self, spec: &mut LoadSpec, random: bool) {
        let mode = self.section.settings.get("zonemode").map(|setting| setting.value.as_str());
        if mode != Some("strided") || self.purpose == Purpose::Reported {
            return;
        }
        let _ = self.get("zonemode");
        let (size, range) = (self.bytes("zonesize"), self.bytes("zonerange"));
        let skip = self.bytes("zoneskip").unwrap_or(Bytes::ZERO);
        let Some(size) = size.filter(|size| *size > Bytes::ZERO) else {
            self.refuse("zonemode", "goes from zone to zone, and zonesize does not say how long they are");
            return;
        };
        if random {
            let why = "in a random job fio draws within each zone, from a map of its own: loadline has zones of sequential jobs only";
            self.refuse("zonemode", why);
        } else if range.is_some_and(|range| range != size) {
            self.refuse(
                "zonerange",
                "fio moves more or less than a zone has before the next: write the same as zonesize",
            );
        } else if spec.files > 1 || (spec.threads > 1 && !spec.overlap) {
            self.refuse(
                "zonemode",
                "fio goes through the zones of each file: write one file by its name, and no nrfiles",
            );
        } else if spec.pattern != (Pattern::Sequential { stride: None }) {
            self.refuse("zonemode", "and rw=...:SKIP leave out blocks in two ways: write one of them");
        } else {
            let zones = ZoneGaps { size, skip };
            if self.names_file && spec.size.is_some() {
                self.note(
                    "zonemode: the zones turn at the size here; fio turns at the end of the file, if that is larger",
                );
            }
            spec.zones = Some(zones);
        }
    }

    /// What stands behind the colon of `rw=read:8k`: what fio leaves out after each request, or goes back.
    pub(super) fn way(&mut self, spec: &mut LoadSpec, kind: &Kind) {
        let Some((name, skip)) = &kind.skip else { return };
        if kind.random {
            self.refuse(
                "rw",
                &format!(
                    "fio draws a new place after {skip} requests only, each of which goes on from the last; loadline draws each: write \
                     rw={name}"
                ),
            );
            return;
        }
        let base = base(&self.section.settings);
        let (is_back, size) = skip.strip_prefix('-').map_or((false, skip.as_str()), |size| (true, size));
        let Some(skip) = units::bytes(size, base).filter(|skip| *skip > Bytes::ZERO) else {
            self.refuse(
                "rw",
                "behind the colon stands how much is left out after each request, such as 8k, or -8k to go back",
            );
            return;
        };
        let block = spec.block_max();
        let is_even = skip.get().is_multiple_of(block.get());
        let stride =
            if is_back { skip.saturating_sub(block) } else { Bytes::new(skip.get().saturating_add(block.get())) };
        if !is_even || spec.blocks.len() > 1 || stride == Bytes::ZERO {
            self.refuse(
                "rw",
                &format!(
                    "what is left out, or gone back, is a multiple of the one block size here ({block}), and goes back by two blocks at \
                     least: write such a one"
                ),
            );
            return;
        }
        if kind.is_mixed() {
            self.refuse("rw", &format!("fio goes on with its reads and with its writes apart; write rw={name}"));
        } else if spec.start > Bytes::ZERO && self.purpose == Purpose::Run {
            self.refuse("rw", "and offset: fio adds the offset twice when it turns; leave one of them out");
        } else if spec.files > spec.threads {
            self.refuse("rw", "and nrfiles: fio turns within each file; leave one of them out");
        } else if spec.size.is_some_and(|size| size < skip) {
            self.refuse("rw", "is more than the size: nothing is left to go on to");
        }
        if self.names_file && spec.size.is_some() && self.purpose == Purpose::Run {
            self.note(
                "rw=...:SKIP turns at the size here, until so much is moved; in a file or device that is larger than the size fio's job ends \
                 there: write number_ios for that",
            );
        }
        spec.pattern = Pattern::Sequential { stride: Some(stride) };
        spec.walk = if is_back { Walk::Back } else { Walk::Again };
    }

    /// A job of fio that leaves out blocks ends early where one of its requests ends at the end of the file.
    pub(super) fn end_of_strides(&mut self, spec: &mut LoadSpec, passes: u32) {
        let (Walk::Again, Pattern::Sequential { stride: Some(stride) }) = (spec.walk, &spec.pattern) else { return };
        let block = spec.block_max().get();
        let clones = if spec.overlap { 1 } else { u64::from(spec.threads) };
        let Some(size) = spec.size.map(|size| size.get() / clones) else {
            self.refuse(
                "rw",
                "fio ends such a job early if one of its requests ends at the end of the target: write size, or time_based and runtime",
            );
            return;
        };
        let count = size / block;
        let step = stride.get() / block;
        if count == 0 || !(count - 1).is_multiple_of(step) {
            return;
        }
        let moved = ((count - 1) / step + 1).saturating_mul(block);
        let once = Bytes::new(moved.saturating_mul(spec.threads.into()).saturating_mul(passes.into()));
        spec.volume = Some(spec.volume.map_or(once, |volume| volume.min(once)));
        self.note("the last of its requests ends at the end of the file: there the job ends, as in fio, with less than its size moved");
    }
}

/// Values behind shares of requests in percent and a slash: all shares together are the whole.
fn split_shares_of_requests<T>(text: &str, value: impl Fn(&str) -> Option<T>) -> Option<Vec<(Ratio, T)>> {
    let zone = |part: &str| {
        let (requests, of) = part.split_once('/')?;
        Some((whole_percent(requests)?, value(of)?))
    };
    let zones: Vec<(Ratio, T)> = text.split(':').map(zone).collect::<Option<_>>()?;
    let sum: u64 = zones.iter().map(|(requests, _)| u64::from(requests.as_ppm())).sum();
    (sum == u64::from(Ratio::ONE.as_ppm())).then_some(zones)
}

fn whole_percent(text: &str) -> Option<Ratio> {
    text.parse::<u32>().ok().filter(|share| *share <= 100).map(Ratio::percent)
}

/// "60/10:40/90": zones by their share of the requests and of the blocks.
fn zoned(text: &str) -> Option<Distribution> {
    let percent = |text: &str| text.parse::<u32>().ok().filter(|share| *share <= 100).map(Ratio::percent);
    let zones: Vec<Zone> =
        split_shares(text, percent)?.into_iter().map(|(requests, blocks)| Zone { requests, blocks }).collect();
    let requests: u64 = zones.iter().map(|zone| u64::from(zone.requests.as_ppm())).sum();
    let is_whole = requests == u64::from(Ratio::ONE.as_ppm()) && zones.iter().all(|zone| zone.blocks != Ratio::ZERO);
    is_whole.then_some(Distribution::Zoned { zones })
}
