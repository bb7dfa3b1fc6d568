//! `emulate`: the volumes and disks of an environment as NBD exports, until the user ends it.

use crate::arguments::Printing;
use crate::attach::{self, AttachBy, Attached};
use crate::catalog::{self, Own};
use crate::emulated::{self, Done, Emulated, Export};
use crate::environments;
use crate::failure::{Outcome, Usage};
use crate::fault;
use crate::interruption::Interruption;
use crate::keeping::Keeper;
use crate::output::{self, Column, Field, Table};
use crate::place::{Place, Secrecy};
use crate::refusals::Refusals;
use crate::screen::Screen;
use crate::troubles::Troubles;
use anyhow::Context;
use clap::Args;
use loadline_catalog::{Draw, Environment};
use loadline_disk::{BurstCredits, InitialState};
use loadline_emulation::{History, TimeAccount};
use loadline_emulator::{Backing, Emulation, EmulationSettings, RefusalRemedy, Refused, Tls, TraceSettings, Turns};
use loadline_prediction::{CreditsReading, CreditsWatch};
use loadline_record::RunStatus;
use loadline_runs::wall_clock::{UtcTime, fresh_seed, run_id, unix_s};
use loadline_units::{Bytes, Duration};
use serde_json::Value as Json;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration as Span;

/// Between two looks at whether the user wants an end.
const LOOK: Span = Span::from_millis(50);
/// Between two looks at whether answers leave too late.
const JUDGE: Span = Span::from_secs(10);

/// Between two looks at what is going on.
const SHOW: Span = Span::from_secs(1);
/// Memory for contents is taken from the system by so much.
const MEMORY_MIN: Bytes = Bytes::mib(2);
/// Bytes of writes that a disk's own cache holds by default.
const WRITE_CACHE: Bytes = Bytes::mib(16);

/// `emulate`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct EmulateArguments {
    /// The environment: a file, or the name of one that comes with loadline
    #[arg(value_name = "ENV", required_unless_present = "detach")]
    environment: Option<String>,
    /// Take clients on this unix socket; without --listen, by default one named after the environment in the user's folder
    /// for such things
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Take clients over TCP at this address, such as 127.0.0.1:10809; port 0 for any that is free
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Let --listen and --metrics be reached from other machines: whoever reaches them can read and write everything,
    /// unencrypted
    #[arg(long)]
    insecure: bool,
    /// Make every volume a block device, with its name in this empty folder; needs root
    #[arg(long, value_name = "DIR")]
    attach: Option<PathBuf>,
    /// How --attach does it: ublk, fuse (with loop devices), or auto, which is ublk where the kernel has it
    #[arg(long, value_name = "WAY", requires = "attach", default_value = "auto", hide_possible_values = true)]
    attach_by: AttachBy,
    /// Take down what an emulation attached to this folder left behind when it was killed, and end
    #[arg(long, value_name = "DIR", conflicts_with = "environment")]
    detach: Option<PathBuf>,
    /// Encrypt with the certificate in this folder (server-cert.pem, server-key.pem): over TCP always, on a unix socket where the
    /// client asks for it
    #[arg(long, value_name = "DIR")]
    tls_certificates: Option<PathBuf>,
    /// Let in only clients with a certificate that ca-cert.pem in the same folder signed
    #[arg(long, requires = "tls_certificates")]
    tls_verify_peer: bool,
    /// No longer served: --tls-certificates with --tls-verify-peer takes its place
    #[arg(long, value_name = "FILE", hide = true)]
    tls_psk: Option<PathBuf>,
    /// Where contents are kept: "memory", or a folder that is kept for the next time
    #[arg(long, value_name = "WHERE", default_value = "memory")]
    backing: String,
    /// Memory that contents may take; by default half of what is free
    #[arg(long, value_name = "SIZE")]
    memory_max: Option<Bytes>,
    /// Seed of every random choice; by default drawn anew and printed
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Record every request with its times in this file, which must not exist
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Take the commands of `loadline fault` on this unix socket; by default the NBD socket's name with ".control" after it, that of
    /// the default NBD socket where there is only --listen
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Tell OpenMetrics over HTTP at this address, such as 127.0.0.1:9100; port 0 for any that is free
    #[arg(long, value_name = "ADDR")]
    metrics: Option<String>,
    /// Writes that each disk's own cache may hold until they are flushed, and a power cut take; 0 B: all are durable at once
    #[arg(long, value_name = "SIZE", default_value_t = WRITE_CACHE)]
    write_cache: Bytes,
    /// Answer flushes and make nothing durable by them, as bad disks do: a power cut shows who relies on them
    #[arg(long)]
    lie_about_flush: bool,
    /// Watch the clock rather than sleep while an answer is due soon: less late, for a CPU of its own
    #[arg(long)]
    spin: bool,
    /// Credits of bursts at the beginning: full, empty, or apart for disks and the VM, as in disks=full,vm=empty
    #[arg(long, default_value = "full", value_name = "STATE")]
    bursts: BurstCredits,
    /// Wait for a turn on the processor as other programs do. By default the threads that take requests and deliver answers run as soon
    /// as they wake, in the real-time class where the system lets them
    #[arg(long)]
    no_haste: bool,
    /// Keep no record of what was done in the store
    #[arg(long)]
    no_record: bool,
    /// What to call the record; by default "application on" and the environment's name
    #[arg(long, value_parser = crate::arguments::name, conflicts_with = "no_record", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    own: Own,
    #[command(flatten)]
    printing: Printing,
}

