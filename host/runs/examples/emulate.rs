//! Emulates a small disk, reads from it as any client does, and prints what its time went to.
//!
//! `cargo run -p loadline-runs --example emulate`

use loadline_catalog::{Catalog, Environment};
use loadline_engine::{Access, Control, EngineOptions, Need, Volume, run_trial};
use loadline_nbd::export_uri::{ClientEncryption, ListenAddress};
use loadline_runs::emulation::{EmulationOptions, EmulationRun};
use loadline_units::{Bytes, Duration};
use loadline_workload::{Arrival, LoadSpec};
use std::error::Error;
use std::fmt::Write as _;

/// A disk that answers in 0.1 ms, and no more than 2,000 requests per second.
const ENVIRONMENT: &str = r#"
schema = 1
name = "small"
[[volume.data.disks]]
size = "1 GiB"
limit = { iops = "2000 IOPS" }
[volume.data.disks.latency.read]
median = "100 us"
p99 = "200 us"
"#;

/// Emulates, reads for half a second, and gives a line for each volume.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let environment = Environment::parse(ENVIRONMENT, "small", &Catalog::builtin())?;
    let mut run = EmulationRun::begin(&environment, EmulationOptions::in_memory(1, Bytes::mib(64)))?;
    // Without this nothing is stored.
    run.keep_in(&folder.path().join("runs.db"))?;
    let socket = folder.path().join("small.sock");
    run.emulation_mut().listen_unix(&socket)?;

    let uri = ListenAddress::Unix(socket).uri("data", ClientEncryption::None);
    let load = LoadSpec {
        arrival: Arrival::Closed { queue_depth: 8, rate_max: None, think_time: Duration::ZERO },
        size: Some(Bytes::mib(16)),
        warm_up: Duration::ZERO,
        duration: Duration::from_ms(500),
        ..LoadSpec::default()
    };
    let need = Need { files: 1, ..Need::default() };
    let mut volume = Volume::open("data", &uri, &need, &Access { read_only: true, ..Access::default() })?;
    run_trial(&mut volume, &load, 0, 1, EngineOptions::default(), &Control::new())?;
    drop(volume);
    let (_view, events) = run.observe();
    assert!(events.is_empty(), "{events:?}");

    let ended = run.end();
    let mut text = String::new();
    for export in ended.exports() {
        let bound_by = export.account.shares_of_series(export.series).bound_by;
        let bound_by = bound_by.map_or("nothing", |cause| cause.name());
        writeln!(text, "{}: {} requests, bound by {bound_by}", export.name, export.account.requests)?;
    }
    writeln!(text, "stored: {:?}", ended.stored?)?;
    ended.result?;
    Ok(text)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
