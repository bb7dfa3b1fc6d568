//! What differs between two sides apart from their figures: each is a possible reason for a difference.

use super::Side;
use super::comparison::Note;
use crate::summary::{how, is_emulated};
use crate::trials::trials_used;
use crate::words::listed;
use loadline_record::{CellRecord, Clock, ImportedFrom, RunHeader, RunStatus, TargetKind, VolumeFacts};

/// Trials of a measurement on either side that decide between most pairs.
pub const TRIALS_TO_DECIDE: u32 = 5;

/// Every note about `other` against `baseline`, whose matched cells are `pairs`.
pub(super) fn notes(baseline: &Side<'_>, other: &Side<'_>, pairs: &[(&CellRecord, &CellRecord)]) -> Vec<Note> {
    let (a, b) = (&baseline.run.header, &other.run.header);
    let mut found = Notes(Vec::new());
    // What keeps everything from being decided comes before what may be a reason.
    let once = |cell: &CellRecord| trials_used(cell).len() == 1;
    if a.clock == Clock::Real && b.clock == Clock::Real && pairs.iter().any(|(a, b)| once(a) || once(b)) {
        let all = pairs.iter().all(|(a, b)| once(a) || once(b));
        let loads = if all { "Each load was" } else { "Some loads were" };
        found.push(
            "one-trial",
            format!(
                "{loads} measured once, in one of the runs or in both: one trial does not show how much trials differ by chance, so little \
                 can be decided. {TRIALS_TO_DECIDE} trials before a change and as many after it decide."
            ),
        );
    }
    if a.id == b.id && baseline.volume == other.volume {
        found.push("same-run", "It is the baseline itself.".to_owned());
    }
    if a.clock != b.clock {
        let name = |header: &RunHeader| how(None, &header.verb, header.clock);
        found.push(
            "clock",
            format!(
                "The baseline was {}, this was {}: a difference may be the model's, not the storage's.",
                name(a),
                name(b)
            ),
        );
    }
    if a.clock == b.clock {
        let tool = |header: &RunHeader| {
            let from = header.imported.as_ref();
            Some(from.map_or_else(|| "loadline".to_owned(), ImportedFrom::tool_and_version))
        };
        found.differs("tool", "The tool that measured", tool(a), tool(b));
    }
    volumes(&mut found, baseline, other, pairs);
    let (from, to) = (&a.host, &b.host);
    let text = |value: &Option<String>| value.clone();
    let number = |value: Option<u64>| value.map(|v| v.to_string());
    found.differs("machine", "The machine", text(&from.hostname), text(&to.hostname));
    found.differs("cpu-model", "The CPU model", text(&from.cpu_model), text(&to.cpu_model));
    found.differs("cpus", "The number of CPUs", number(from.cpus.map(u64::from)), number(to.cpus.map(u64::from)));
    let size = |bytes: Option<u64>| bytes.map(crate::words::size);
    found.differs("memory", "The machine's memory", size(from.memory_bytes), size(to.memory_bytes));
    found.differs("virtualization", "The hypervisor", text(&from.virtualization), text(&to.virtualization));
    found.differs("kernel", "The kernel", text(&from.kernel), text(&to.kernel));
    found.differs("engine", "The engine", engines(pairs.iter().map(|p| p.0)), engines(pairs.iter().map(|p| p.1)));
    found.differs("version", "The version of loadline", Some(a.version.clone()), Some(b.version.clone()));
    let texts = |side: &Side<'_>| -> Vec<String> { side.run.header.plans.iter().map(|p| p.hash.clone()).collect() };
    if texts(baseline) != texts(other) {
        found.push("plan", "The plans are not the same text; only cells with the same load are compared.".to_owned());
    }
    let environment = |side: &Side<'_>| side.run.header.environment.as_ref().map(|e| (e.name.clone(), e.hash.clone()));
    match (environment(baseline), environment(other)) {
        (Some((a, _)), Some((b, _))) if a != b => {
            found.push("environment", format!("The environment differs: {a}, here {b}."));
        }
        (Some(a), Some(b)) if a != b => {
            found.push("environment", format!("The environment {} is not the same text.", a.0));
        }
        (a, b) if a.is_some() != b.is_some() => {
            found.push("environment", "Only one of them declares an environment.".to_owned());
        }
        _ => {}
    }
    for (side, name) in [(baseline, "The baseline"), (other, "This run")] {
        if side.run.status != RunStatus::Finished {
            let header = &side.run.header;
            let what = if is_emulated(&header.verb, header.clock) {
                "its emulation goes on, or was killed"
            } else {
                "trials or cells are missing"
            };
            found.push("incomplete", format!("{name} is not finished: {what}."));
        }
    }
    found.0
}