/// Serves until Ctrl-C, SIGTERM or SIGHUP, then tells what was done.
pub(crate) fn emulate(
    arguments: &EmulateArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    if let Some(folder) = &arguments.detach {
        return attach::detach(folder);
    }
    let catalog = catalog::with_folder(arguments.own.catalog.as_deref())?;
    let asked = arguments.environment.as_deref().expect("an environment is required where nothing is detached");
    let environment = environments::read(asked, &catalog)?;
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let tls = tls(arguments)?;
    let address_of = |option: &str, typed: &Option<String>, open: bool, refusal: &str| {
        typed.as_deref().map(|typed| address(option, typed, open, refusal)).transpose()
    };
    let address = address_of("--listen", &arguments.listen, arguments.insecure || tls.is_some(), OPEN_CONTENTS)?;
    let metrics = address_of("--metrics", &arguments.metrics, arguments.insecure, OPEN_METRICS)?;
    let socket = match (&arguments.socket, address) {
        (None, Some(_)) => None,
        (Some(path), _) => Some(path.clone()),
        (None, None) => Some(default_socket(&environment.name)),
    };
    let trace = arguments
        .trace
        .as_ref()
        .map(|path| TraceSettings { path: path.clone(), about: about(&environment, seed, arguments.bursts) });
    if arguments.lie_about_flush && arguments.write_cache == Bytes::ZERO {
        return Err(Usage(
            "--lie-about-flush takes a write cache, which holds what a power cut then takes; with --write-cache \"0 B\" every write \
             is durable at once, and no flush can lie"
                .into(),
        )
        .into());
    }
    let backing = backing(arguments)?;
    let kept = match &backing {
        Backing::Memory { max } => format!("  contents: in memory, up to {}", max.human()),
        Backing::Folder(path) => format!("  contents: in {}, kept for the next time", path.display()),
    };
    let initial = arguments.bursts.initial_state();
    let settings = EmulationSettings {
        seed,
        initial,
        backing,
        trace,
        write_cache: arguments.write_cache,
        lie_about_flush: arguments.lie_about_flush,
        spin: arguments.spin,
        hasten: !arguments.no_haste,
    };
    let kept_in = (!arguments.no_record).then(store).transpose()?;
    let interruption = Interruption::watch()?;
    let started_unix_s = unix_s();
    let emulated = Emulated {
        id: run_id(UtcTime::from_unix_s(started_unix_s)),
        environment: &environment,
        name: arguments.name.as_deref(),
        seed,
        initial,
        started_unix_s,
        settings: emulated::Settings {
            write_cache: arguments.write_cache,
            lie_about_flush: arguments.lie_about_flush,
            spin: arguments.spin,
            bursts: arguments.bursts.to_string(),
            attached: arguments.attach.is_some(),
        },
    };
    let mut emulation = Emulation::start(&environment.spec(&Draw::MIDDLE), &settings)?;
    let secrecy = match tls {
        None => Secrecy::None,
        Some((tls, secrecy)) => {
            emulation.encrypt(tls);
            secrecy
        }
    };
    let asked = Asked { socket, address, metrics };
    let opened = asked.open(&mut emulation, arguments, kept_in, &emulated);
    let Opened { mut devices, places, control, metrics, mut keeper } = match opened {
        Ok(opened) => opened,
        Err(error) => {
            drop(emulation);
            // It was made a moment ago, and would be in the way the next time.
            if let Some(path) = &arguments.trace {
                let _ = std::fs::remove_file(path);
            }
            return Err(error);
        }
    };
    for (name, asked, seen) in emulation.cut_short() {
        if !quiet && !name.contains('/') {
            output::tell(&format!(
                "{name}: {asked} is no multiple of 512 B, in which disks count: clients see {seen}."
            ));
        }
    }
    for disk in emulation.caught_up().iter().filter(|_| !quiet) {
        output::tell(&format!(
            "{disk} had missed writes when the emulation that used this folder was killed: it was filled from its copy."
        ));
    }
    if !quiet {
        output::tell(&format!("Emulating {} with seed {seed}; Ctrl-C ends it.", environment.name));
        for export in emulation.exports() {
            for place in &places {
                output::tell(&format!(
                    "  {}  {}, {}",
                    place.uri(&export.name, &secrecy),
                    Bytes::new(export.size),
                    export.description
                ));
            }
        }
    }
    if !quiet {
        if let Some(devices) = &devices {
            devices.tell();
        }
        output::tell(&kept);
        if let Some(path) = &control {
            output::tell(&format!("  faults: loadline fault {} ...", path.display()));
        }
        if let Some(address) = metrics {
            output::tell(&format!("  metrics: http://{address}/metrics"));
        }
    }
    let mut credits = Standings::new(&emulation, initial);
    let mut going = Going { emulated: &emulated, devices: &mut devices, credits: &mut credits, keeper: &mut keeper };
    let mut troubles = wait(&mut emulation, &mut going, &interruption, quiet);
    let unfinished = devices.map(Attached::release);
    let elapsed = emulation.elapsed();
    // Not before: answers that wait for their clients to take them count when these are gone.
    emulation.close();
    credits.look(&emulation);
    let done = Done::of(&emulation);
    // What the last second brought.
    troubles.fresh(&emulation, None).iter().filter(|_| !quiet).for_each(|text| output::tell(text));
    let ended = emulation.end();
    // What waited for an answer has none to wait for any more.
    drop(unfinished);
    if !quiet {
        output::tell(&format!("Emulated {} for {}.", environment.name, spent(elapsed)));
    }
    let exports = done.exports(&credits.of_exports);
    for Export { name, figures, .. } in &exports {
        if let (Some(late), false) = (figures.late(), quiet) {
            output::tell(&late_delivery(name, late, done.turns));
        }
    }
    let table = summary(&exports, &done.history);
    let printed = output::print(&table.render(arguments.printing.format, output::colour_wanted()));
    if let Some(keeper) = keeper {
        let record = emulated::record(&emulated, &done, &credits.of_exports, RunStatus::Finished)?;
        if record.cells.is_empty() {
            if let Err(error) = keeper.forget(&emulated.id) {
                output::tell(&format!(
                    "That it began stays in the store, though nobody asked it for anything: {error:#}"
                ));
            }
        } else {
            keeper.end(&record)?;
            if !quiet {
                output::tell(&format!("Stored as {0}: loadline show {0}", emulated.id));
            }
        }
    }
    // Whose terminal is closed has the record all the same, and so has who lacks a whole trace.
    ended?;
    printed?;
    Ok(Outcome::Done)
}

