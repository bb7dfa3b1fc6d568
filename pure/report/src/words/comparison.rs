//! Sentences of comparisons.

use loadline_analysis::{
    AskedApart, DeviceModel, Differing, DifferingBytes, EngineWithOptions, InCommon, NoFigure, Note, SideSetting,
    TRIALS_TO_DECIDE, ThrottledSide, Undecided, Unpriced, Whose,
};
use loadline_record::Rate;
use loadline_units::words::{listed, number, percent, size, throughput};

/// What differs between two sides, in a sentence or two.
#[must_use]
pub fn note(note: &Note) -> String {
    match note {
        Note::OneTrial { all_loads } => format!(
            "{} measured once, in one of the runs or in both: one trial does not show how much trials differ by chance, so little can be \
             decided. {TRIALS_TO_DECIDE} trials before a change and as many after it decide.",
            if *all_loads { "Each load was" } else { "Some loads were" }
        ),
        Note::SameRun => "It is the baseline itself.".to_owned(),
        Note::Clock(Differing { baseline, other, .. }) => format!(
            "The baseline was {baseline}, this was {other}: a difference may be the model's, not the storage's."
        ),
        Note::Tool(of) => differs("The tool that measured", of, String::clone),
        Note::Target(of) => differs("The target", of, String::clone),
        Note::VolumeSize(of) => bytes_differ("The size that the load spreads over", of),
        Note::PageCache(of) => {
            let way = |past: &bool| if *past { "past it" } else { "through it" }.to_owned();
            differs("The way past the page cache", of, way)
        }
        Note::FileSystem(of) => differs("The file system", of, String::clone),
        Note::Device(of) => differs("The device", of, |models| devices(models)),
        Note::Machine(of) => differs("The machine", of, String::clone),
        Note::CpuModel(of) => differs("The CPU model", of, String::clone),
        Note::Cpus(of) => differs("The number of CPUs", of, u32::to_string),
        Note::Memory(of) => bytes_differ("The machine's memory", of),
        Note::Virtualization(of) => differs("The hypervisor", of, String::clone),
        Note::Kernel(of) => differs("The kernel", of, String::clone),
        Note::Engine(of) => differs("The engine", of, |all| engines(all)),
        Note::Version(of) => differs("The version of loadline", of, String::clone),
        Note::Plan => "The plans are not the same text; only cells with the same load are compared.".to_owned(),
        Note::Environment(Differing { baseline: Some(a), other: Some(b), .. }) if a == b => {
            format!("The environment {a} is not the same text.")
        }
        Note::Environment(Differing { baseline: Some(a), other: Some(b), .. }) => {
            format!("The environment differs: {a}, here {b}.")
        }
        Note::Environment(_) => "Only one of them declares an environment.".to_owned(),
        Note::Incomplete { whose, emulated } => {
            let name = if *whose == Whose::Baseline { "The baseline" } else { "This run" };
            let what =
                if *emulated { "its emulation goes on, or was killed" } else { "trials or cells are missing" };
            format!("{name} is not finished: {what}.")
        }
        Note::Draws => "Intervals tell how well the most plausible draw of a prediction is known; what its model is uncertain about is the \
                        range over its draws, and a verdict holds only where all draws bear it out."
            .to_owned(),
        Note::Asked(apart) => asked(apart),
        Note::Price { whose, reasons } => {
            let name = if *whose == Whose::Baseline { "The baseline" } else { "This" };
            let reasons: Vec<&str> = reasons.iter().map(unpriced).collect();
            format!("{name} has no price: {}.", reasons.join("; "))
        }
    }
}

fn differs<T>(what: &str, of: &Differing<T>, words: impl Fn(&T) -> String) -> String {
    let (from, to) = (words(&of.baseline), words(&of.other));
    format!("{what}{} differs: {from}, here {to}.", of_volume(of.volume.as_deref()))
}

fn bytes_differ(what: &str, of: &DifferingBytes) -> String {
    let (from, to) = (size(of.baseline_bytes), size(of.other_bytes));
    format!("{what}{} differs: {from}, here {to}.", of_volume(of.volume.as_deref()))
}

