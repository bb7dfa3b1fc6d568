//! The options of `catalog`.

use super::{Own, Priced, Printing, currency};
use clap::{Args, Subcommand, ValueEnum};
use loadline_catalog::Currency;
use loadline_units::{ByteRate, Bytes, Iops};
use std::path::PathBuf;

/// `catalog`.
#[derive(Debug, Args)]
pub(crate) struct CatalogArguments {
    #[command(subcommand)]
    pub(crate) verb: CatalogVerb,
}

/// What to do with the catalog.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogVerb {
    /// Lists disks and VM sizes, with the most that they do for good and what they cost
    List(ListArguments),
    /// Shows one: limits, mechanism, latency with what is uncertain, price and source
    Show(ShowArguments),
    /// Says what is wrong with the catalog: contradictions, duplicates, figures that fall with size, sources and prices without a
    /// date, prices without a region, limits that are not reached when simulated
    Check(CheckArguments),
    /// Reads providers' price lists out of saved files or fetches them, and keeps them for advice: newer prices count before those that come
    /// along. Without --from and --fetch it prints the commands that fetch the files
    Update(UpdateArguments),
}

/// `catalog list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only disks and VM sizes with this in their names, as in "c7i" or "p30"
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// Only this provider's
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Only this family
    #[arg(long, value_name = "NAME")]
    pub(crate) family: Option<String>,
    /// Only what does at least this, as in "5000 IOPS"
    #[arg(long, value_name = "RATE")]
    pub(crate) iops_min: Option<Iops>,
    /// Only what does at least this, as in "200 MB/s"
    #[arg(long, value_name = "RATE")]
    pub(crate) throughput_min: Option<ByteRate>,
    /// Only disks that can be at least this large, as in "1 TiB"
    #[arg(long, value_name = "SIZE")]
    pub(crate) size_min: Option<Bytes>,
    /// Prices of this region alone, as in "us-east-1"; without it, those of the region with most prices
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// Only disks, or only machines: disk or vm
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = true)]
    pub(crate) kind: Option<KindName>,
    /// Only disks that keep their data when the machine is stopped
    #[arg(long)]
    pub(crate) persistent: bool,
    /// In this order: price (the cheapest first, by the price shown) or iops (the most first)
    #[arg(long, value_enum, value_name = "ORDER", hide_possible_values = true)]
    pub(crate) sort: Option<OrderName>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) priced: Priced,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// What entries are, by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindName {
    /// Disks
    Disk,
    /// Machines
    Vm,
}

/// Orders of the list, by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderName {
    /// The cheapest first
    Price,
    /// The most IOPS first
    Iops,
}

/// `catalog show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// A disk or a VM size, as `catalog list` names it
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) priced: Priced,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// `catalog check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// `catalog update`.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct UpdateArguments {
    /// A saved answer of a provider, told by its content; also as .gz or .zip, or a folder of them
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Vec<PathBuf>,
    /// Fetch the lists from the providers; no other verb or option does so
    #[arg(long, conflicts_with_all = ["from", "undo", "limits"])]
    pub(crate) fetch: bool,
    /// A file with the key of Google Cloud, and nothing else; without it, gcp is not fetched
    #[arg(long, value_name = "FILE", requires = "fetch")]
    pub(crate) key_file: Option<PathBuf>,
    /// Only this provider's: aws, azure or gcp
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    pub(crate) provider: Vec<ProviderName>,
    /// Only this region, as the provider writes it: "eu-central-1"
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Vec<String>,
    /// The files have what machines allow in place of prices: what `aws ec2 describe-instance-types` or `az vm list-skus` printed
    #[arg(long, requires = "from", conflicts_with_all = ["region", "currency", "undo"])]
    pub(crate) limits: bool,
    /// The currency of the lists; by default USD
    #[arg(long, value_name = "LETTERS", value_parser = currency)]
    pub(crate) currency: Option<Currency>,
    /// Read and judge; keep nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take the last update back: the lists before it count again
    #[arg(long, conflicts_with_all = ["from", "currency"])]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// Providers, by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// Amazon Web Services
    Aws,
    /// Microsoft Azure
    Azure,
    /// Google Cloud
    Gcp,
}
