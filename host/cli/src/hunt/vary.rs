//! What a hunt varies: the settings of each factor around a cell, and why some cannot be.

use crate::failure::Usage;
use loadline_catalog::Environment;
use loadline_disk::{HostCache, Layout};
use loadline_engine::EngineChoice;
use loadline_hunt::{Factor, NotTried};
use loadline_units::Bytes;
use loadline_workload::{Arrival, BlockShare, LoadSpec, Pattern};
use std::fmt::Display;
use std::str::FromStr;

/// Length of a stripe's pieces where the volume had no stripe before.
const INTERLEAVE_DEFAULT: Bytes = Bytes::kib(256);

/// The cell around which everything is varied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// Its load.
    pub(crate) spec: &'a LoadSpec,
    /// Its environment and the volume in it, where it is modelled.
    pub(crate) environment: Option<(&'a Environment, &'a str)>,
    /// Whether the target is a directory, in which test files are made.
    pub(crate) directory: bool,
    /// The way to the device.
    pub(crate) engine: EngineChoice,
}

/// The cell with one thing changed.
#[derive(Debug, Clone)]
pub(crate) struct Variation {
    /// What.
    pub(crate) factor: Factor,
    /// As it is.
    pub(crate) from: String,
    /// As it becomes.
    pub(crate) to: String,
    /// The load.
    pub(crate) spec: LoadSpec,
    /// The way to the device, where that is what changes.
    pub(crate) engine: Option<EngineChoice>,
    /// The environment, where that is what changes.
    pub(crate) environment: Option<Environment>,
}

/// A factor to vary, with its settings; none for the usual ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// What.
    pub(crate) factor: Factor,
    /// Settings as typed.
    pub(crate) settings: Vec<String>,
}

/// Reads "depth", "depth=8:64:128"; what follows settings and is no factor is one more of them, as in "interleave=16KiB,64KiB".
///
/// # Errors
/// [`Usage`] for a factor that there is not, or one given twice.
pub(crate) fn asked(typed: &[String]) -> Result<Vec<Asked>, Usage> {
    let mut all: Vec<Asked> = Vec::new();
    for text in typed {
        let is_factor = |name: &str| Factor::ALL.into_iter().any(|f| f.name() == name);
        if let Some(before) =
            all.last_mut().filter(|a| !a.settings.is_empty() && !text.contains('=') && !is_factor(text))
        {
            before.settings.extend(text.split(':').filter(|s| !s.is_empty()).map(str::to_owned));
            continue;
        }
        let (name, settings) = text.split_once('=').unwrap_or((text, ""));
        let known = || Factor::ALL.map(Factor::name).join(", ");
        let factor = Factor::ALL
            .into_iter()
            .find(|f| f.name() == name)
            .ok_or_else(|| Usage(format!("--vary {name}: there is no such factor; there are {}", known())))?;
        if all.iter().any(|a| a.factor == factor) {
            return Err(Usage(format!("--vary names {name} twice: give all its settings at once, as in {name}=A:B")));
        }
        let settings = settings.split(':').filter(|s| !s.is_empty()).map(str::to_owned).collect();
        all.push(Asked { factor, settings });
    }
    Ok(all)
}

/// What is varied, and what is usual and cannot be here.
#[derive(Debug, Default)]
pub(crate) struct Varied {
    /// In the order asked for.
    pub(crate) variations: Vec<Variation>,
    /// With the reasons.
    pub(crate) not_tried: Vec<NotTried>,
    /// Factors that there is nothing of to vary, whichever were asked for.
    pub(crate) lacks: Vec<Factor>,
}

/// Every variation: of the factors asked for; of all that can be varied here, where none is.
///
/// # Errors
/// [`Usage`] where what was asked for by name cannot be varied here, with the reason.
pub(crate) fn variations(ground: &Ground<'_>, asked: &[Asked]) -> Result<Varied, Usage> {
    let mut all = Varied { lacks: lacks(ground), ..Varied::default() };
    if asked.is_empty() {
        for factor in Factor::ALL {
            match of_factor(ground, &Asked { factor, settings: Vec::new() }) {
                Ok(one) => all.add(one),
                Err(because) => all.not_tried.push(NotTried { factor, to: None, because }),
            }
        }
        return Ok(all);
    }
    for one in asked {
        let refused = |why: &str| Usage(format!("--vary {}: {why}", one.factor.name()));
        let found = of_factor(ground, one).map_err(|why| refused(&why))?;
        if found.variations.is_empty() {
            return Err(refused("no other setting fits this cell; name one, as in FACTOR=SETTING"));
        }
        all.add(found);
    }
    Ok(all)
}