fn of_volume(volume: Option<&str>) -> String {
    volume.map(|name| format!(" of {name}")).unwrap_or_default()
}

/// "2 x hdd and ssd".
fn devices(models: &[DeviceModel]) -> String {
    let words = |DeviceModel { model, count }: &DeviceModel| match count {
        1 => model.clone(),
        several => format!("{several} x {model}"),
    };
    listed(&models.iter().map(words).collect::<Vec<_>>())
}

fn engines(all: &[EngineWithOptions]) -> String {
    let words = |EngineWithOptions { engine, options }: &EngineWithOptions| match options.as_slice() {
        [] => engine.clone(),
        options => format!("{engine} ({})", options.join(", ")),
    };
    let mut names: Vec<String> = all.iter().map(words).collect();
    names.sort();
    listed(&names)
}

fn asked(apart: &AskedApart) -> String {
    let each = |flushes: f64| format!("{:.0}", flushes * 1_000.0);
    let parts = [
        apart.read_share.map(|[from, to]| format!("{} reads, here {}", percent(from), percent(to))),
        apart.mean_bytes.map(|[from, to]| format!("{} on average, here {}", size(from as u64), size(to as u64))),
        apart.flushes_per_write.map(|[from, to]| format!("{} flushes for 1,000 writes, here {}", each(from), each(to))),
        apart
            .in_flight
            .map(|[from, to]| format!("{} requests outstanding on average, here {}", number(from), number(to))),
    ];
    format!(
        "The applications{} asked for different things: {}. A difference may be theirs, not the storage's.",
        of_volume(apart.volume.as_deref()),
        listed(&parts.into_iter().flatten().collect::<Vec<_>>())
    )
}

fn unpriced(reason: &Unpriced) -> &str {
    match reason {
        Unpriced::NotSold => "its disks are given in full, and nobody sells them",
        Unpriced::NotInCatalog { error } => error,
    }
}

/// Why nothing can be said of a ratio.
#[must_use]
pub fn undecided(why: Undecided) -> String {
    let text = match why {
        Undecided::NoFigure { baseline, other } => {
            let of = |side: &str, reason: Option<NoFigure>| Some(format!("{side} {}", no_figure(reason?)));
            let reasons = [of("the baseline", baseline), of("the other", other)];
            return reasons.into_iter().flatten().collect::<Vec<String>>().join("; ");
        }
        Undecided::EveryCellInDoubt => "every cell is in doubt",
        Undecided::NoRatio => "no cell has a ratio",
        Undecided::OtherWork => "the requests are of another kind, so the application had other work",
        Undecided::AskedMore => {
            "the application asked for more and waited longer: it had more to do, or the storage got slower"
        }
        Undecided::AskedLess => "the application asked for less and did not wait longer: it had less to do",
        Undecided::ErrorNotKnown => {
            "either side has one trial, and on one of them fewer than 10 of its seconds tell this figure: its error is not known; \
             more trials tell it, or longer ones"
        }
        Undecided::ManyLooks => {
            "different if it were looked at alone, but so many looks turn up as much by chance; fewer cells, or more trials, tell more"
        }
        Undecided::Narrowly => {
            "the interval leaves out no difference, but narrowly: more than 1 of 40 comparisons do so by chance; more trials, or longer \
             ones, tell more"
        }
        Undecided::WideInterval => {
            "the interval reaches from no difference to beyond the margin; more trials, or longer ones, make it narrower"
        }
        Undecided::DrawsApart => {
            "the draws overlap, and by what the models are uncertain about they may differ by more than the margin"
        }
        Undecided::DrawsDisagree { paired: true } => {
            "the draws do not agree: by what the models are uncertain about either may be ahead"
        }
        Undecided::DrawsDisagree { paired: false } => {
            "the draws overlap: by what the models are uncertain about either may be ahead"
        }
    };
    text.to_owned()
}

/// Completes "the baseline ...".
const fn no_figure(reason: NoFigure) -> &'static str {
    match reason {
        NoFigure::NoTrial => "has no trial",
        NoFigure::NoRequest => "completed no request in a trial",
        NoFigure::NotTold => "was measured by a tool that did not tell it",
        NoFigure::TooFew => "has too few requests beyond the percentile in a trial",
    }
}