/// Where clients and others are to find an emulation.
struct Asked {
    socket: Option<PathBuf>,
    address: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
}

/// And where they do.
struct Opened {
    devices: Option<Attached>,
    places: Vec<Place>,
    control: Option<PathBuf>,
    metrics: Option<SocketAddr>,
    /// Of the record.
    keeper: Option<Keeper>,
}

impl Asked {
    /// Lets them in; `kept_in`: the store for the record.
    fn open(
        self,
        emulation: &mut Emulation,
        arguments: &EmulateArguments,
        kept_in: Option<PathBuf>,
        emulated: &Emulated<'_>,
    ) -> anyhow::Result<Opened> {
        let begun = || emulated::record(emulated, &Done::of(emulation), &[], RunStatus::Unfinished);
        let keeper = kept_in.map(|path| Keeper::start(&path, &begun()?)).transpose()?;
        match self.let_in(emulation, arguments, &emulated.environment.name) {
            Ok(opened) => Ok(Opened { keeper, ..opened }),
            Err(error) => {
                if let Some(keeper) = keeper {
                    // What is told is why there is nothing to keep.
                    let _ = keeper.forget(&emulated.id);
                }
                Err(error)
            }
        }
    }

    fn let_in(
        self,
        emulation: &mut Emulation,
        arguments: &EmulateArguments,
        environment: &str,
    ) -> anyhow::Result<Opened> {
        // Before clients are taken: whoever finds the socket there finds the devices too.
        let devices = arguments
            .attach
            .as_deref()
            .map(|folder| attach::attach(emulation, folder, arguments.attach_by))
            .transpose()?;
        let mut places = Vec::new();
        if let Some(path) = &self.socket {
            emulation.listen_unix(path)?;
            places.push(Place::Unix(path.clone()));
        }
        if let Some(address) = self.address {
            places.push(Place::Tcp(emulation.listen_tcp(address)?));
        }
        let control = listen_control(emulation, arguments.control.as_deref(), self.socket.as_deref(), environment)?;
        let metrics = self.metrics.map(|address| emulation.listen_metrics(address)).transpose()?;
        Ok(Opened { devices, places, control, metrics, keeper: None })
    }
}

