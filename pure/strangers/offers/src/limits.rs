//! What machines allow, as providers answer: `describe-instance-types` of AWS and the SKUs of Azure's compute service.
//!
//! Answers are streamed; of a machine that is there for every region one is kept. What they do not say, as how fast disks in the host are, is
//! not made up: machines are listed with what the connection to network disks allows, processors and memory.

use crate::answer::{Provider, is_name};
use loadline_catalog::{AnsweredRates, Catalog, LimitChange, LimitChanges, VmEntry};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::io::{self, BufRead};

/// No machine does more; what says so is no answer.
const IOPS_MAX: f64 = 1e8;
const BYTES_MAX: f64 = 1e12;
/// More bytes for each cached request are no answer: one size has a thousand times what its siblings have.
const CACHED_REQUEST_MAX: u64 = 256 << 10;
const MACHINES_MAX: usize = 20_000;

/// What a machine allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineLimits {
    /// To network disks, for good.
    pub plain: AnsweredRates,
    /// To network disks while credits last.
    pub burst: Option<AnsweredRates>,
    /// Through the host's cache: requests, bytes read and bytes written per second.
    pub cached: Option<(u64, u64, u64)>,
    /// Data disks at most.
    pub data_disks: Option<u64>,
    /// Processors.
    pub vcpus: u64,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// It takes no disks of the premium kind.
    pub takes_no_premium: bool,
    /// Its processors are ARM.
    pub is_arm64: bool,
    /// Its processors run on credits.
    pub has_cpu_credits: bool,
}

/// The machines of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsAnswer {
    /// Whose.
    pub provider: Provider,
    /// By the catalog's names, without the provider.
    pub machines: BTreeMap<String, MachineLimits>,
    /// Machines without limits in the answer.
    pub without_limits: u64,
}

