//! Variations of a load and its storage: each differs from the baseline in one property.
//!
//! [`variations`] changes a load's depth, threads, files, block size, alignment and caching. On a model it also
//! changes the layout of the volume and the virtual machine; on a target the engine. Nothing here is particular to a
//! hunt: whoever looks for a better setup can measure or predict each [`Variation`] and compare.
//!
//! ```
//! use loadline_hunt::{Baseline, BaselineStorage, FactorRequest, variations};
//! use loadline_workload::LoadSpec;
//!
//! let load = LoadSpec::default();
//! let storage = BaselineStorage::Target { is_directory: false, engine: None };
//! let wanted = FactorRequest::parse_all(&["depth=8:32"])?;
//! let found = variations(&Baseline { load: &load, storage }, &wanted)?;
//! let settings: Vec<&str> = found.variations.iter().map(|one| one.to.as_str()).collect();
//! assert_eq!(settings, ["8", "32"]);
//! # Ok::<(), loadline_hunt::VaryError>(())
//! ```

use crate::factor::{Factor, IoEngine};
use crate::plan::SkippedSetting;
use loadline_catalog::Environment;
use loadline_disk::{HostCache, Layout};
use loadline_prediction::{PredictionError, most_plausible};
use loadline_units::Bytes;
use loadline_workload::{Arrival, BlockShare, LoadSpec, Pattern, SpecError};
use std::fmt::Display;
use std::str::FromStr;

/// Length of a stripe's pieces where the volume had no stripe before.
const INTERLEAVE_DEFAULT: Bytes = Bytes::kib(256);

/// The load around which everything is varied, and what it runs on.
#[derive(Debug, Clone, Copy)]
pub struct Baseline<'a> {
    /// The load.
    pub load: &'a LoadSpec,
    /// What it runs on.
    pub storage: BaselineStorage<'a>,
}

/// What the baseline runs on.
#[derive(Debug, Clone, Copy)]
pub enum BaselineStorage<'a> {
    /// Storage that exists: its layout and machine cannot be varied.
    Target {
        /// Whether it is a directory, in which test files are made.
        is_directory: bool,
        /// The engine that submits the requests; `None`: the best that the machine allows.
        engine: Option<IoEngine>,
    },
    /// A volume of an environment, modelled: it has neither files nor an engine.
    Model {
        /// The environment.
        environment: &'a Environment,
        /// Name of the volume.
        volume: &'a str,
    },
}

/// The baseline with one property changed.
#[derive(Debug, Clone)]
pub struct Variation {
    /// Which property.
    pub factor: Factor,
    /// Its setting in the baseline, in words.
    pub from: String,
    /// Its setting here, in words.
    pub to: String,
    /// The load, changed or not.
    pub load: LoadSpec,
    /// The engine, where that is what changed.
    pub engine: Option<IoEngine>,
    /// The whole environment, where its layout or machine changed.
    pub environment: Option<Environment>,
}

/// A factor to vary, with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorRequest {
    /// Which factor.
    pub factor: Factor,
    /// Settings as text; empty for the usual ones.
    pub settings: Vec<String>,
}

impl FactorRequest {
    /// Reads "depth" and "depth=8:64:128". A text that follows settings and names no factor is one more of them, as in
    /// "interleave=16KiB", "64KiB".
    ///
    /// # Errors
    /// [`VaryError::UnknownFactor`], or [`VaryError::FactorTwice`].
    pub fn parse_all<S: AsRef<str>>(texts: &[S]) -> Result<Vec<Self>, VaryError> {
        let mut all: Vec<Self> = Vec::new();
        let settings_of = |text: &str| -> Vec<String> {
            text.split(':').filter(|setting| !setting.is_empty()).map(str::to_owned).collect()
        };
        for text in texts {
            let text = text.as_ref();
            let continued = |before: &&mut Self| {
                !before.settings.is_empty() && !text.contains('=') && Factor::named(text).is_none()
            };
            if let Some(before) = all.last_mut().filter(continued) {
                before.settings.extend(settings_of(text));
                continue;
            }
            let (name, settings) = text.split_once('=').unwrap_or((text, ""));
            let factor = Factor::named(name).ok_or_else(|| VaryError::UnknownFactor { name: name.to_owned() })?;
            if all.iter().any(|one| one.factor == factor) {
                return Err(VaryError::FactorTwice { factor });
            }
            all.push(Self { factor, settings: settings_of(settings) });
        }
        Ok(all)
    }
}