/// A span that is over, in whole seconds: the nearest number of them.
fn spent(span: Duration) -> String {
    let second = Duration::from_s(1).as_ns();
    Duration::from_s((span.as_ns() + second / 2) / second).clock()
}

/// What a trace says of where it comes from: the seed, the environment as it was written, and the credits at the beginning.
fn about(environment: &Environment, seed: u64, bursts: BurstCredits) -> String {
    let about = serde_json::json!({ "environment": environment.text, "seed": seed, "bursts": bursts.to_string() });
    about.to_string()
}

/// What goes on with an emulation.
struct Going<'a> {
    emulated: &'a Emulated<'a>,
    devices: &'a mut Option<Attached>,
    credits: &'a mut Standings,
    keeper: &'a mut Option<Keeper>,
}

/// Sleeps until the user wants an end. Shows what is going on where somebody sees it, and keeps it in the store; warns, once for each
/// export, when answers leave so late that it matters.
fn wait(emulation: &mut Emulation, going: &mut Going<'_>, interruption: &Interruption, quiet: bool) -> Troubles {
    let Going { emulated, devices, credits, keeper } = going;
    let mut warned = vec![quiet; emulation.exports().len()];
    let (mut judged, mut shown) = (std::time::Instant::now(), std::time::Instant::now());
    let mut screen = Screen::new(quiet);
    let mut refusals = Refusals::new(std::time::Instant::now());
    let mut troubles = Troubles::default();
    let mut kept = 0;
    while !interruption.asked() {
        std::thread::sleep(LOOK);
        let (refused, more) = emulation.take_refused();
        let refused = refused.iter().map(refusal_line).collect();
        tell_over(&mut screen, quiet, refusals.lines(std::time::Instant::now(), refused, more));
        if let Some(devices) = devices {
            devices.follow(emulation, &mut || screen.clear(), quiet);
        }
        if shown.elapsed() >= SHOW {
            shown = std::time::Instant::now();
            credits.look(emulation);
            let view = emulation.view();
            tell_over(&mut screen, quiet, troubles.fresh(emulation, view.trace_trouble.as_deref()));
            screen.draw(&view);
            if let Some(keeper) = keeper {
                tell_over(&mut screen, quiet, troubles.kept(keeper.trouble()));
                kept = keep(emulation, emulated, credits, keeper, kept);
            }
        }
        if judged.elapsed() < JUDGE || warned.iter().all(|warned| *warned) {
            continue;
        }
        judged = std::time::Instant::now();
        for ((figures, export), warned) in emulation.figures().iter().zip(emulation.exports()).zip(&mut warned) {
            if let (Some(late), false) = (figures.late(), *warned) {
                *warned = true;
                screen.clear();
                output::tell(&late_delivery(&export.name, late, emulation.turns()));
            }
        }
    }
    tell_over(&mut screen, quiet, refusals.rest());
    screen.clear();
    troubles
}

