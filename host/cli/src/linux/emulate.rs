//! `emulate`: the volumes and disks of an environment as NBD exports, until the user ends it.

mod printed;

use crate::arguments::Format;
use crate::arguments::emulate::EmulateArguments;
use crate::environments;
use crate::failure::{Outcome, Usage};
use crate::linux::attach;
use crate::linux::refusals::Refusals;
use crate::metrics::MetricsPage;
use crate::schema::Schema;
use crate::terminal::Terminal;
use crate::{output, printing};
use anyhow::Context;
use loadline_emulator::{Backing, Emulation, Tls, View};
use loadline_nbd::export_uri::{ClientEncryption, ListenAddress};
use loadline_record::RunVerb;
use loadline_report::Weight;
use loadline_runs::emulation::{
    EmulationOptions, EmulationRun, EndedEmulation, StoredEmulation, attach_volumes, control_beside, default_memory,
    default_socket,
};
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{Event, Observer, catalog_with};
use loadline_units::Bytes;
use printed::Open;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Memory for contents is taken from the system by so much.
const MEMORY_MIN: Bytes = Bytes::mib(2);

/// Serves until Ctrl-C, SIGTERM or SIGHUP, then prints what was done.
pub(crate) fn emulate(
    arguments: &EmulateArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    if let Some(folder) = &arguments.detach {
        return attach::detach(folder);
    }
    let catalog = catalog_with(arguments.own.catalog.as_deref())?;
    let asked = arguments.environment.as_deref().expect("an environment is required where nothing is detached");
    let environment = environments::read(asked, &catalog)?;
    let tls = tls(arguments)?;
    let listeners = Listeners::of(arguments, &environment.name, tls.is_some())?;
    let options = options(arguments)?;
    let (seed, backing) = (options.seed, options.backing.clone());
    let store = (!arguments.no_record).then(store).transpose()?;
    let mut terminal = Terminal::showing(&RunVerb::Emulate, &arguments.live.shown, quiet)?;
    let mut run = EmulationRun::begin(&environment, options)?;
    let encryption = match tls {
        None => ClientEncryption::None,
        Some((tls, encryption)) => {
            run.emulation_mut().encrypt(tls);
            encryption
        }
    };
    let open = match open(&mut run, arguments, &listeners, &environment.name, store.as_deref()) {
        Ok(open) => open,
        Err(error) => {
            run.abandon();
            return Err(error);
        }
    };
    if !quiet {
        printed::tell_notes(run.emulation());
        output::tell(&format!("Emulating {} with seed {seed}; Ctrl-C ends it.", environment.name));
        let metrics = listeners.metrics.as_ref().map(MetricsPage::url);
        printed::tell_places(run.emulation(), &open, metrics, encryption, &backing);
    }
    let mut devices = open.devices;
    terminal.emulates(run.id(), &environment.name, open.control.as_deref());
    let mut followed =
        Followed { terminal, refusals: Refusals::new(Instant::now()), metrics: listeners.metrics, quiet };
    followed.count(&run.emulation().view());
    run.serve(devices.as_mut(), &mut followed);
    followed.end();
    let unfinished = devices.map(|devices| devices.release(&mut |event| output::tell(&attach::line(&event))));
    let ended = run.end();
    // What waited for an answer has none to wait for any more.
    drop(unfinished);
    conclude(ended, &environment.name, arguments, quiet)
}

/// What the command line says of the emulation itself.
fn options(arguments: &EmulateArguments) -> anyhow::Result<EmulationOptions> {
    if arguments.lie_about_flush && arguments.write_cache == Bytes::ZERO {
        return Err(Usage(
            "--lie-about-flush takes a write cache, which holds what a power cut then takes; with --write-cache \"0 B\" every write \
             is durable at once, and no flush can lie"
                .into(),
        )
        .into());
    }
    Ok(EmulationOptions {
        name: arguments.name.clone(),
        seed: arguments.seed.unwrap_or_else(fresh_seed),
        credits: arguments.bursts,
        backing: backing(arguments)?,
        trace: arguments.trace.clone(),
        write_cache: arguments.write_cache,
        lie_about_flush: arguments.lie_about_flush,
        spin: arguments.spin,
        hasten: !arguments.no_haste,
        attached: arguments.attach.is_some(),
    })
}