/// Why variations that were asked for by name cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum VaryError {
    /// There is no factor of this name.
    #[error("{name}: there is no such factor; there are {}", Factor::ALL.map(Factor::name).join(", "))]
    UnknownFactor {
        /// As it was written.
        name: String,
    },
    /// A factor was named twice.
    #[error("{0} is named twice: give all its settings at once, as in {0}=A:B", factor.name())]
    FactorTwice {
        /// Which one.
        factor: Factor,
    },
    /// A factor, or one of its settings, does not fit the baseline.
    #[error("{}: {obstacle}", factor.name())]
    Impossible {
        /// Which factor.
        factor: Factor,
        /// Why.
        obstacle: Obstacle,
    },
    /// None of the factor's usual settings fits.
    #[error("{}: no other setting fits this cell; name one, as in FACTOR=SETTING", factor.name())]
    NothingFits {
        /// Which factor.
        factor: Factor,
    },
}

/// Why a factor, or one of its settings, cannot be varied around a baseline.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says what it means")]
pub enum Obstacle {
    #[error("the cell is an open loop, which has no depth; hunt around a closed one")]
    OpenLoop,
    #[error("files are made in a directory, and the target is none")]
    NoDirectory,
    #[error("the cell mixes block sizes; hunt around one with a single size")]
    MixedBlocks,
    #[error("a sequential load has its offsets one after the other; hunt around a random one")]
    Sequential,
    #[error("loadline did not make this storage and cannot make it anew; vary it on a model of it")]
    RealStorage,
    #[error("{volume} is one disk of a volume; hunt on the volume itself")]
    OneDisk { volume: String },
    #[error("the volume is no stripe, and has no interleave")]
    NoStripe,
    #[error("a layout has at least 1 disk")]
    NoDisk,
    #[error("the volume has mirrors, and a number of disks does not say how; the settings are stripe and mirror")]
    MirrorsUncounted,
    #[error("{disks} disks do not make pairs")]
    OddDisks { disks: u32 },
    #[error("this machine is what it is; vary it on a model of it")]
    RealMachine,
    #[error("the environment has no VM, so none bounds the disks")]
    NoVm,
    #[error("the only setting is none: the disks without the VM's limits")]
    OnlyWithoutVm,
    // Such a cache would answer as fast as the model can count.
    #[error("without the VM nothing bounds what the host's cache answers; name the setting, vm=none, all the same")]
    UnboundedCache,
    #[error("a model has no engine; hunt on a target")]
    ModelWithoutEngine,
    #[error("{text:?} is no engine; there are {}", IoEngine::ALL.map(IoEngine::name).join(", "))]
    UnknownEngine { text: String },
    #[error("a model has no page cache; hunt on a target")]
    ModelWithoutPageCache,
    #[error("the only other setting is {setting}")]
    OnlySetting { setting: &'static str },
    #[error("{text:?} is no setting of {}", factor.name())]
    UnknownSetting { factor: Factor, text: String },
    #[error("no usual setting of {} is left to try", factor.name())]
    NoneLeft { factor: Factor },
    #[error("is how the cell is already")]
    Unchanged,
    #[error(transparent)]
    Load(#[from] SpecError),
    #[error(transparent)]
    Prediction(#[from] PredictionError),
    /// One setting of several.
    #[error("{setting}: {obstacle}")]
    Setting { setting: String, obstacle: Box<Obstacle> },
}

/// The variations around a baseline, and those that cannot be made.
#[derive(Debug, Default)]
pub struct Variations {
    /// In the order asked for.
    pub variations: Vec<Variation>,
    /// Usual settings that do not fit, with the reasons.
    pub skipped: Vec<SkippedSetting>,
    /// Factors that the storage does not have, whichever were asked for.
    pub absent: Vec<Factor>,
    /// Factors that cannot be varied around this baseline, whichever were asked for.
    pub fixed: Vec<SkippedSetting>,
}

/// Every variation of the factors asked for; of all factors that can be varied here where `wanted` is empty.
///
/// # Errors
/// [`VaryError`] where something asked for by name cannot be varied here.
pub fn variations(baseline: &Baseline<'_>, wanted: &[FactorRequest]) -> Result<Variations, VaryError> {
    let fixed = fixed_factors(baseline);
    let mut all = Variations { absent: absent_factors(baseline), fixed, ..Variations::default() };
    if wanted.is_empty() {
        for factor in Factor::ALL {
            match of_factor(baseline, &FactorRequest { factor, settings: Vec::new() }) {
                Ok(one) => all.add(one),
                Err(obstacle) => {
                    all.skipped.push(SkippedSetting { factor, to: None, because: obstacle.to_string() });
                }
            }
        }
        return Ok(all);
    }
    for request in wanted {
        let factor = request.factor;
        let found = of_factor(baseline, request).map_err(|obstacle| VaryError::Impossible { factor, obstacle })?;
        if found.variations.is_empty() {
            return Err(VaryError::NothingFits { factor });
        }
        all.add(found);
    }
    Ok(all)
}

impl Variations {
    fn add(&mut self, other: Self) {
        self.variations.extend(other.variations);
        self.skipped.extend(other.skipped);
    }
}

impl<'a> Baseline<'a> {
    const fn is_modelled(&self) -> bool {
        matches!(self.storage, BaselineStorage::Model { .. })
    }

    const fn environment(&self) -> Option<&'a Environment> {
        match self.storage {
            BaselineStorage::Model { environment, .. } => Some(environment),
            BaselineStorage::Target { .. } => None,
        }
    }

    /// The environment, to be changed, and the place of the baseline's volume in it.
    fn volume(&self) -> Result<(Environment, usize), Obstacle> {
        let BaselineStorage::Model { environment, volume } = self.storage else { return Err(Obstacle::RealStorage) };
        let index = environment.volumes.iter().position(|one| one.name == volume);
        let index = index.ok_or_else(|| Obstacle::OneDisk { volume: volume.to_owned() })?;
        Ok((environment.clone(), index))
    }
}

/// A model has no files, no engine and no page cache. It has an interleave only where its volume is a stripe.
fn absent_factors(baseline: &Baseline<'_>) -> Vec<Factor> {
    let of_model = [Factor::Files, Factor::Engine, Factor::Direct];
    let mut all = if baseline.is_modelled() { of_model.to_vec() } else { Vec::new() };
    let layout = baseline.volume().map(|(environment, index)| environment.volumes[index].layout);
    let is_striped = |layout: Layout| matches!(layout, Layout::Stripe { .. } | Layout::StripeOfMirrors { .. });
    if layout.is_ok_and(|layout| !is_striped(layout)) {
        all.push(Factor::Interleave);
    }
    all
}

/// The factors of which no usual setting fits here.
fn fixed_factors(baseline: &Baseline<'_>) -> Vec<SkippedSetting> {
    let why = |factor: Factor| match of_factor(baseline, &FactorRequest { factor, settings: Vec::new() }) {
        Ok(found) if !found.variations.is_empty() => None,
        Ok(found) => Some(
            found
                .skipped
                .into_iter()
                .next()
                .map_or_else(|| Obstacle::NoneLeft { factor }.to_string(), |one| one.because),
        ),
        Err(obstacle) => Some(obstacle.to_string()),
    };
    Factor::ALL
        .into_iter()
        .filter_map(|factor| Some(SkippedSetting { factor, to: None, because: why(factor)? }))
        .collect()
}

fn of_factor(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Variations, Obstacle> {
    let made = match request.factor {
        Factor::Depth => depth(baseline, request)?,
        Factor::Threads => counts(baseline, request, baseline.load.threads, |load, threads| load.threads = threads)?,
        Factor::Files => files(baseline, request)?,
        Factor::Block => block(baseline, request)?,
        Factor::Alignment => alignment(baseline, request)?,
        Factor::Interleave => interleave(baseline, request)?,
        Factor::Layout => layout(baseline, request)?,
        Factor::Vm => vm(baseline, request)?,
        Factor::Engine => engine(baseline, request)?,
        Factor::Direct => direct(baseline, request)?,
    };
    let mut all = Variations::default();
    for variation in made {
        match check(baseline, &variation) {
            Ok(()) => all.variations.push(variation),
            // A usual setting that does not fit is left out; one that was named is refused.
            Err(obstacle) if request.settings.is_empty() => {
                let because = obstacle.to_string();
                all.skipped.push(SkippedSetting { factor: request.factor, to: Some(variation.to), because });
            }
            Err(obstacle) => {
                return Err(Obstacle::Setting { setting: variation.to, obstacle: Box::new(obstacle) });
            }
        }
    }
    Ok(all)
}

fn check(baseline: &Baseline<'_>, variation: &Variation) -> Result<(), Obstacle> {
    if variation.from == variation.to {
        return Err(Obstacle::Unchanged);
    }
    variation.load.check()?;
    if let BaselineStorage::Model { environment, volume } = baseline.storage {
        let environment = variation.environment.as_ref().unwrap_or(environment);
        loadline_prediction::check(&most_plausible(environment), volume, &variation.load)?;
    }
    Ok(())
}

fn plain(factor: Factor, from: &dyn Display, to: &dyn Display, load: LoadSpec) -> Variation {
    Variation { factor, from: from.to_string(), to: to.to_string(), load, engine: None, environment: None }
}

/// The settings asked for, or else the usual ones.
fn settings<T: FromStr + Copy>(request: &FactorRequest, usual: &[T]) -> Result<Vec<T>, Obstacle> {
    if request.settings.is_empty() {
        return Ok(usual.to_vec());
    }
    let unknown = |text: &String| Obstacle::UnknownSetting { factor: request.factor, text: text.clone() };
    let read = |text: &String| text.parse().map_err(|_| unknown(text));
    request.settings.iter().map(read).collect()
}

fn counts(
    baseline: &Baseline<'_>,
    request: &FactorRequest,
    now: u32,
    set: impl Fn(&mut LoadSpec, u32),
) -> Result<Vec<Variation>, Obstacle> {
    let usual = [now.saturating_mul(2), now.saturating_mul(4)];
    let varied = |count: u32| {
        let mut load = baseline.load.clone();
        set(&mut load, count);
        plain(request.factor, &now, &count, load)
    };
    Ok(settings(request, &usual)?.into_iter().map(varied).collect())
}

fn depth(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    let Arrival::Closed { queue_depth, .. } = baseline.load.arrival else {
        return Err(Obstacle::OpenLoop);
    };
    counts(baseline, request, queue_depth, |load, depth| {
        if let Arrival::Closed { queue_depth, .. } = &mut load.arrival {
            *queue_depth = depth;
        }
    })
}

fn files(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    if !matches!(baseline.storage, BaselineStorage::Target { is_directory: true, .. }) {
        return Err(Obstacle::NoDirectory);
    }
    let now = baseline.load.files;
    let usual = if now == 1 { [4] } else { [1] };
    let varied = |files: u32| plain(Factor::Files, &now, &files, LoadSpec { files, ..baseline.load.clone() });
    Ok(settings(request, &usual)?.into_iter().map(varied).collect())
}

fn block(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    let [BlockShare { size: now, share }] = *baseline.load.blocks.as_slice() else {
        return Err(Obstacle::MixedBlocks);
    };
    let usual = [Bytes::new(now.get() / 4), now * 4];
    let varied = |size: Bytes| {
        let load = LoadSpec { blocks: vec![BlockShare { size, share }], ..baseline.load.clone() };
        plain(Factor::Block, &now, &size, load)
    };
    Ok(settings(request, &usual)?.into_iter().map(varied).collect())
}

fn alignment(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    if !matches!(baseline.load.pattern, Pattern::Random(_)) {
        return Err(Obstacle::Sequential);
    }
    let now = baseline.load.alignment();
    let usual: Vec<Bytes> = [Bytes::kib(4), Bytes::kib(64), Bytes::mib(1)].into_iter().filter(|a| *a > now).collect();
    let varied =
        |align: Bytes| plain(Factor::Alignment, &now, &align, LoadSpec { align: Some(align), ..baseline.load.clone() });
    Ok(settings(request, &usual)?.into_iter().map(varied).collect())
}

fn with_environment(
    baseline: &Baseline<'_>,
    factor: Factor,
    from: String,
    to: String,
    environment: Environment,
) -> Variation {
    Variation { factor, from, to, load: baseline.load.clone(), engine: None, environment: Some(environment) }
}

fn interleave(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    let (environment, index) = baseline.volume()?;
    let Layout::Stripe { columns, interleave: now } = environment.volumes[index].layout else {
        return Err(Obstacle::NoStripe);
    };
    let usual = [Bytes::new(now.get() / 4), now * 4];
    let varied = |interleave: Bytes| {
        let mut environment = environment.clone();
        environment.volumes[index].layout = Layout::Stripe { columns, interleave };
        with_environment(baseline, Factor::Interleave, now.to_string(), interleave.to_string(), environment)
    };
    Ok(settings(request, &usual)?.into_iter().map(varied).collect())
}

/// Another arrangement of a volume's disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrangement {
    /// So many disks side by side.
    Disks(u32),
    /// The disks that there are, side by side.
    Striped,
    /// The disks that there are, in pairs that hold the same; of a single disk, it and one more.
    Mirrored,
}

impl FromStr for Arrangement {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "stripe" => Ok(Self::Striped),
            "mirror" => Ok(Self::Mirrored),
            count => count.parse().map(Self::Disks).map_err(|_| ()),
        }
    }
}