/// Keeps what was done so far, where it is time and anything was since `kept` requests; gives how many there are now.
fn keep(emulation: &Emulation, emulated: &Emulated<'_>, credits: &Standings, keeper: &mut Keeper, kept: u64) -> u64 {
    if !keeper.is_time() {
        return kept;
    }
    let done = Done::of(emulation);
    let requests = done.requests();
    let record =
        (requests > kept).then(|| emulated::record(emulated, &done, &credits.of_exports, RunStatus::Unfinished));
    // What is wrong with it is told at the end.
    keeper.keep(record.and_then(Result::ok));
    requests
}

/// The credits on the way of each export's requests.
struct Standings {
    of_exports: Vec<CreditsWatch>,
}

impl Standings {
    fn new(emulation: &Emulation, initial: InitialState) -> Self {
        let (_, standing) = emulation.standing();
        Self { of_exports: standing.into_iter().map(|(_, saved)| CreditsWatch::new(initial, saved)).collect() }
    }

    fn look(&mut self, emulation: &Emulation) {
        let (at, standing) = emulation.standing();
        for (watch, (account, credits)) in self.of_exports.iter_mut().zip(standing) {
            let TimeAccount { first, requests: answered, waits, .. } = account;
            watch.look(CreditsReading { at, first, answered, waits, credits });
        }
    }
}

/// Lines that stay, where others are drawn over.
fn tell_over(screen: &mut Screen, quiet: bool, lines: impl IntoIterator<Item = String>) {
    for line in lines.into_iter().filter(|_| !quiet) {
        screen.clear();
        output::tell(&line);
    }
}

/// What is to be said of answers that left too late: p99 of the lateness and of the modelled latency.
fn late_delivery(export: &str, (late, modelled): (Duration, Duration), turns: Turns) -> String {
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
        late.human(),
        modelled.human()
    )
}

/// What encrypts connections, and what clients need for it.
fn tls(arguments: &EmulateArguments) -> anyhow::Result<Option<(Tls, Secrecy)>> {
    if arguments.tls_psk.is_some() {
        return Err(Usage(NO_SHARED_KEYS.into()).into());
    }
    match &arguments.tls_certificates {
        None => Ok(None),
        Some(folder) => Ok(Some((Tls::read(folder, arguments.tls_verify_peer)?, Secrecy::Certificates))),
    }
}

/// What scripts that still give keys are told.
const NO_SHARED_KEYS: &str = "--tls-psk is no longer served: every client that takes keys takes certificates too; give \
                              --tls-certificates DIR with --tls-verify-peer, which lets in only clients with a certificate of yours \
                              (docs/emulator.md shows how to make them with certtool)";

fn backing(arguments: &EmulateArguments) -> anyhow::Result<Backing> {
    if arguments.backing != "memory" {
        if arguments.memory_max.is_some() {
            return Err(
                Usage("--memory-max bounds contents in memory; with --backing DIR they are in files".into()).into()
            );
        }
        return Ok(Backing::Folder(PathBuf::from(&arguments.backing)));
    }
    if let Some(max) = arguments.memory_max.filter(|max| *max < MEMORY_MIN) {
        return Err(Usage(format!(
            "--memory-max {max} holds nothing: memory is taken {MEMORY_MIN} at a time; give it that, or as much as clients will write"
        ))
        .into());
    }
    let half_of_free = || loadline_kernel::facts::memory_available().map(|free| Bytes::new(free.get() / 2));
    let max = arguments.memory_max.or_else(half_of_free);
    Ok(Backing::Memory { max: max.context("cannot tell how much memory is free; give --memory-max")? })
}

/// Listens for `loadline fault` where that is asked for, or else beside the NBD socket; without one where it would be by default.
fn listen_control(
    emulation: &mut Emulation,
    asked: Option<&Path>,
    socket: Option<&Path>,
    environment: &str,
) -> anyhow::Result<Option<PathBuf>> {
    if let Some(both) = asked.filter(|asked| socket == Some(*asked)) {
        let path = both.display();
        return Err(Usage(format!(
            "--socket and --control both name {path}: one is for NBD, the other for `loadline fault`; name two places"
        ))
        .into());
    }
    if let Some(path) = asked.map(Path::to_owned).or_else(|| socket.map(fault::beside)) {
        emulation.listen_control(&path).context("the socket for `loadline fault` (--control)")?;
        return Ok(Some(path));
    }
    let path = fault::beside(&default_socket(environment));
    // Nobody asked for it: several emulations may be served over TCP, and one of them has it.
    match emulation.listen_control(&path) {
        Ok(()) => Ok(Some(path)),
        Err(error) => {
            output::tell(&format!("Without a socket for `loadline fault`: {error}. --control names a place for one."));
            Ok(None)
        }
    }
}