/// Where the user wants the emulation to listen.
struct Listeners {
    socket: Option<PathBuf>,
    address: Option<SocketAddr>,
    metrics: Option<MetricsPage<View>>,
}

impl Listeners {
    fn of(arguments: &EmulateArguments, environment: &str, is_encrypted: bool) -> anyhow::Result<Self> {
        let is_open = arguments.insecure || is_encrypted;
        let address = arguments.listen.as_deref().map(|typed| address(typed, is_open)).transpose()?;
        let metrics = arguments.live.metrics.page(View::default(), View::exposition)?;
        let socket = match (&arguments.socket, address) {
            (None, Some(_)) => None,
            (Some(path), _) => Some(path.clone()),
            (None, None) => Some(default_socket(environment)),
        };
        Ok(Self { socket, address, metrics })
    }
}

/// Begins the record, attaches the volumes, and lets clients in.
fn open(
    run: &mut EmulationRun,
    arguments: &EmulateArguments,
    listeners: &Listeners,
    environment: &str,
    store: Option<&Path>,
) -> anyhow::Result<Open> {
    if let Some(path) = store {
        run.keep_in(path).map_err(|error| {
            let path = path.display();
            anyhow::Error::from(error).context(format!(
                "cannot keep a record of this emulation in {path}; --store FILE names another place, --no-record does without one"
            ))
        })?;
    }
    let emulation = run.emulation_mut();
    // Before clients are taken: whoever finds the socket there finds the devices too.
    let devices = arguments
        .attach
        .as_deref()
        .map(|folder| {
            attach_volumes(emulation, folder, arguments.attach_by.into(), &mut |event| {
                output::tell(&attach::line(&event));
            })
        })
        .transpose()?;
    // Likewise the control socket: a program that waits for the NBD socket may ask for a fault next.
    let socket = listeners.socket.as_deref();
    socket.map_or(Ok(()), Emulation::check_unix)?;
    let control = listen_control(emulation, arguments.control.as_deref(), socket, environment)?;
    let mut addresses = Vec::new();
    if let Some(path) = &listeners.socket {
        emulation.listen_unix(path)?;
        addresses.push(ListenAddress::Unix(absolute(path)));
    }
    if let Some(address) = listeners.address {
        addresses.push(ListenAddress::Tcp(emulation.listen_tcp(address)?));
    }
    Ok(Open { devices, addresses, control })
}

/// The terminal of an emulation that serves, and the user's signals.
struct Followed {
    terminal: Terminal,
    refusals: Refusals,
    metrics: Option<MetricsPage<View>>,
    quiet: bool,
}

impl Followed {
    fn tell(&mut self, lines: impl IntoIterator<Item = String>) {
        lines.into_iter().for_each(|line| self.terminal.tell(&line));
    }
    fn count(&self, now: &View) {
        if let Some(metrics) = &self.metrics {
            metrics.change(|view| *view = now.clone());
        }
    }
    /// Gives the terminal back.
    fn end(&mut self) {
        let rest = self.refusals.rest().filter(|_| !self.quiet);
        self.tell(rest);
        self.terminal.close();
    }
}

impl Observer for Followed {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ClientsRefused { refused, more } => {
                let refused = refused.iter().map(printed::refusal_line).collect();
                let lines = self.refusals.lines(Instant::now(), refused, *more);
                if !self.quiet {
                    self.tell(lines);
                }
            }
            Event::Attached(event) if !self.quiet || attach::is_failure(event) => self.tell([attach::line(event)]),
            Event::InEmulation(event) if !self.quiet => self.tell([printed::event_line(event)]),
            Event::Emulated(view) => {
                self.count(view);
                self.terminal.event(event);
            }
            _ => {}
        }
    }
    fn wants_an_end(&self) -> bool {
        self.terminal.wants_an_end()
    }
}