/// Why an answer is not read.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// It has no machines.
    #[error(
        "has no machines with limits; pass what `aws ec2 describe-instance-types` or `az vm list-skus` printed as JSON"
    )]
    NoMachines,
    /// It has prices.
    #[error("has prices and no limits; pass it as such")]
    Prices,
    /// Machines of two providers.
    #[error("has machines of two providers; pass each answer as it was sent")]
    TwoProviders,
    /// A figure that no machine has.
    #[error("has {text:?} as {what} of {name}, which no machine has; fetch it once more")]
    Figure {
        /// The machine.
        name: String,
        /// What of it.
        what: &'static str,
        /// As written.
        text: String,
    },
    /// A machine is there twice, with other limits.
    #[error("has {name} twice, with other limits; pass the answer of one region and one day")]
    Twice {
        /// The machine.
        name: String,
    },
    /// More machines than any provider has.
    #[error("has more than 20,000 machines, as no provider has; fetch it once more")]
    TooMany,
    /// It is cut off, or no JSON.
    #[error("is cut off or broken: {0}; fetch it once more")]
    Json(#[from] serde_json::Error),
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// Reads an answer, or its pages after one another.
///
/// # Errors
/// [`LimitsError`].
pub fn read_limits(mut input: impl BufRead) -> Result<LimitsAnswer, LimitsError> {
    let head = input.fill_buf()?.iter().find(|byte| !byte.is_ascii_whitespace());
    if head.is_none_or(|byte| ![b'{', b'['].contains(byte)) {
        return Err(LimitsError::NoMachines);
    }
    let mut reading = Reading::default();
    let mut json = serde_json::Deserializer::from_reader(input);
    loop {
        let read = Part(&mut reading).deserialize(&mut json);
        if let Some(error) = reading.error.take() {
            return Err(error);
        }
        read?;
        if json.end().is_ok() {
            break;
        }
    }
    match reading.provider {
        Some(provider) if !reading.machines.is_empty() => {
            Ok(LimitsAnswer { provider, machines: reading.machines, without_limits: reading.without_limits })
        }
        _ if reading.has_prices => Err(LimitsError::Prices),
        _ => Err(LimitsError::NoMachines),
    }
}

#[derive(Default)]
struct Reading {
    provider: Option<Provider>,
    machines: BTreeMap<String, MachineLimits>,
    without_limits: u64,
    has_prices: bool,
    error: Option<LimitsError>,
}

impl Reading {
    fn take(&mut self, machine: &Machine) -> Result<(), LimitsError> {
        let (provider, name, found) = if let Some(name) = &machine.instance_type {
            (Provider::Aws, name.clone(), machine.of_aws(name)?)
        } else if machine.kind.eq_ignore_ascii_case("virtualMachines") {
            let name = machine.name.to_ascii_lowercase().replace('_', "-");
            let name = name.strip_prefix("standard-").unwrap_or(&name).to_owned();
            let found = machine.of_azure(&name)?;
            (Provider::Azure, name, found)
        } else {
            return Ok(());
        };
        if *self.provider.get_or_insert(provider) != provider {
            return Err(LimitsError::TwoProviders);
        }
        let Some(found) = found.filter(|_| is_name(&name)) else {
            self.without_limits += 1;
            return Ok(());
        };
        if self.machines.get(&name).is_some_and(|before| *before != found) {
            return Err(LimitsError::Twice { name });
        }
        self.machines.insert(name, found);
        if self.machines.len() > MACHINES_MAX { Err(LimitsError::TooMany) } else { Ok(()) }
    }
}

/// An answer, a page, a machine, or a list of these.
struct Part<'r>(&'r mut Reading);

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("machines of a provider")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element_seed(Part(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut machine = Machine::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "InstanceTypes" | "value" => map.next_value_seed(Part(self.0))?,
                "InstanceType" => machine.instance_type = map.next_value()?,
                "EbsInfo" => machine.ebs = map.next_value()?,
                "VCpuInfo" => machine.vcpus = map.next_value()?,
                "MemoryInfo" => machine.memory = map.next_value()?,
                "ProcessorInfo" => machine.processor = map.next_value()?,
                "BurstablePerformanceSupported" => machine.has_cpu_credits = map.next_value()?,
                "resourceType" | "ResourceType" => {
                    machine.kind = map.next_value::<Option<String>>()?.unwrap_or_default();
                }
                "name" | "Name" => machine.name = map.next_value::<Option<String>>()?.unwrap_or_default(),
                "capabilities" | "Capabilities" => {
                    machine.capabilities = map.next_value::<Option<Vec<Capability>>>()?.unwrap_or_default();
                }
                other => {
                    self.0.has_prices |= ["offerCode", "manifest", "Items", "skus", "retailPrice"].contains(&other);
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if let Err(error) = self.0.take(&machine) {
            self.0.error = Some(error);
            return Err(serde::de::Error::custom(""));
        }
        Ok(())
    }
}

/// A machine as either provider writes it.
#[derive(Default)]
struct Machine {
    instance_type: Option<String>,
    ebs: EbsInfo,
    vcpus: VcpuInfo,
    memory: MemoryInfo,
    processor: ProcessorInfo,
    has_cpu_credits: bool,
    kind: String,
    name: String,
    capabilities: Vec<Capability>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct EbsInfo {
    ebs_optimized_info: Option<EbsOptimized>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct EbsOptimized {
    baseline_iops: f64,
    #[serde(rename = "BaselineThroughputInMBps")]
    baseline_throughput: f64,
    maximum_iops: f64,
    #[serde(rename = "MaximumThroughputInMBps")]
    maximum_throughput: f64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VcpuInfo {
    #[serde(rename = "DefaultVCpus")]
    default: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MemoryInfo {
    #[serde(rename = "SizeInMiB")]
    mib: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct ProcessorInfo {
    supported_architectures: Vec<String>,
}

#[derive(Deserialize)]
struct Capability {
    #[serde(alias = "Name")]
    name: String,
    #[serde(alias = "Value")]
    value: String,
}

/// A figure of a machine, rounded, in `1..=most`.
fn figure(name: &str, what: &'static str, number: f64, most: f64) -> Result<u64, LimitsError> {
    if (1.0..=most).contains(&number) {
        return Ok(number.round() as u64);
    }
    Err(LimitsError::Figure { name: name.into(), what, text: number.to_string() })
}

impl Machine {
    fn of_aws(&self, name: &str) -> Result<Option<MachineLimits>, LimitsError> {
        let Some(ebs) = &self.ebs.ebs_optimized_info else { return Ok(None) };
        let rates = |iops, megabytes: f64| -> Result<AnsweredRates, LimitsError> {
            Ok(AnsweredRates {
                iops: figure(name, "IOPS", iops, IOPS_MAX)?,
                bytes: figure(name, "bytes per second", megabytes * 1e6, BYTES_MAX)?,
            })
        };
        let plain = rates(ebs.baseline_iops, ebs.baseline_throughput)?;
        let most = rates(ebs.maximum_iops, ebs.maximum_throughput)?;
        if most.iops < plain.iops || most.bytes < plain.bytes {
            let text = format!("{} IOPS and {} MB/s", ebs.maximum_iops, ebs.maximum_throughput);
            return Err(LimitsError::Figure { name: name.into(), what: "the most, below what is always there,", text });
        }
        Ok(Some(MachineLimits {
            plain,
            burst: (most != plain).then_some(most),
            cached: None,
            data_disks: None,
            vcpus: figure(name, "processors", self.vcpus.default as f64, 1e5)?,
            memory_mib: self.memory.mib,
            takes_no_premium: false,
            is_arm64: self.processor.supported_architectures.iter().any(|found| found.starts_with("arm64")),
            has_cpu_credits: self.has_cpu_credits,
        }))
    }

    fn of_azure(&self, name: &str) -> Result<Option<MachineLimits>, LimitsError> {
        let text = |of: &str| self.capabilities.iter().find(|found| found.name == of).map(|found| found.value.as_str());
        let number = |of: &str, what, most: f64| {
            let Some(text) = text(of) else { return Ok(None) };
            let number: f64 =
                text.parse().map_err(|_| LimitsError::Figure { name: name.into(), what, text: text.into() })?;
            figure(name, what, number, most).map(Some)
        };
        let (iops, bytes) = ("UncachedDiskIOPS", "UncachedDiskBytesPerSecond");
        let (Some(iops), Some(bytes)) =
            (number(iops, "IOPS", IOPS_MAX)?, number(bytes, "bytes per second", BYTES_MAX)?)
        else {
            return Ok(None);
        };
        // A machine that is sold with fewer processors than its host gives it has the memory and limits of the whole.
        let vcpus = number("vCPUsAvailable", "processors", 1e5)?.or(number("vCPUs", "processors", 1e5)?);
        let Some(vcpus) = vcpus else { return Ok(None) };
        let cached = match (
            number("CombinedTempDiskAndCachedIOPS", "cached IOPS", IOPS_MAX),
            number("CombinedTempDiskAndCachedReadBytesPerSecond", "cached bytes per second", BYTES_MAX),
            number("CombinedTempDiskAndCachedWriteBytesPerSecond", "cached bytes per second", BYTES_MAX),
        ) {
            (Ok(Some(iops)), Ok(Some(read)), Ok(Some(write))) if read.max(write) / iops <= CACHED_REQUEST_MAX => {
                Some((iops, read, write))
            }
            _ => None,
        };
        let memory_mib = text("MemoryGB").and_then(|text| text.parse::<f64>().ok()).map(|gib| (gib * 1024.0).round());
        Ok(Some(MachineLimits {
            plain: AnsweredRates { iops, bytes },
            burst: None,
            cached,
            data_disks: number("MaxDataDiskCount", "data disks", 1e4).ok().flatten(),
            vcpus,
            memory_mib: memory_mib.filter(|mib| (1.0..1e9).contains(mib)).map(|mib| mib as u64),
            takes_no_premium: text("PremiumIO").is_some_and(|text| text.eq_ignore_ascii_case("false")),
            is_arm64: text("CpuArchitectureType").is_some_and(|text| text.eq_ignore_ascii_case("arm64")),
            has_cpu_credits: false,
        }))
    }
}

/// What an answer changes, and what is to be kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsUpdate {
    /// What changes.
    pub changes: LimitChanges,
    /// The files to keep: what they are of, and their text. None where nothing is new.
    pub files: Vec<(&'static str, String)>,
}

/// From where and when limits are.
#[derive(Debug, Clone, Copy)]
pub struct LimitsOrigin<'a> {
    /// The day on which the answer was read: it has no date of its own.
    pub today: &'a str,
    /// The instant.
    pub fetched: &'a str,
    /// The digest of the answers.
    pub digest: &'a str,
    /// The version of loadline that read it.
    pub version: &'a str,
}

/// The files of the update before this one: machines of theirs that this answer has not are kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeptLimits<'a> {
    /// With limits.
    pub limits: &'a str,
    /// With memory.
    pub memory: &'a str,
}

impl LimitsAnswer {
    /// Takes the machines of another answer of this provider.
    ///
    /// # Errors
    /// [`LimitsError::Twice`]: one is in both, with other limits.
    pub fn join(&mut self, other: Self) -> Result<(), LimitsError> {
        for (name, limits) in other.machines {
            if self.machines.get(&name).is_some_and(|before| *before != limits) {
                return Err(LimitsError::Twice { name });
            }
            self.machines.insert(name, limits);
        }
        self.without_limits += other.without_limits;
        Ok(())
    }

    /// What the answer changes in a catalog.
    #[must_use]
    pub fn update(&self, before: &Catalog, kept: &KeptLimits<'_>, origin: &LimitsOrigin<'_>) -> LimitsUpdate {
        let provider = self.provider;
        let rules = &provider.feed().limits;
        let (mut added, mut changed, mut written) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (name, limits) in &self.machines {
            let known = before.vm_entry(&format!("{}/{name}", provider.name()));
            match known.map(|entry| (entry, entry.uncached_rates())) {
                None => {
                    added.push(name.clone());
                    written.insert(name, (limits, None));
                }
                Some((entry, Some(found))) if !limits.is_near(found, rules.replaces) => {
                    changed.push(LimitChange { name: name.clone(), before: found.0, after: limits.plain });
                    if rules.replaces {
                        written.insert(name, (limits, Some(entry)));
                    }
                }
                Some(_) => {}
            }
        }
        let mut files = Vec::new();
        if !written.is_empty() {
            files.push(("limits", self.limits_text(&written, &self.carried(kept.limits), origin)));
            files.push(("memory", self.memory_text(&written, &self.carried(kept.memory), origin)));
        }
        let found = LimitChanges {
            provider: provider.name().to_owned(),
            machines: self.machines.len(),
            without_limits: self.without_limits,
            added,
            changed,
            replaces: rules.replaces,
        };
        LimitsUpdate { changes: found, files }
    }

    fn head(&self, kind: &str, what: &str, origin: &LimitsOrigin<'_>) -> String {
        let LimitsOrigin { today, fetched, digest, version } = origin;
        format!(
            "# Written by an update of limits, which replaces it: limits of your own belong in another folder.\n\
             # Read by loadline {version}.\n\
             schema = 1\nkind = \"{kind}\"\nprovider = \"{}\"\nfamily = \"updated-{what}\"\ntitle = \"Updated {what} of machines\"\n\
             source = \"{}\"\ndate = \"{today}\"\n\n[update]\nfetched = \"{fetched}\"\nblake3 = \"{digest}\"\n\n",
            self.provider.name(),
            self.provider.feed().limits.source,
        )
    }

    /// What a file has of machines that are not in this answer.
    fn carried(&self, text: &str) -> toml::Table {
        let mut table: toml::Table = text.parse().unwrap_or_default();
        for key in ["vm", "memory"] {
            if let Some(toml::Value::Table(machines)) = table.get_mut(key) {
                machines.retain(|name, _| !self.machines.contains_key(name));
            }
        }
        table
    }

    fn limits_text(&self, written: &Written<'_>, carried: &toml::Table, origin: &LimitsOrigin<'_>) -> String {
        let mut text = self.head("vm", "limits", origin);
        let beginnings = |key: &str, is: fn(&MachineLimits) -> bool| {
            let before = carried.get(key).and_then(toml::Value::as_array).into_iter().flatten();
            let found = written.iter().filter(|(_, (limits, _))| is(limits)).map(|(name, _)| beginning(name));
            let all: BTreeSet<String> = before.filter_map(toml::Value::as_str).chain(found).map(quoted).collect();
            all.into_iter().collect::<Vec<_>>().join(", ")
        };
        // Keys of the whole file stand before its first table.
        let mut tops = String::new();
        for (key, found) in [
            ("arm64", beginnings("arm64", |limits| limits.is_arm64)),
            ("cpu_credits", beginnings("cpu_credits", |limits| limits.has_cpu_credits)),
        ] {
            if !found.is_empty() {
                let _ = writeln!(tops, "{key} = [{found}]");
            }
        }
        text = text.replacen("\n[update]", &format!("{tops}\n[update]"), 1);
        let rules = &self.provider.feed().limits;
        let _ = writeln!(text, "{}\n[vm]", rules.mechanism());
        let lines = written.iter().map(|(name, (limits, entry))| {
            (name.as_str(), format!("{{ {} }}", limits.parts(*entry, &rules.without_premium).join(", ")))
        });
        put_lines(&mut text, lines, carried.get("vm"));
        text
    }

    fn memory_text(&self, written: &Written<'_>, carried: &toml::Table, origin: &LimitsOrigin<'_>) -> String {
        let mut text = self.head("memory", "memory", origin);
        text.push_str("[memory]\n");
        let lines = written
            .iter()
            .filter_map(|(name, (limits, _))| Some((name.as_str(), format!("\"{} MiB\"", limits.memory_mib?))));
        put_lines(&mut text, lines, carried.get("memory"));
        text
    }
}

/// A line for each machine, sorted, with those that are kept.
fn put_lines<'a>(text: &mut String, lines: impl Iterator<Item = (&'a str, String)>, kept: Option<&'a toml::Value>) {
    let kept = kept.and_then(toml::Value::as_table).into_iter().flatten();
    let kept = kept.map(|(name, value)| (name.as_str(), value.to_string()));
    for (name, line) in lines.chain(kept).collect::<BTreeMap<_, _>>() {
        let _ = writeln!(text, "{} = {line}", quoted(name));
    }
}

/// Machines that are written, with the entry whose other figures they keep.
type Written<'a> = BTreeMap<&'a String, (&'a MachineLimits, Option<&'a VmEntry>)>;

/// Up to the dot after which sizes follow: "r9g." of `r9g.large`; a whole name without one.
fn beginning(name: &str) -> &str {
    name.find('.').map_or(name, |dot| &name[..=dot])
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn rates_text(rates: AnsweredRates) -> String {
    format!("iops = \"{} IOPS\", throughput = \"{} B/s\"", rates.iops, rates.bytes)
}

impl MachineLimits {
    /// Whether an entry allows the same: as far as its digits go, with what it allows for a while; or, where answers do not have that, as far
    /// as providers mix MB with MiB.
    fn is_near(&self, (plain, burst): (AnsweredRates, Option<AnsweredRates>), with_burst: bool) -> bool {
        let per_mille = if with_burst { 2 } else { 50 };
        let near = |a: u64, b: u64| a.abs_diff(b).saturating_mul(1000) <= a.max(b).saturating_mul(per_mille);
        let both = |a: AnsweredRates, b: AnsweredRates| near(a.iops, b.iops) && near(a.bytes, b.bytes);
        let most = |plain: AnsweredRates, burst: Option<AnsweredRates>| burst.unwrap_or(plain);
        both(plain, self.plain) && (!with_burst || both(most(plain, burst), most(self.plain, self.burst)))
    }

    /// The parts of its entry; what no answer says is kept from the entry that it replaces.
    fn parts(&self, entry: Option<&VmEntry>, without_premium: &[String]) -> Vec<String> {
        let burst = self.burst.map_or_else(String::new, |burst| format!(", burst = {{ {} }}", rates_text(burst)));
        let mut parts =
            vec![format!("vcpus = {}", self.vcpus), format!("uncached = {{ {}{burst} }}", rates_text(self.plain))];
        parts.extend(self.cached.map(|(iops, read, write)| {
            format!("cached = {{ iops = \"{iops} IOPS\", throughput = {{ read = \"{read} B/s\", write = \"{write} B/s\" }} }}")
        }));
        parts.extend(self.data_disks.map(|most| format!("data_disks = {most}")));
        if self.takes_no_premium {
            let families: Vec<String> = without_premium.iter().map(|family| quoted(family)).collect();
            parts.push(format!("takes_no = [{}]", families.join(", ")));
        }
        if let Some(entry) = entry {
            parts.extend(entry.queues_in_order.then(|| "queues_in_order = true".to_owned()));
            parts.extend(entry.device_queues.map(|queues| format!("device_queues = {queues}")));
        }
        parts
    }
}
