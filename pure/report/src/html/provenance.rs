//! The provenance of figures: machine, volumes, devices, plan and environment texts.

use super::{Escaped, Run, clock_word};
use crate::figures::{self, MISSING, plain};
use crate::{put, rows};
use loadline_record::{DeviceFacts, ImportedFile, ImportedFrom, PlanText, TargetKind, VolumeFacts};
use loadline_units::Bytes;

/// Machine, volumes, provenance and texts.
pub(crate) fn provenance(out: &mut String, run: &Run<'_>) {
    let (info, level) = (&run.summary.run, run.level + 1);
    let host = &info.host;
    let seconds: f64 = run.views.iter().map(|v| v.summary.cpu.user_s + v.summary.cpu.system_s).sum();
    put!(out, "<div class=\"cards\">\n<div class=\"card\"><h{level}>Run</h{level}>\n");
    let mut engines: Vec<String> = Vec::new();
    for trial in run.record.cells.iter().flat_map(|c| &c.trials) {
        let options = trial.engine.options.join(", ");
        let options = if options.is_empty() { String::new() } else { format!(" with {options}") };
        let text = format!("{}{options}: {}", trial.engine.name, trial.engine.reason);
        if !engines.contains(&text) {
            engines.push(text);
        }
    }
    let mut made = vec![
        ("id", Some(info.id.clone())),
        ("made by", Some(format!("loadline {} {}", info.verb, info.version))),
        ("started", Some(info.started.clone())),
        ("clock", Some(clock_word(info))),
        ("engine", (!engines.is_empty()).then(|| engines.join("; "))),
    ];
    match &info.imported {
        Some(from) => made.extend([("imported from", Some(files(from))), ("how it was read", notes(from))]),
        None => made.push(("seed", Some(info.seed.to_string()))),
    }
    let seconds = seconds.is_finite().then(|| format!("{} s", figures::decimal(seconds, 3)));
    made.push(("CPU time of the load threads", seconds));
    list(out, &made);
    put!(out, "</div>\n<div class=\"card\"><h{level}>Machine</h{level}>\n");
    list(
        out,
        &[
            ("name", host.hostname.clone()),
            ("system", host.os.clone()),
            ("kernel", host.kernel.clone()),
            ("CPU", host.cpu_model.clone()),
            ("CPUs", host.cpus.map(|n| figures::count(u64::from(n)))),
            ("memory", host.memory_bytes.map(|b| Bytes::new(b).human())),
            ("virtualization", host.virtualization.clone()),
            ("clock source", host.clock_source.clone()),
        ],
    );
    out.push_str("</div>\n");
    for volume in &info.volumes {
        put!(out, "<div class=\"card\"><h{level}>Volume {}</h{level}>\n", Escaped(plain(&volume.name)));
        list(out, &volume_facts(volume));
        for device in &volume.devices {
            put!(out, "<p class=\"dev\">Device {}</p>\n", Escaped(plain(&device.name)));
            list(out, &device_facts(device));
        }
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n");
    for plan in &info.plan {
        text(out, "Plan", plan);
    }
    if let Some(environment) = &info.environment {
        text(out, "Environment", environment);
    }
}

fn list(out: &mut String, facts: &[(&str, Option<String>)]) {
    out.push_str("<dl>");
    for (name, fact) in facts {
        let fact = fact.as_deref().map_or_else(|| MISSING.to_owned(), plain);
        put!(out, "<dt>{name}</dt><dd>{}</dd>", Escaped(fact));
    }
    out.push_str("</dl>\n");
}

fn volume_facts(volume: &VolumeFacts) -> Vec<(&'static str, Option<String>)> {
    let kind = match volume.kind {
        TargetKind::Null => "nothing: measures the tool",
        TargetKind::TestFile => "test file, removed afterwards",
        TargetKind::File => "file",
        TargetKind::BlockDevice => "block device",
        TargetKind::Nbd => "export of an NBD server; what the server caches cannot be seen from here",
        TargetKind::Modelled => "model of a volume: nothing was measured",
    };
    let why = volume.direct_reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let direct = match (volume.kind, volume.direct) {
        (TargetKind::Null, _) => "no I/O at all".to_owned(),
        (TargetKind::Nbd, _) => "past this machine's page cache".to_owned(),
        (_, true) => "yes".to_owned(),
        (_, false) => format!("no{why}"),
    };
    let mut facts = vec![
        ("target", Some(volume.target.clone())),
        ("kind", Some(kind.to_owned())),
        ("path", volume.path.clone()),
        ("size", Some(format!("{} ({})", rows::size(volume), volume.size_reason))),
        ("direct I/O", Some(direct)),
    ];
    if let Some(system) = &volume.file_system {
        let free = system.free_bytes.map_or_else(String::new, |b| format!(", {} free", Bytes::new(b).human()));
        let over = system.beneath.as_ref().map_or_else(String::new, |kind| format!(" over {kind}"));
        facts.push((
            "file system",
            Some(format!("{}{over} from {} on {}{free}", system.kind, system.source, system.mount_point)),
        ));
        facts.push(("mount options", Some(system.options.clone())));
    }
    if let Some(extents) = &volume.extents {
        let mut parts = Vec::new();
        for (bytes, name) in [
            (extents.written_bytes, "written"),
            (extents.unwritten_bytes, "unwritten"),
            (extents.hole_bytes, "holes"),
            (extents.encoded_bytes, "encoded"),
            (extents.shared_bytes, "shared"),
        ] {
            if bytes > 0 {
                parts.push(format!("{} {name}", Bytes::new(bytes).human()));
            }
        }
        facts.push(("extents", Some(format!("{} in {} extents", parts.join(", "), figures::count(extents.count)))));
    }
    facts
}

fn device_facts(device: &DeviceFacts) -> Vec<(&'static str, Option<String>)> {
    let bytes = |value: Option<u64>| value.map(|b| Bytes::new(b).human());
    let yes_no = |value: Option<bool>| value.map(|b| if b { "yes" } else { "no" }.to_owned());
    let mut facts = vec![
        ("model", device.model.clone()),
        ("serial", device.serial.clone()),
        ("size", bytes(device.size_bytes)),
        ("rotational", yes_no(device.rotational)),
        ("scheduler", device.scheduler.clone()),
        ("queue", device.queue_requests.map(|n| format!("{} requests", figures::count(n)))),
        ("largest request", bytes(device.request_bytes_max)),
        ("pieces of memory in a request", device.request_segments_max.map(figures::count)),
        ("logical block", bytes(device.logical_block_bytes)),
        ("physical block", bytes(device.physical_block_bytes)),
        ("write cache", device.write_cache.clone()),
        ("backing file", device.backing_file.clone()),
        ("file system of the backing file", device.backing_file_system.clone()),
        ("backing file past the page cache", yes_no(device.backing_direct)),
        ("polled I/O", yes_no(device.polled)),
    ];
    // Missing facts of a device get no line.
    facts.retain(|fact| fact.1.is_some());
    facts
}

fn text(out: &mut String, what: &str, plan: &PlanText) {
    put!(
        out,
        "<details class=\"text\"><summary>{what} {} <span class=\"code\">{}</span></summary>\n<pre><code>{}</code></pre>\n</details>\n",
        Escaped(plain(&plan.name)),
        Escaped(plain(&plan.hash)),
        Escaped(&plan.text)
    );
}

/// The files of an import with the fingerprints of their texts.
fn files(from: &ImportedFrom) -> String {
    let one = |file: &ImportedFile| format!("{} ({})", plain(&file.name), plain(&file.hash));
    from.files.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Notes about it, if there are any.
fn notes(from: &ImportedFrom) -> Option<String> {
    (!from.notes.is_empty()).then(|| from.notes.iter().map(|note| plain(note)).collect::<Vec<_>>().join("; "))
}
