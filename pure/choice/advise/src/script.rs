//! Commands that provision a choice and lay its volume out, for people to read and to run. Nothing here runs them.
//!
//! `tests/advice/scripts.rs` checks every option against lists that the tools themselves gave.

mod aws;
mod azure;
mod bicep;
mod gcloud;
mod guest;
mod powershell;
mod terraform;

use crate::advice::{Candidate, DiskChoice, NeedFigures, VolumeChoice};
use loadline_catalog::{Catalog, SizeRule};
use loadline_units::Bytes;
use std::fmt::Write as _;

/// The tool that is to provision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// `az`
    AzureCli,
    /// `aws`
    AwsCli,
    /// `gcloud`
    Gcloud,
    /// Terraform, for any of the providers.
    Terraform,
    /// Azure's own language.
    Bicep,
    /// Azure's module for PowerShell, with Storage Spaces in the guest.
    PowerShell,
}

impl Script {
    /// Its name, as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AzureCli => "azure-cli",
            Self::AwsCli => "aws-cli",
            Self::Gcloud => "gcloud",
            Self::Terraform => "terraform",
            Self::Bicep => "bicep",
            Self::PowerShell => "powershell",
        }
    }
    /// The provider that it is for; `None` for several.
    const fn provider(self) -> Option<&'static str> {
        match self {
            Self::AzureCli | Self::Bicep | Self::PowerShell => Some("azure"),
            Self::AwsCli => Some("aws"),
            Self::Gcloud => Some("gcp"),
            Self::Terraform => None,
        }
    }
}

/// Why there is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The tool is another provider's.
    #[error("{tool} provisions nothing of {provider}: use one of {}, or terraform", .own.join(", "))]
    OtherProvider {
        /// The tool.
        tool: &'static str,
        /// The choice's provider.
        provider: String,
        /// Tools of that provider.
        own: Vec<&'static str>,
    },
    /// The tool's name for the disks is not in the catalog.
    #[error("the catalog does not say what {sku} is called by the provider's tools (sold_as)")]
    NoName {
        /// The disks.
        sku: String,
    },
    /// A name out of a catalog that no tool would take for one.
    #[error("{name:?} is no name that the provider's tools take: name it in the catalog as they do")]
    NoWord {
        /// The region, machine or disk's type.
        name: String,
    },
    /// The script sets up Windows Server, which the machine's processors do not run.
    #[error("{machine} has Arm processors, for which there is no Windows Server: use azure-cli, bicep or terraform")]
    NoWindows {
        /// The machine.
        machine: String,
    },
}

/// A disk as the tools make it.
struct ToolDisk {
    /// The provider's name of the type.
    kind: String,
    size_gib: u64,
    iops: Option<u64>,
    /// In the provider's unit, rounded up.
    throughput: Option<u64>,
}

/// A choice in the words of its provider's tools.
struct Provisioning<'a> {
    row: &'a Candidate,
    volume: &'a VolumeChoice,
    /// Each of the volume's disks.
    disk: ToolDisk,
    /// The system's disk, if one is bought.
    os: Option<ToolDisk>,
}

/// The commands for a choice.
///
/// # Errors
/// [`ScriptError`].
pub fn script(row: &Candidate, need: &NeedFigures, tool: Script, catalog: &Catalog) -> Result<String, ScriptError> {
    let provider = row.provider.as_str();
    if tool.provider().is_some_and(|own| own != provider) {
        let all = [Script::AzureCli, Script::AwsCli, Script::Gcloud, Script::Bicep, Script::PowerShell];
        let own = all.into_iter().filter(|tool| tool.provider() == Some(provider)).map(Script::name).collect();
        return Err(ScriptError::OtherProvider { tool: tool.name(), provider: provider.to_owned(), own });
    }
    let volume = &row.volumes[0];
    let disk = tool_disk(&volume.disks[0], provider, catalog)?;
    let os = row.os_disk.as_ref().map(|disk| tool_disk(disk, provider, catalog)).transpose()?;
    let wanted = Provisioning { row, volume, disk, os };
    // What a script has of a catalog, it has as words of commands.
    let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
    let kinds = std::iter::once(&wanted.disk).chain(&wanted.os).map(|disk| disk.kind.as_str());
    if let Some(name) = [row.region.as_str(), wanted.machine()].into_iter().chain(kinds).find(|name| !is_word(name)) {
        return Err(ScriptError::NoWord { name: name.to_owned() });
    }
    if tool == Script::PowerShell && azure::is_arm(&wanted) {
        return Err(ScriptError::NoWindows { machine: row.machine.clone() });
    }
    let mut text = String::new();
    let comment = if tool == Script::Bicep { "//" } else { "#" };
    if matches!(tool, Script::AzureCli | Script::AwsCli | Script::Gcloud) {
        text.push_str("#!/bin/sh\n");
    }
    // A line that goes on in the next would be a command there.
    let name = need.name.replace(char::is_control, " ");
    let _ = writeln!(text, "{comment} {} for {name}: {} a month in {}.", row.words(), row.price_words(), row.region);
    let _ = writeln!(text, "{comment} Read it before you run it: names, image, network and keys are yours to choose.");
    text.push_str(&match tool {
        Script::AzureCli => azure::commands(&wanted),
        Script::AwsCli => aws::commands(&wanted),
        Script::Gcloud => gcloud::commands(&wanted),
        Script::Terraform => terraform::configuration(&wanted),
        Script::Bicep => bicep::template(&wanted),
        Script::PowerShell => powershell::commands(&wanted),
    });
    Ok(text)
}

/// Providers name a disk's type by its family or by itself.
fn tool_disk(choice: &DiskChoice, provider: &str, catalog: &Catalog) -> Result<ToolDisk, ScriptError> {
    let no_name = || ScriptError::NoName { sku: choice.sku.clone() };
    let entry = catalog.disk_entry(&choice.sku).map_err(|_| no_name())?;
    let own = choice.sku.split_once('/').map_or(choice.sku.as_str(), |(_, name)| name);
    let kind = match &catalog.disk_family(entry).sold_as {
        Some(kind) => kind.clone(),
        None if provider == "azure" => return Err(no_name()),
        None => own.to_owned(),
    };
    let size = match entry.size {
        SizeRule::Fixed(size) => size.get(),
        SizeRule::Chosen { .. } | SizeRule::Unknown => choice.size_bytes.unwrap_or(0),
    };
    // Azure provisions in millions of bytes per second, the others in MiB.
    let unit = if provider == "azure" { 1_000_000 } else { 1 << 20 };
    Ok(ToolDisk {
        kind,
        size_gib: size.div_ceil(Bytes::gib(1).get()),
        iops: choice.iops,
        throughput: choice.throughput_bytes_per_s.map(|rate| rate.div_ceil(unit)),
    })
}

impl Provisioning<'_> {
    /// The machine's name without the provider.
    fn machine(&self) -> &str {
        self.row.machine.split_once('/').map_or(self.row.machine.as_str(), |(_, name)| name)
    }
    /// How many disks the volume has.
    fn count(&self) -> u32 {
        self.volume.columns.max(1)
    }
}

impl ToolDisk {
    /// Options of provisioned figures, each with `before`, its name and its value.
    fn provisioned(&self, before: &str, iops: &str, throughput: &str, after: &str) -> String {
        let of = |option: &str, value: Option<u64>| {
            value.map_or_else(String::new, |value| format!("{before}{option}{value}{after}"))
        };
        format!("{}{}", of(iops, self.iops), of(throughput, self.throughput))
    }
}