/// The limits in files of the kernel that hold a side.
pub(crate) fn throttled(side: &ThrottledSide) -> String {
    let setting = |setting: &SideSetting| match setting {
        SideSetting::BeforeLoad(limit) => super::throttle::standing(limit),
        SideSetting::Watched(limit) => super::doubt::source_limit(limit),
    };
    let throttles = side.held_by.iter().map(super::throttle::throttle);
    let mut texts: Vec<String> = throttles.chain(side.settings.iter().map(setting)).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.join("; ")
}

/// "4,000 IOPS", or "250 MB/s".
pub(super) fn rate(rate: Rate) -> String {
    match rate {
        Rate::Iops(iops) => format!("{} IOPS", number(iops)),
        Rate::BytesPerS(bytes) => throughput(bytes),
    }
}

/// What several sides have in common.
pub(crate) fn in_common(shared: &InCommon) -> String {
    let InCommon::OneFigure { sides, reads, lowest, highest } = shared;
    let (lowest, highest) = (rate(*lowest), rate(*highest));
    let figure = if lowest == highest { lowest } else { format!("{lowest} to {highest}") };
    format!(
        "{} stop at {figure} on {} different disks: a link, a controller or a throttle that they share may hold them",
        if *reads { "reads" } else { "writes" },
        sides.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair<T>(baseline: T, other: T) -> Differing<T> {
        Differing { volume: None, baseline, other }
    }

    #[test]
    fn notes_say_what_differs_from_the_baseline() {
        let of = |models: &[(&str, usize)]| -> Vec<DeviceModel> {
            models.iter().map(|(model, count)| DeviceModel { model: (*model).to_owned(), count: *count }).collect()
        };
        let sizes = DifferingBytes { volume: Some("data".into()), baseline_bytes: 1 << 40, other_bytes: 16 << 30 };
        let environment = |baseline: Option<&str>, other: Option<&str>| {
            Note::Environment(pair(baseline.map(str::to_owned), other.map(str::to_owned)))
        };
        let asked = AskedApart {
            read_share: Some([1.0, 0.0]),
            mean_bytes: Some([4_096.0, 16_384.0]),
            flushes_per_write: Some([0.5, 0.25]),
            ..AskedApart::default()
        };
        for (given, said) in [
            (
                Note::Device(pair(of(&[("hdd", 1)]), of(&[("hdd", 2), ("ssd", 1)]))),
                "The device differs: hdd, here 2 x hdd and ssd.",
            ),
            (Note::VolumeSize(sizes), "The size that the load spreads over of data differs: 1.00 TiB, here 16.0 GiB."),
            (Note::PageCache(pair(true, false)), "The way past the page cache differs: past it, here through it."),
            (environment(Some("a"), Some("b")), "The environment differs: a, here b."),
            (environment(Some("a"), Some("a")), "The environment a is not the same text."),
            (environment(None, Some("a")), "Only one of them declares an environment."),
            (
                Note::Incomplete { whose: Whose::Other, emulated: true },
                "This run is not finished: its emulation goes on, or was killed.",
            ),
            (
                Note::Asked(asked),
                "The applications asked for different things: 100 % reads, here 0.0 %, 4.00 KiB on average, here 16.0 KiB and 500 flushes \
                 for 1,000 writes, here 250. A difference may be theirs, not the storage's.",
            ),
            (
                Note::Price { whose: Whose::Baseline, reasons: vec![Unpriced::NotSold] },
                "The baseline has no price: its disks are given in full, and nobody sells them.",
            ),
        ] {
            assert_eq!(note(&given), said);
        }
    }

    #[test]
    fn what_is_missing_is_said_of_either_side() {
        let both = Undecided::NoFigure { baseline: Some(NoFigure::NoTrial), other: Some(NoFigure::TooFew) };
        let said = "the baseline has no trial; the other has too few requests beyond the percentile in a trial";
        assert_eq!(undecided(both), said);
    }
}