/// That intervals are not about what models are uncertain about.
pub(super) fn of_draws() -> Note {
    let text = "Intervals tell how well the most plausible draw of a prediction is known; what its model is uncertain about is the range \
                over its draws, and a verdict holds only where all draws bear it out.";
    Note { code: "draws".to_owned(), text: text.to_owned() }
}

struct Notes(Vec<Note>);

impl Notes {
    fn push(&mut self, code: &str, text: String) {
        self.0.push(Note { code: code.to_owned(), text });
    }
    /// What is known of one side alone is no difference.
    fn differs(&mut self, code: &str, what: &str, from: Option<String>, to: Option<String>) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.push(code, format!("{what} differs: {from}, here {to}."));
        }
    }
}

/// What is compared of a side, by the names of its volumes.
fn volumes_of<'a>(side: &Side<'a>) -> Vec<&'a VolumeFacts> {
    side.run.header.volumes.iter().filter(|v| side.volume.is_none_or(|name| v.name == name)).collect()
}

/// One volume against another, or those of one name.
fn volumes(found: &mut Notes, baseline: &Side<'_>, other: &Side<'_>, cells: &[(&CellRecord, &CellRecord)]) {
    let (from, to) = (volumes_of(baseline), volumes_of(other));
    let pairs: Vec<(&VolumeFacts, &VolumeFacts)> = match (from.as_slice(), to.as_slice()) {
        ([a], [b]) => vec![(*a, *b)],
        _ => from.iter().filter_map(|a| to.iter().find(|b| b.name == a.name).map(|b| (*a, *b))).collect(),
    };
    for (a, b) in &pairs {
        let of = |what: &str| if pairs.len() > 1 { format!("{what} of {}", a.name) } else { what.to_owned() };
        found.differs("target", &of("The target"), Some(a.place().to_owned()), Some(b.place().to_owned()));
        let spread = spread_over(a, b, cells);
        found.differs(
            "volume-size",
            &of("The size that the load spreads over"),
            spread.clone().map(|s| s.0),
            spread.map(|s| s.1),
        );
        let direct = |v: &VolumeFacts| Some(if v.direct { "past it" } else { "through it" }.to_owned());
        found.differs("page-cache", &of("The way past the page cache"), direct(a), direct(b));
        let system = |v: &VolumeFacts| v.file_system.as_ref().map(|f| f.kind.clone());
        found.differs("file-system", &of("The file system"), system(a), system(b));
        found.differs("device", &of("The device"), devices(a), devices(b));
    }
}

/// What a load that names nothing spreads over on a model, or half the volume where that is less (`docs/prediction.md`).
const OF_A_MODEL: u64 = 16 << 30;

/// What the load spreads over on either side, of the first cells that differ in it: what the load names, or where it names nothing all
/// of the volume, of a model [`OF_A_MODEL`]. A volume that is larger than that makes no difference.
fn spread_over(a: &VolumeFacts, b: &VolumeFacts, cells: &[(&CellRecord, &CellRecord)]) -> Option<(String, String)> {
    let all = |volume: &VolumeFacts| match volume.kind {
        TargetKind::Modelled => volume.size_bytes.map(|size| OF_A_MODEL.min(size / 2)),
        _ => volume.size_bytes,
    };
    let of = |cell: &CellRecord, volume: &VolumeFacts| cell.load.figures().size_bytes.or_else(|| all(volume));
    let own = cells.iter().filter(|(from, to)| from.volume == a.name && to.volume == b.name);
    let mut sizes = own.filter_map(|(from, to)| Some((of(from, a)?, of(to, b)?)));
    let (from, to) = sizes.find(|(from, to)| from != to)?;
    Some((crate::words::size(from), crate::words::size(to)))
}

/// Models of the devices, or how many there are where the kernel knows no model.
fn devices(volume: &VolumeFacts) -> Option<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for model in volume.devices.iter().filter_map(|device| device.model.as_deref()) {
        match counted.iter_mut().find(|(name, _)| *name == model) {
            Some((_, count)) => *count += 1,
            None => counted.push((model, 1)),
        }
    }
    let names: Vec<String> = counted
        .into_iter()
        .map(|(name, count)| if count == 1 { name.to_owned() } else { format!("{count} x {name}") })
        .collect();
    (!names.is_empty()).then(|| listed(&names))
}

/// Every engine that was used, with its options.
fn engines<'a>(cells: impl Iterator<Item = &'a CellRecord>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for trial in cells.flat_map(trials_used) {
        let options = if trial.engine.options.is_empty() {
            String::new()
        } else {
            format!(" ({})", trial.engine.options.join(", "))
        };
        let name = format!("{}{options}", trial.engine.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort();
    (!names.is_empty()).then(|| listed(&names))
}