impl Varied {
    fn add(&mut self, other: Self) {
        self.variations.extend(other.variations);
        self.not_tried.extend(other.not_tried);
    }
}

/// A model has neither files nor an engine nor a page cache, and pieces of a stripe only where its volume is one.
fn lacks(ground: &Ground<'_>) -> Vec<Factor> {
    let of_model = [Factor::Files, Factor::Engine, Factor::Direct];
    let mut all = if ground.environment.is_some() { of_model.to_vec() } else { Vec::new() };
    let layout = volume_of(ground).map(|(environment, index)| environment.volumes[index].layout);
    let is_striped = |layout: Layout| matches!(layout, Layout::Stripe { .. } | Layout::StripeOfMirrors { .. });
    if layout.is_ok_and(|layout| !is_striped(layout)) {
        all.push(Factor::Interleave);
    }
    all
}

/// Why a factor cannot be varied here.
type Reason = String;

fn of_factor(ground: &Ground<'_>, asked: &Asked) -> Result<Varied, Reason> {
    let made = match asked.factor {
        Factor::Depth => depth(ground, asked)?,
        Factor::Threads => counts(ground, asked, ground.spec.threads, |spec, threads| spec.threads = threads)?,
        Factor::Files => files(ground, asked)?,
        Factor::Block => block(ground, asked)?,
        Factor::Alignment => alignment(ground, asked)?,
        Factor::Interleave => interleave(ground, asked)?,
        Factor::Layout => layout(ground, asked)?,
        Factor::Vm => vm(ground, asked)?,
        Factor::Engine => engine(ground, asked)?,
        Factor::Direct => direct(ground, asked)?,
    };
    let mut all = Varied::default();
    for variation in made {
        match check(ground, &variation) {
            Ok(()) => all.variations.push(variation),
            // A usual setting that does not fit is left out; one that was typed is refused.
            Err(because) if asked.settings.is_empty() => {
                all.not_tried.push(NotTried { factor: asked.factor, to: Some(variation.to), because });
            }
            Err(why) => return Err(format!("{}: {why}", variation.to)),
        }
    }
    Ok(all)
}