/// Prints what was done.
fn conclude(
    ended: EndedEmulation,
    environment: &str,
    arguments: &EmulateArguments,
    quiet: bool,
) -> anyhow::Result<Outcome> {
    if !quiet {
        // What the last second brought.
        ended.events.iter().for_each(|event| output::tell(&printed::event_line(event)));
        output::tell(&format!("Emulated {environment} for {}.", printed::spent(ended.elapsed)));
        ended.late_answers().iter().for_each(|late| output::tell(&printed::late_line(late)));
        if matches!(ended.stored, Ok(StoredEmulation::Stored)) {
            output::tell(&format!("Stored as {0}: loadline show {0}", ended.id));
        }
    }
    if let Ok(StoredEmulation::BeginningLeft(error)) = &ended.stored {
        output::tell(&format!(
            "That it began stays in the store, though nobody asked it for anything: {}",
            crate::words::in_a_line(error)
        ));
    }
    let format = arguments.printing.format;
    let table = printed::summary(&ended);
    let shown = output::print(&match format {
        Format::Table | Format::Markdown => {
            printing::concluded(&table, |_| Weight::Beside, &printed::verdict(&ended), format)
        }
        Format::Json | Format::Csv => printing::table(&table, Schema::Emulation, format),
    });
    // Whose terminal is closed has the record all the same, and so has who lacks a whole trace.
    ended.stored?;
    ended.result?;
    shown?;
    Ok(Outcome::Done)
}

/// A path as clients in other folders need it.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What encrypts connections, and what clients need for it.
fn tls(arguments: &EmulateArguments) -> anyhow::Result<Option<(Tls, ClientEncryption)>> {
    if arguments.tls_psk.is_some() {
        return Err(Usage(NO_SHARED_KEYS.into()).into());
    }
    match &arguments.tls_certificates {
        None => Ok(None),
        Some(folder) => {
            let tls = Tls::read(folder, arguments.tls_verify_peer)?;
            if let Some(key) = tls.exposed_key() {
                output::tell(&format!("Every user of this machine may read {0}: chmod 600 {0}", key.display()));
            }
            Ok(Some((tls, ClientEncryption::Certificates)))
        }
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
    let max = arguments.memory_max.or_else(default_memory);
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
    if let Some(path) = asked.map(Path::to_owned).or_else(|| socket.map(control_beside)) {
        emulation.listen_control(&path).context("the socket for `loadline fault` (--control)")?;
        return Ok(Some(path));
    }
    let path = control_beside(&default_socket(environment));
    // Nobody asked for it: several emulations may be served over TCP, and one of them has it.
    match emulation.listen_control(&path) {
        Ok(()) => Ok(Some(path)),
        Err(error) => {
            output::tell(&format!("Without a socket for `loadline fault`: {error}. --control names a place for one."));
            Ok(None)
        }
    }
}

/// Why other machines do not reach the contents unless the user says that they may.
const OPEN_CONTENTS: &str = "unencrypted: whoever reaches it could read and write everything. Listen on 127.0.0.1 or [::1], give \
                             --tls-certificates for clients, or say --insecure";

/// The address that was typed; one that other machines reach only if the user knows what that means.
fn address(typed: &str, insecure: bool) -> anyhow::Result<SocketAddr> {
    let mut found = typed.to_socket_addrs().map_err(|error| {
        Usage(format!("--listen {typed}: {error}; write an address with its port, such as 127.0.0.1:10809"))
    })?;
    let address = found.next().ok_or_else(|| Usage(format!("--listen {typed} names no address")))?;
    if !address.ip().is_loopback() && !insecure {
        return Err(Usage(format!("--listen {typed} can be reached from other machines, {OPEN_CONTENTS}")).into());
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_let_in_only_on_purpose() {
        assert!(address("127.0.0.1:0", false).is_ok());
        assert!(address("[::1]:10809", false).is_ok());
        let refusal = address("0.0.0.0:10809", false).unwrap_err();
        assert!(refusal.is::<Usage>() && refusal.to_string().contains("--insecure"), "{refusal}");
        assert!(address("0.0.0.0:10809", true).is_ok());
        assert!(address("127.0.0.1", false).is_err());
    }
}
