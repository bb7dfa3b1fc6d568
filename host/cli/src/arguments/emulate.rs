//! The options of `emulate`.

use super::{LiveArguments, Own, Printing};
use clap::Args;
use loadline_disk::BurstCredits;
use loadline_runs::emulation::AttachMethod;
use loadline_units::Bytes;
use std::path::PathBuf;

/// Bytes of writes that a disk's own cache holds by default.
const WRITE_CACHE: Bytes = Bytes::mib(16);

/// `emulate`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct EmulateArguments {
    /// The environment: a file, or the name of one that comes with loadline
    #[arg(value_name = "ENV", required_unless_present = "detach")]
    pub(crate) environment: Option<String>,
    /// Take clients on this unix socket; without --listen, by default one named after the environment in the user's folder
    /// for such things
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Take clients over TCP at this address, such as 127.0.0.1:10809; port 0 for any that is free
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Let --listen be reached from other machines: anyone there can read and write everything, unencrypted
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Make every volume a block device, with its name in this empty folder; needs root
    #[arg(long, value_name = "DIR")]
    pub(crate) attach: Option<PathBuf>,
    /// How --attach does it: ublk, fuse (with loop devices), or auto, which is ublk where the kernel has it
    #[arg(long, value_name = "WAY", requires = "attach", default_value = "auto", hide_possible_values = true)]
    pub(crate) attach_by: AttachBy,
    /// Take down what an emulation attached to this folder left behind when it was killed, and end
    #[arg(long, value_name = "DIR", conflicts_with = "environment")]
    pub(crate) detach: Option<PathBuf>,
    /// Encrypt with the certificate in this folder (server-cert.pem, server-key.pem): over TCP always, on a unix socket where the
    /// client asks for it
    #[arg(long, value_name = "DIR")]
    pub(crate) tls_certificates: Option<PathBuf>,
    /// Let in only clients with a certificate that ca-cert.pem in the same folder signed
    #[arg(long, requires = "tls_certificates")]
    pub(crate) tls_verify_peer: bool,
    /// No longer served: --tls-certificates with --tls-verify-peer takes its place
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) tls_psk: Option<PathBuf>,
    /// Where contents are kept: "memory", or a folder that is kept for the next time
    #[arg(long, value_name = "WHERE", default_value = "memory")]
    pub(crate) backing: String,
    /// Memory that contents may take; by default half of what is free
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_max: Option<Bytes>,
    /// Seed of every random choice; by default drawn anew and printed
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Record every request with its times in this file, which must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Take the commands of `loadline fault` on this unix socket; by default the NBD socket's name with ".control" after it, that of
    /// the default NBD socket where there is only --listen
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,
    /// Writes that each disk's own cache may hold until they are flushed, and a power cut take; 0 B: all are durable at once
    #[arg(long, value_name = "SIZE", default_value_t = WRITE_CACHE)]
    pub(crate) write_cache: Bytes,
    /// Answer flushes and make nothing durable by them, as bad disks do: a power cut shows who relies on them
    #[arg(long)]
    pub(crate) lie_about_flush: bool,
    /// Watch the clock rather than sleep while an answer is due soon: less late, for a CPU of its own
    #[arg(long)]
    pub(crate) spin: bool,
    /// Credits of bursts at the beginning: full, empty, or apart for disks and the VM, as in disks=full,vm=empty
    #[arg(long, default_value = "full", value_name = "STATE")]
    pub(crate) bursts: BurstCredits,
    /// Wait for a turn on the processor as other programs do. By default the threads that take requests and deliver answers run as soon
    /// as they wake, in the real-time class where the system lets them
    #[arg(long)]
    pub(crate) no_haste: bool,
    /// Keep no record of what was done in the store
    #[arg(long)]
    pub(crate) no_record: bool,
    /// What to call the record; by default "application on" and the environment's name
    #[arg(long, value_parser = super::name, conflicts_with = "no_record", value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// How volumes become block devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AttachBy {
    // By ublk where the kernel has it, else by FUSE. The help says what these are: with a line for each it would be twice as long.
    Auto,
    Ublk,
    // And loop devices.
    Fuse,
}

impl From<AttachBy> for AttachMethod {
    fn from(by: AttachBy) -> Self {
        match by {
            AttachBy::Auto => Self::Auto,
            AttachBy::Ublk => Self::Ublk,
            AttachBy::Fuse => Self::Fuse,
        }
    }
}