fn check(ground: &Ground<'_>, variation: &Variation) -> Result<(), Reason> {
    if variation.from == variation.to {
        return Err("is how the cell is already".into());
    }
    variation.spec.check().map_err(|error| error.to_string())?;
    if let Some((environment, volume)) = ground.environment {
        let environment = variation.environment.as_ref().unwrap_or(environment);
        loadline_prediction::check(&model(environment), volume, &variation.spec).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The most plausible model of an environment.
pub(crate) fn model(environment: &Environment) -> loadline_prediction::Model {
    let mut one = loadline_prediction::models(environment, 1, 0, loadline_prediction::Limits::Delivered);
    one.remove(0)
}

fn plain(factor: Factor, from: &dyn Display, to: &dyn Display, spec: LoadSpec) -> Variation {
    Variation { factor, from: from.to_string(), to: to.to_string(), spec, engine: None, environment: None }
}

/// What was typed, or else the usual settings.
fn settings<T: FromStr + Copy>(asked: &Asked, usual: &[T]) -> Result<Vec<T>, Reason> {
    if asked.settings.is_empty() {
        return Ok(usual.to_vec());
    }
    let read = |text: &String| text.parse().map_err(|_| format!("{text:?} is no setting of {}", asked.factor.name()));
    asked.settings.iter().map(read).collect()
}

fn counts(
    ground: &Ground<'_>,
    asked: &Asked,
    now: u32,
    set: impl Fn(&mut LoadSpec, u32),
) -> Result<Vec<Variation>, Reason> {
    let usual = [now.saturating_mul(2), now.saturating_mul(4)];
    let varied = |count: u32| {
        let mut spec = ground.spec.clone();
        set(&mut spec, count);
        plain(asked.factor, &now, &count, spec)
    };
    Ok(settings(asked, &usual)?.into_iter().map(varied).collect())
}

fn depth(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    let Arrival::Closed { queue_depth, .. } = ground.spec.arrival else {
        return Err("the cell is an open loop, which has no depth; hunt around a closed one".into());
    };
    counts(ground, asked, queue_depth, |spec, depth| {
        if let Arrival::Closed { queue_depth, .. } = &mut spec.arrival {
            *queue_depth = depth;
        }
    })
}

fn files(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    if !ground.directory {
        return Err("files are made in a directory, and the target is none".into());
    }
    let now = ground.spec.files;
    let usual = if now == 1 { [4] } else { [1] };
    let varied = |files: u32| plain(Factor::Files, &now, &files, LoadSpec { files, ..ground.spec.clone() });
    Ok(settings(asked, &usual)?.into_iter().map(varied).collect())
}

fn block(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    let [BlockShare { size: now, share }] = *ground.spec.blocks.as_slice() else {
        return Err("the cell mixes block sizes; hunt around one with a single size".into());
    };
    let usual = [Bytes::new(now.get() / 4), now * 4];
    let varied = |size: Bytes| {
        let spec = LoadSpec { blocks: vec![BlockShare { size, share }], ..ground.spec.clone() };
        plain(Factor::Block, &now, &size, spec)
    };
    Ok(settings(asked, &usual)?.into_iter().map(varied).collect())
}

fn alignment(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    if !matches!(ground.spec.pattern, Pattern::Random(_)) {
        return Err("a sequential load has its offsets one after the other; hunt around a random one".into());
    }
    let now = ground.spec.alignment();
    let usual: Vec<Bytes> = [Bytes::kib(4), Bytes::kib(64), Bytes::mib(1)].into_iter().filter(|a| *a > now).collect();
    let varied =
        |align: Bytes| plain(Factor::Alignment, &now, &align, LoadSpec { align: Some(align), ..ground.spec.clone() });
    Ok(settings(asked, &usual)?.into_iter().map(varied).collect())
}

const NO_LAYOUT: &str =
    "loadline did not make this storage and cannot make it anew; vary it with --env FILE, on a model of it";

fn with_environment(
    ground: &Ground<'_>,
    factor: Factor,
    from: String,
    to: String,
    environment: Environment,
) -> Variation {
    Variation { factor, from, to, spec: ground.spec.clone(), engine: None, environment: Some(environment) }
}

/// The layout of the cell's volume, to be changed in a copy of its environment.
fn volume_of(ground: &Ground<'_>) -> Result<(Environment, usize), Reason> {
    let (environment, name) = ground.environment.ok_or_else(|| NO_LAYOUT.to_owned())?;
    let index = environment.volumes.iter().position(|v| v.name == name);
    let index = index.ok_or_else(|| format!("{name} is one disk of a volume; hunt on the volume itself"))?;
    Ok((environment.clone(), index))
}

fn interleave(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    let (environment, index) = volume_of(ground)?;
    let Layout::Stripe { columns, interleave: now } = environment.volumes[index].layout else {
        return Err("the volume is no stripe, and has no interleave".into());
    };
    let usual = [Bytes::new(now.get() / 4), now * 4];
    let varied = |interleave: Bytes| {
        let mut environment = environment.clone();
        environment.volumes[index].layout = Layout::Stripe { columns, interleave };
        with_environment(ground, Factor::Interleave, now.to_string(), interleave.to_string(), environment)
    };
    Ok(settings(asked, &usual)?.into_iter().map(varied).collect())
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

fn layout(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    let (environment, index) = volume_of(ground)?;
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
        0 => Err("a layout has at least 1 disk".to_owned()),
        1 => Ok((1, Layout::Single, count(1))),
        _ => Ok((disks, Layout::Stripe { columns: disks, interleave: piece }, count(disks))),
    };
    let arranged = |arrangement: Arrangement| match arrangement {
        Arrangement::Disks(_) if is_mirrored => {
            Err("the volume has mirrors, and a number of disks does not say how; the settings are stripe and mirror"
                .to_owned())
        }
        Arrangement::Disks(disks) => side_by_side(disks),
        Arrangement::Striped => side_by_side(now),
        Arrangement::Mirrored => match now {
            1 | 2 => Ok((2, Layout::Mirror { copies: 2 }, format!("{}, mirrored", count(2)))),
            odd if odd % 2 == 1 => Err(format!("{odd} disks do not make pairs")),
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
        Ok(with_environment(ground, Factor::Layout, from.clone(), to, environment))
    };
    settings(asked, &usual)?.into_iter().map(varied).collect()
}

fn vm(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    let Some((environment, _)) = ground.environment else {
        return Err("this machine is what it is; vary it with --env FILE, on a model of it".into());
    };
    let Some(figures) = &environment.vm else {
        return Err("the environment has no VM, so none bounds the disks".into());
    };
    if asked.settings.iter().any(|s| s != "none") {
        return Err("the only setting is none: the disks without the VM's limits".into());
    }
    let cached = environment.volumes.iter().any(|v| v.host_cache.mode != HostCache::None);
    if cached && asked.settings.is_empty() {
        // Such a cache would answer as fast as the model can count.
        return Err(
            "without the VM nothing bounds what the host's cache answers; name the setting, vm=none, all the same"
                .into(),
        );
    }
    let mut without = environment.clone();
    without.vm = None;
    Ok(vec![with_environment(ground, Factor::Vm, figures.name.clone(), "none".into(), without)])
}

const ENGINES: [(&str, EngineChoice); 3] =
    [("io_uring", EngineChoice::IoUring), ("aio", EngineChoice::Aio), ("threads", EngineChoice::Threads)];

fn engine(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    if ground.environment.is_some() {
        return Err("a model has no engine; hunt on a target".into());
    }
    let name = |choice: EngineChoice| ENGINES.iter().find(|(_, c)| *c == choice).map_or("auto", |(name, _)| name);
    let chosen: Vec<(&str, EngineChoice)> = if asked.settings.is_empty() {
        // Automatic is io_uring wherever the machine allows it.
        let own = if ground.engine == EngineChoice::Auto { EngineChoice::IoUring } else { ground.engine };
        ENGINES.into_iter().filter(|(_, choice)| *choice != own).collect()
    } else {
        let find = |text: &String| {
            let found = ENGINES.into_iter().find(|(name, _)| name == text);
            found.ok_or_else(|| format!("{text:?} is no engine; there are io_uring, aio and threads"))
        };
        asked.settings.iter().map(find).collect::<Result<_, Reason>>()?
    };
    let from = name(ground.engine);
    let varied = |(to, choice): (&str, EngineChoice)| Variation {
        engine: Some(choice),
        ..plain(Factor::Engine, &from, &to, ground.spec.clone())
    };
    Ok(chosen.into_iter().map(varied).collect())
}

fn direct(ground: &Ground<'_>, asked: &Asked) -> Result<Vec<Variation>, Reason> {
    if ground.environment.is_some() {
        return Err("a model has no page cache; hunt on a target".into());
    }
    let words = |buffered: bool| if buffered { "buffered" } else { "direct" };
    let (now, other) = (ground.spec.buffered, !ground.spec.buffered);
    if asked.settings.iter().any(|s| s != words(other)) {
        return Err(format!("the only other setting is {}", words(other)));
    }
    let spec = LoadSpec { buffered: other, ..ground.spec.clone() };
    Ok(vec![plain(Factor::Direct, &words(now), &words(other), spec)])
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
        let spec = LoadSpec { size: Some(Bytes::gib(1)), ..LoadSpec::default() };
        let ground =
            Ground { spec: &spec, environment: Some((&pool, "data")), directory: false, engine: EngineChoice::Auto };
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let all = variations(&ground, &asked(&words).map_err(|u| u.0)?).map_err(|u| u.0)?;
        Ok(all.variations.into_iter().map(|v| (v.factor.name().to_owned(), v.to)).collect())
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
    fn what_cannot_be_varied_here_is_refused_with_the_reason_or_left_out_where_nothing_was_named() {
        assert!(typed(&["engine"]).unwrap_err().contains("a model has no engine"));
        let ground = Ground {
            spec: &LoadSpec {
                blocks: vec![BlockShare { size: Bytes::new(512), share: Ratio::ONE }],
                ..LoadSpec::default()
            },
            environment: None,
            directory: false,
            engine: EngineChoice::Auto,
        };
        let left_out = variations(&ground, &[]).unwrap().not_tried;
        let told = |factor| left_out.iter().find(|left: &&NotTried| left.factor == factor).unwrap();
        assert!(told(Factor::Files).because.contains("the target is none") && told(Factor::Files).to.is_none());
        assert!(told(Factor::Block).to.as_deref() == Some("128 B"), "{left_out:?}");
        let all = typed(&[]).unwrap();
        assert!(all.iter().any(|(f, _)| f == "layout") && all.iter().all(|(f, _)| f != "engine"), "{all:?}");
    }
}
