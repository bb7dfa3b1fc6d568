//! What the command says of an emulation: where it is reached, what happens to it, and what it did.

use crate::linux::emulation_fields;
use crate::output;
use crate::recommendations::{report_command, summarized};
use loadline_emulator::{Backing, Emulation, RefusalRemedy, Refused, Turns};
use loadline_nbd::export_uri::{ClientEncryption, ListenAddress};
use loadline_report::words::emulation::{LateExport, emulation_lines, unused_emulation_lines};
use loadline_report::{Column, Field, Table, VerdictLine};
use loadline_runs::emulation::{
    AttachedVolumes, EmulationEvent, EndedEmulation, ExportResult, LateAnswers, StoredEmulation, emulation_doubts,
};
use loadline_units::{Bytes, Duration};
use serde_json::Value as Json;
use std::path::PathBuf;

/// Where the emulation is reached.
pub(super) struct Open {
    pub(super) devices: Option<AttachedVolumes>,
    pub(super) addresses: Vec<ListenAddress>,
    pub(super) control: Option<PathBuf>,
}

/// Sizes that clients see otherwise, and disks that had to catch up.
pub(super) fn tell_notes(emulation: &Emulation) {
    for (name, asked, seen) in emulation.cut_short() {
        if !name.contains('/') {
            output::tell(&format!(
                "{name}: {asked} is no multiple of 512 B, in which disks count: clients see {seen}."
            ));
        }
    }
    for disk in emulation.caught_up() {
        output::tell(&format!(
            "{disk} had missed writes when the emulation that used this folder was killed: it was filled from its copy."
        ));
    }
}

/// Where each export is reached, and what else there is.
pub(super) fn tell_places(
    emulation: &Emulation,
    open: &Open,
    metrics: Option<String>,
    encryption: ClientEncryption,
    backing: &Backing,
) {
    for export in emulation.exports() {
        for address in &open.addresses {
            let (uri, size) = (address.uri(&export.name, encryption), Bytes::new(export.size));
            output::tell(&format!("  {uri}  {size}, {}", export.description));
        }
    }
    if let Some(devices) = &open.devices {
        crate::linux::attach::tell(devices);
    }
    output::tell(&match backing {
        Backing::Memory { max } => format!("  contents: in memory, up to {}", max.human()),
        Backing::Folder(path) => format!("  contents: in {}, kept for the next time", path.display()),
    });
    if let Some(path) = &open.control {
        output::tell(&format!("  faults: loadline fault {} ...", path.display()));
    }
    if let Some(url) = metrics {
        output::tell(&format!("  metrics: {url}"));
    }
}

/// An event, with the options that help.
pub(super) fn event_line(event: &EmulationEvent) -> String {
    match event {
        EmulationEvent::MemoryFull { max } => format!(
            "Contents fill the {max} of memory that they may take: writes fail with ENOSPC. --memory-max lets them take more, \
             --backing DIR keeps them in files."
        ),
        EmulationEvent::BackingFailed { cause } => format!(
            "The folder of --backing failed: {cause}. Clients get ENOSPC where it is full, and EIO otherwise: make room there, \
             or look at the device under it."
        ),
        EmulationEvent::TraceEnded { cause } => {
            format!("The trace ends here, and is written no more: {cause}. Clients are served as before.")
        }
        EmulationEvent::RecordNotKept { cause } => format!(
            "The record of what was done so far cannot be kept: {cause}. It is tried again, and at the end; --store FILE names \
             another place the next time."
        ),
        EmulationEvent::LateAnswers(late) => late_line(late),
    }
}

/// Answers that left too late, with what helps.
pub(super) fn late_line(late: &LateAnswers) -> String {
    let LateAnswers { export, late_p99, modelled_p99, turns } = late;
    let advice = match turns {
        Turns::RealTime => "give it more CPU or a slower disk",
        Turns::Short | Turns::AsGiven | Turns::Batch => {
            "give it more CPU or a slower disk, and where other programs want the processor the real-time class (as root, without \
             --no-haste and --spin)"
        }
    };
    format!(
        "{export}: answers leave late: p99 {} after the model's time, beside a modelled latency of p99 {}. What clients measure is \
         this machine rather than the disk; {advice}.",
        late_p99.human(),
        modelled_p99.human()
    )
}