/// Where programs of a user keep their sockets, or the folder for temporary files.
fn default_socket(environment: &str) -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    folder.join(format!("loadline-{}.sock", environment.chars().map(plain).collect::<String>()))
}

/// Why other machines do not reach the contents unless the user says that they may.
const OPEN_CONTENTS: &str = "unencrypted: whoever reaches it could read and write everything. Listen on 127.0.0.1 or [::1], give \
                             --tls-certificates for clients, or say --insecure";
/// And the figures.
const OPEN_METRICS: &str = "unencrypted whether or not clients are: whoever reaches it could see the figures of every volume, though \
                            no contents. Listen on 127.0.0.1 or [::1], or say --insecure";

/// A refused client, with the option that would let it in.
fn refusal_line(refused: &Refused) -> String {
    let line = refused.to_string();
    match refused.remedy() {
        Some(RefusalRemedy::OfferTls) => {
            format!("{}; --tls-certificates offers it.", line.trim_end_matches('.'))
        }
        None => line,
    }
}

/// The address that was typed; one that other machines reach only if the user knows what that means.
fn address(option: &str, typed: &str, insecure: bool, refusal: &str) -> anyhow::Result<SocketAddr> {
    let mut found = typed.to_socket_addrs().map_err(|error| {
        Usage(format!("{option} {typed}: {error}; write an address with its port, such as 127.0.0.1:10809"))
    })?;
    let address = found.next().ok_or_else(|| Usage(format!("{option} {typed} names no address")))?;
    if !address.ip().is_loopback() && !insecure {
        return Err(Usage(format!("{option} {typed} can be reached from other machines, {refusal}")).into());
    }
    Ok(address)
}

fn summary(exports: &[Export<'_>], history: &History) -> Table {
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
    for Export { name, figures, account, series, .. } in exports {
        let (held, span) = (account.shares_of_series(series), account.span());
        let doubts: Vec<&str> =
            emulated::doubts(name, figures, account, history).iter().map(|doubt| doubt.code.name()).collect();
        let latency = figures.latency();
        let absent = || Field::both("-", Json::Null);
        let time = |span: Option<Duration>| span.map_or_else(absent, |span| Field::both(span.human(), span.as_ns()));
        table.push(vec![
            Field::text(*name),
            Field::count(figures.requests()),
            time(Some(span).filter(|_| account.first.is_some())),
            figures.iops(span).map_or_else(absent, |iops| Field::both(fault::rate(iops), iops)),
            figures.bytes_per_s(span).map_or_else(absent, |rate| Field::both(format!("{:.1} MB/s", rate / 1e6), rate)),
            time(latency.quantile(0.5)),
            time(latency.quantile(0.99)),
            time(figures.lateness.quantile(0.5)),
            time(figures.lateness.quantile(0.99)),
            Field::count(figures.errors_total()),
            fault::bound_by(held.bound_by),
            fault::held(&held.shares),
            Field::both(doubts.join(", "), doubts),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_let_in_only_on_purpose() {
        assert!(address("--listen", "127.0.0.1:0", false, OPEN_CONTENTS).is_ok());
        assert!(address("--listen", "[::1]:10809", false, OPEN_CONTENTS).is_ok());
        let refusal = address("--listen", "0.0.0.0:10809", false, OPEN_CONTENTS).unwrap_err();
        assert!(refusal.is::<Usage>() && refusal.to_string().contains("--insecure"), "{refusal}");
        assert!(address("--listen", "0.0.0.0:10809", true, OPEN_CONTENTS).is_ok());
        assert!(address("--listen", "127.0.0.1", false, OPEN_CONTENTS).is_err());
    }

    #[test]
    fn what_is_over_took_the_nearest_number_of_seconds() {
        let told = |ms| spent(Duration::from_ms(ms));
        assert_eq!([0, 3_040, 25_499, 25_500].map(told), ["0 s", "3 s", "25 s", "26 s"]);
        assert_eq!(told(200_040), "3 min 20 s");
    }
}