fn layout(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    let (environment, index) = baseline.volume()?;
    let volume = &environment.volumes[index];
    let now = volume.disks.len() as u32;
    let count = |disks: u32| if disks == 1 { "1 disk".to_owned() } else { format!("{disks} disks") };
    let (piece, from) = match volume.layout {
        Layout::Single => (INTERLEAVE_DEFAULT, count(now)),
        Layout::Stripe { interleave, .. } => (interleave, count(now)),
        Layout::Mirror { .. } => (INTERLEAVE_DEFAULT, format!("{}, mirrored", count(now))),
        Layout::StripeOfMirrors { interleave, .. } => (interleave, format!("{}, mirrored", count(now))),
    };
    let is_mirrored = matches!(volume.layout, Layout::Mirror { .. } | Layout::StripeOfMirrors { .. });
    let usual = match now {
        _ if is_mirrored => vec![Arrangement::Striped],
        1 => vec![Arrangement::Disks(2), Arrangement::Disks(4)],
        _ => vec![Arrangement::Disks(now / 2), Arrangement::Disks(now * 2)],
    };
    let side_by_side = |disks: u32| match disks {
        0 => Err(Obstacle::NoDisk),
        1 => Ok((1, Layout::Single, count(1))),
        _ => Ok((disks, Layout::Stripe { columns: disks, interleave: piece }, count(disks))),
    };
    let arranged = |arrangement: Arrangement| match arrangement {
        Arrangement::Disks(_) if is_mirrored => Err(Obstacle::MirrorsUncounted),
        Arrangement::Disks(disks) => side_by_side(disks),
        Arrangement::Striped => side_by_side(now),
        Arrangement::Mirrored => match now {
            1 | 2 => Ok((2, Layout::Mirror { copies: 2 }, format!("{}, mirrored", count(2)))),
            disks if disks % 2 == 1 => Err(Obstacle::OddDisks { disks }),
            _ => {
                let layout = Layout::StripeOfMirrors { columns: now / 2, copies: 2, interleave: piece };
                Ok((now, layout, format!("{}, mirrored", count(now))))
            }
        },
    };
    let varied = |arrangement: Arrangement| {
        let (disks, layout, to) = arranged(arrangement)?;
        let mut environment = environment.clone();
        let volume = &mut environment.volumes[index];
        volume.disks = volume.disks.iter().cycle().take(disks as usize).cloned().collect();
        volume.layout = layout;
        Ok(with_environment(baseline, Factor::Layout, from.clone(), to, environment))
    };
    settings(request, &usual)?.into_iter().map(varied).collect()
}