/// A refused client, with the option that would let it in.
pub(super) fn refusal_line(refused: &Refused) -> String {
    let line = refused.to_string();
    match refused.remedy() {
        Some(RefusalRemedy::OfferTls) => {
            format!("{}; --tls-certificates offers it.", line.trim_end_matches('.'))
        }
        None => line,
    }
}

/// A span that is over, in whole seconds: the nearest number of them.
pub(super) fn spent(span: Duration) -> String {
    let second = Duration::from_s(1).as_ns();
    Duration::from_s((span.as_ns() + second / 2) / second).clock()
}

/// The figures of each export.
pub(super) fn summary(ended: &EndedEmulation) -> Table {
    let mut table = Table::new(&[
        Column::words("volume", "export"),
        Column::numbers("requests", "requests"),
        Column::numbers("over", "span_ns"),
        Column::numbers("IOPS", "iops"),
        Column::numbers("throughput", "bytes_per_s"),
        Column::numbers("p50", "latency_p50_ns"),
        Column::numbers("p99", "latency_p99_ns"),
        Column::numbers("late p50", "lateness_p50_ns"),
        Column::numbers("late p99", "lateness_p99_ns"),
        Column::numbers("errors", "errors"),
        Column::words("bound by", "bound_by"),
        Column::words("its time", "held"),
        Column::words("doubts", "doubts"),
    ]);
    for ExportResult { name, figures, account, series, .. } in ended.exports() {
        let (held, span) = (account.shares_of_series(series), account.span());
        let doubts = emulation_doubts(name, figures, account, &ended.figures.history);
        let doubts: Vec<&str> = doubts.iter().map(|doubt| doubt.code.name()).collect();
        let latency = figures.latency();
        let absent = || Field::both("-", Json::Null);
        let time = |span: Option<Duration>| span.map_or_else(absent, |span| Field::both(span.human(), span.as_ns()));
        table.push(vec![
            Field::text(name),
            Field::count(figures.requests()),
            time(Some(span).filter(|_| account.first.is_some())),
            figures.iops(span).map_or_else(absent, |iops| Field::both(emulation_fields::rate(iops), iops)),
            figures.bytes_per_s(span).map_or_else(absent, |rate| Field::both(format!("{:.1} MB/s", rate / 1e6), rate)),
            time(latency.quantile(0.5)),
            time(latency.quantile(0.99)),
            time(figures.lateness.quantile(0.5)),
            time(figures.lateness.quantile(0.99)),
            Field::count(figures.errors_total()),
            emulation_fields::bound_by(held.bound_by),
            emulation_fields::time_shares(&held.shares),
            Field::both(doubts.join(", "), doubts),
        ]);
    }
    table
}

/// What the volumes gave, what held them, and the command that shows more.
pub(super) fn verdict(ended: &EndedEmulation) -> Vec<VerdictLine> {
    let used = ended.record.as_deref().filter(|record| !record.cells.is_empty());
    let Some(record) = used else {
        return unused_emulation_lines("loadline help emulate");
    };
    let late = ended.late_answers();
    let late = late.first().map(|late| LateExport { export: &late.export, late_p99: late.late_p99 });
    let is_stored = matches!(ended.stored, Ok(StoredEmulation::Stored));
    let command = is_stored.then(|| report_command([ended.id.as_str()]));
    emulation_lines(summarized(record).verdict.as_ref(), late, command.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_took_the_nearest_number_of_seconds() {
        let told = |ms| spent(Duration::from_ms(ms));
        assert_eq!([0, 3_040, 25_499, 25_500].map(told), ["0 s", "3 s", "25 s", "26 s"]);
        assert_eq!(told(200_040), "3 min 20 s");
    }
}