fn vm(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    let environment = baseline.environment().ok_or(Obstacle::RealMachine)?;
    let figures = environment.vm.as_ref().ok_or(Obstacle::NoVm)?;
    if request.settings.iter().any(|setting| setting != "none") {
        return Err(Obstacle::OnlyWithoutVm);
    }
    let cached = environment.volumes.iter().any(|volume| volume.host_cache.mode != HostCache::None);
    if cached && request.settings.is_empty() {
        return Err(Obstacle::UnboundedCache);
    }
    let mut without = environment.clone();
    without.vm = None;
    Ok(vec![with_environment(baseline, Factor::Vm, figures.name.clone(), "none".into(), without)])
}

fn engine(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    let BaselineStorage::Target { engine: now, .. } = baseline.storage else {
        return Err(Obstacle::ModelWithoutEngine);
    };
    let chosen: Vec<IoEngine> = if request.settings.is_empty() {
        // Automatic is io_uring wherever the machine allows it.
        let own = now.unwrap_or(IoEngine::IoUring);
        IoEngine::ALL.into_iter().filter(|engine| *engine != own).collect()
    } else {
        let find = |text: &String| IoEngine::named(text).ok_or_else(|| Obstacle::UnknownEngine { text: text.clone() });
        request.settings.iter().map(find).collect::<Result<_, Obstacle>>()?
    };
    let from = now.map_or("auto", IoEngine::name);
    let varied = |to: IoEngine| Variation {
        engine: Some(to),
        ..plain(Factor::Engine, &from, &to.name(), baseline.load.clone())
    };
    Ok(chosen.into_iter().map(varied).collect())
}

fn direct(baseline: &Baseline<'_>, request: &FactorRequest) -> Result<Vec<Variation>, Obstacle> {
    if baseline.is_modelled() {
        return Err(Obstacle::ModelWithoutPageCache);
    }
    let words = |buffered: bool| if buffered { "buffered" } else { "direct" };
    let (now, other) = (baseline.load.buffered, !baseline.load.buffered);
    if request.settings.iter().any(|s| s != words(other)) {
        return Err(Obstacle::OnlySetting { setting: words(other) });
    }
    let load = LoadSpec { buffered: other, ..baseline.load.clone() };
    Ok(vec![plain(Factor::Direct, &words(now), &words(other), load)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_catalog::{Catalog, environment_text};
    use loadline_units::Ratio;

    fn pool() -> Environment {
        Environment::parse(environment_text("pool-4").unwrap(), "pool-4", &Catalog::builtin()).unwrap()
    }
    fn typed(words: &[&str]) -> Result<Vec<(String, String)>, String> {
        let pool = pool();
        let load = LoadSpec { size: Some(Bytes::gib(1)), ..LoadSpec::default() };
        let storage = BaselineStorage::Model { environment: &pool, volume: "data" };
        let wanted = FactorRequest::parse_all(words).map_err(|error| error.to_string())?;
        let all = variations(&Baseline { load: &load, storage }, &wanted).map_err(|error| error.to_string())?;
        Ok(all.variations.into_iter().map(|one| (one.factor.name().to_owned(), one.to)).collect())
    }

    #[test]
    fn usual_settings_lie_on_either_side() {
        let pairs = typed(&["interleave", "depth"]).unwrap();
        let texts: Vec<String> = pairs.iter().map(|(f, to)| format!("{f} {to}")).collect();
        assert_eq!(texts, ["interleave 64 KiB", "interleave 1 MiB", "depth 2", "depth 4"]);
    }

    #[test]
    fn settings_can_be_named() {
        assert_eq!(typed(&["depth=8:32"]).unwrap().len(), 2);
        assert!(typed(&["depth=deep"]).unwrap_err().contains("no setting of depth"));
        assert!(typed(&["depth=1"]).unwrap_err().contains("already"));
        assert!(typed(&["speed"]).unwrap_err().contains("no such factor"));
    }

    #[test]
    fn commas_between_settings_are_understood() {
        assert_eq!(typed(&["interleave=16KiB", "64KiB", "1 MiB", "depth=8"]).unwrap().len(), 4);
        assert!(typed(&["interleave", "64KiB"]).unwrap_err().contains("no such factor"));
    }

    #[test]
    fn disks_can_be_mirrored_and_counted() {
        let words =
            |settings: &str| typed(&[settings]).map(|all| all.into_iter().map(|(_, to)| to).collect::<Vec<_>>());
        assert_eq!(words("layout=mirror:2").unwrap(), ["4 disks, mirrored", "2 disks"]);
        assert!(words("layout=stripe").unwrap_err().contains("already"));
        assert!(words("layout=0").unwrap_err().contains("at least 1 disk"));
        assert!(words("layout=pyramid").unwrap_err().contains("no setting of layout"));
    }

    #[test]
    fn an_impossible_factor_is_refused_by_name_and_skipped_otherwise() {
        assert!(typed(&["engine"]).unwrap_err().contains("a model has no engine"));
        let load =
            LoadSpec { blocks: vec![BlockShare { size: Bytes::new(512), share: Ratio::ONE }], ..LoadSpec::default() };
        let storage = BaselineStorage::Target { is_directory: false, engine: None };
        let left_out = variations(&Baseline { load: &load, storage }, &[]).unwrap().skipped;
        let told = |factor| left_out.iter().find(|left: &&SkippedSetting| left.factor == factor).unwrap();
        assert!(told(Factor::Files).because.contains("the target is none") && told(Factor::Files).to.is_none());
        assert!(told(Factor::Block).to.as_deref() == Some("128 B"), "{left_out:?}");
        let all = typed(&[]).unwrap();
        assert!(all.iter().any(|(f, _)| f == "layout") && all.iter().all(|(f, _)| f != "engine"), "{all:?}");
    }
}
