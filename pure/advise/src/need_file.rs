//! Need files: a need as TOML (`docs/formats/need.md`).

use crate::need::{Asked, Need, Rates, Wanted};
use loadline_document::{DocumentError, Item, Reader, Synonym, entries, nested};
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use loadline_workload::{LatencyFigure, Objective};
use toml::de::DeTable;

/// The version of the need format that is read here.
pub const NEED_SCHEMA: u64 = 1;

/// Sizes of requests are whole sectors.
const SECTOR: u64 = 512;

const TOP_KEYS: &[&str] = &[
    "schema",
    "name",
    "iops",
    "throughput",
    "reads",
    "block",
    "read_block",
    "write_block",
    "sequential",
    "objective",
    "size",
    "growth",
    "hot",
    "sure",
    "time_met",
    "from",
    "machine",
    "disks",
    "place",
];
const SYNONYMS: &[Synonym] = &[
    ("rate", "iops"),
    ("read_share", "reads"),
    ("block_size", "block"),
    ("bs", "block"),
    ("capacity", "size"),
    ("p99", "objective"),
    ("latency", "objective"),
    ("share_of_time", "time_met"),
    ("working_set", "hot"),
    ("provider", "place"),
    ("region", "place"),
    ("vcpus", "machine"),
    ("memory", "machine"),
];
/// A size of request, where only bytes per second are given.
const BLOCK_OF_THROUGHPUT: Bytes = Bytes::kib(256);
/// A size of request, where nothing says another.
pub const BLOCK_DEFAULT: Bytes = Bytes::kib(8);
/// The share of reads, where nothing says another.
pub const READS_DEFAULT: Ratio = Ratio::percent(70);

/// Figures of a steady need, as they are typed or written; `None`: not given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NeedNumbers {
    /// Requests per second.
    pub iops: Option<Iops>,
    /// Bytes per second.
    pub throughput: Option<ByteRate>,
    /// Share of reads.
    pub reads: Option<Ratio>,
    /// Size of a request.
    pub block: Option<Bytes>,
    /// Size of a read, if it differs.
    pub read_block: Option<Bytes>,
    /// Size of a write, if it differs.
    pub write_block: Option<Bytes>,
}

impl NeedNumbers {
    /// The rates; `None` if neither requests nor bytes per second are given.
    ///
    /// Of both the one that asks for more requests counts; without a size of requests, both give it.
    #[must_use]
    pub fn rates(&self) -> Option<Rates> {
        let reads = self.reads.unwrap_or(READS_DEFAULT).as_f64();
        let default = if self.iops.is_none() { BLOCK_OF_THROUGHPUT } else { BLOCK_DEFAULT };
        let block = self.block.or_else(|| self.size_of_both()).unwrap_or(default);
        let read_size = self.read_block.unwrap_or(block).get() as f64;
        let write_size = self.write_block.unwrap_or(block).get() as f64;
        let mean = reads * read_size + (1.0 - reads) * write_size;
        let by_bytes = self.throughput.map(|rate| rate.get() as f64 / mean.max(1.0));
        let all = self.iops.map(|iops| iops.get() as f64).into_iter().chain(by_bytes).max_by(f64::total_cmp)?;
        Some(Rates { reads_per_s: all * reads, writes_per_s: all * (1.0 - reads), read_size, write_size })
    }

    /// The size of a request, if requests and bytes per second are given and no size is: whole sectors.
    #[must_use]
    pub fn size_of_both(&self) -> Option<Bytes> {
        if self.block.is_some() || self.read_block.is_some() || self.write_block.is_some() {
            return None;
        }
        let size = self.throughput?.get() / self.iops?.get();
        Some(Bytes::new(size.next_multiple_of(SECTOR)))
    }
}

/// A need file as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct NeedFile {
    /// The need. If it is recorded, its rates are not known yet.
    pub need: Need,
    /// The figures of a steady need.
    pub numbers: NeedNumbers,
    /// Files of the recorded demand, as written.
    pub from: Vec<String>,
}

impl NeedFile {
    /// Reads a need from TOML; `source` names the text in errors.
    ///
    /// # Errors
    /// Every problem of the text, with its place.
    pub fn parse(text: &str, source: &str) -> Result<Self, DocumentError> {
        Reader::read(text, source, SYNONYMS, |reader, top| {
            reader.schema(top, NEED_SCHEMA, "need")?;
            for (key, _) in entries(top) {
                if !TOP_KEYS.contains(&&**key.get_ref()) {
                    reader.unknown_key("", key, TOP_KEYS, "a need");
                }
            }
            Some(read(reader, top))
        })
    }
}

/// Whether a text is a need file: TOML that asks for a rate or names a record.
#[must_use]
pub fn is_need(text: &str) -> bool {
    let begins = |key: &str| {
        text.lines()
            .any(|line| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')))
    };
    begins("schema") && ["iops", "throughput", "from"].into_iter().any(begins)
}

fn read(reader: &mut Reader<'_>, top: &DeTable<'_>) -> NeedFile {
    let name = top.get("name").and_then(|item| reader.name("name", item)).unwrap_or_else(|| "need".to_owned());
    let mut numbers = NeedNumbers::default();
    let mut need = Need::steady(&name, Rates::default(), Bytes::ZERO);
    let mut from = Vec::new();
    for (key, item) in entries(top) {
        let key: &str = key.get_ref();
        match key {
            "iops" => numbers.iops = reader.quantity(key, item),
            "throughput" => numbers.throughput = reader.quantity(key, item),
            "reads" => numbers.reads = reader.quantity(key, item),
            "block" => numbers.block = block(reader, key, item),
            "read_block" => numbers.read_block = block(reader, key, item),
            "write_block" => numbers.write_block = block(reader, key, item),
            "sequential" => need.sequential = reader.switch(key, item).unwrap_or(false),
            "objective" => need.objective = objective(reader, item),
            "size" => need.size = reader.quantity(key, item).unwrap_or(Bytes::ZERO),
            "growth" => need.growth = reader.quantity(key, item).unwrap_or(Ratio::ZERO),
            "hot" => need.hot = reader.quantity(key, item),
            "sure" => need.sure = reader.quantity(key, item).unwrap_or(need.sure),
            "time_met" => need.time_met = reader.quantity(key, item).unwrap_or(need.time_met),
            "from" => from = texts(reader, key, item),
            "machine" => machine(reader, item, &mut need.wanted),
            "disks" => disks(reader, item, &mut need.wanted),
            "place" => place(reader, item, &mut need.wanted),
            _ => {}
        }
    }
    if need.size == Bytes::ZERO {
        reader.problem(0..0, "size", "is missing: write size = \"500 GiB\", what the volume must hold".into());
    }
    if from.is_empty() {
        match numbers.rates() {
            Some(rates) => need.asked = Asked::Steady(rates),
            None => reader.problem(
                0..0,
                "iops",
                "is missing: write iops = \"9000 IOPS\", throughput, or from = [\"iostat.txt\"]".into(),
            ),
        }
    }
    NeedFile { need, numbers, from }
}

fn block(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Bytes> {
    let size: Bytes = reader.quantity(key, item)?;
    if size == Bytes::ZERO || !size.get().is_multiple_of(512) {
        reader.problem(item.span(), key, "is not a multiple of 512 B above 0".into());
        return None;
    }
    Some(size)
}

fn texts(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Vec<String> {
    reader.values(key, item).into_iter().filter_map(|item| reader.text(key, item)).collect()
}

/// `objective = { p99 = "10 ms" }`.
fn objective(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Objective> {
    let names: Vec<&str> = LatencyFigure::ALL.iter().map(|figure| figure.name()).collect();
    let found = reader.table("objective", item, &names, "{ p99 = \"10 ms\" }")?;
    let [(name, value)] = found[..] else {
        reader.problem(item.span(), "objective", "is not one figure: write { p99 = \"10 ms\" }".into());
        return None;
    };
    let of = LatencyFigure::ALL.into_iter().find(|figure| figure.name() == name)?;
    let limit: Duration = reader.quantity(&nested("objective", name), value)?;
    Some(Objective { of, limit })
}

fn machine(reader: &mut Reader<'_>, item: &Item<'_>, wanted: &mut Wanted) {
    let keys = ["vcpus", "memory", "names", "cpu_credits", "os_disk"];
    for (name, value) in reader.table("machine", item, &keys, "{ vcpus = 4 }").unwrap_or_default() {
        let key = nested("machine", name);
        match name {
            "vcpus" => wanted.vcpus = reader.count_u32(&key, value, u32::MAX),
            "memory" => wanted.memory = reader.quantity(&key, value),
            "names" => wanted.machines = texts(reader, &key, value),
            "cpu_credits" => wanted.cpu_credits = reader.switch(&key, value).unwrap_or(true),
            _ if value.get_ref().as_str() == Some("none") => wanted.os_disk = None,
            _ => wanted.os_disk = reader.quantity(&key, value),
        }
    }
}

fn disks(reader: &mut Reader<'_>, item: &Item<'_>, wanted: &mut Wanted) {
    for (name, value) in reader.table("disks", item, &["names", "most"], "{ most = 8 }").unwrap_or_default() {
        let key = nested("disks", name);
        match name {
            "names" => wanted.disks = texts(reader, &key, value),
            _ => wanted.disks_max = reader.count_u32(&key, value, 64).unwrap_or(wanted.disks_max),
        }
    }
}

fn place(reader: &mut Reader<'_>, item: &Item<'_>, wanted: &mut Wanted) {
    for (name, value) in
        reader.table("place", item, &["providers", "region"], "{ providers = [\"azure\"] }").unwrap_or_default()
    {
        let key = nested("place", name);
        match name {
            "providers" => wanted.providers = texts(reader, &key, value),
            _ => wanted.region = reader.text(&key, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_read_with_every_key() {
        let text = "schema = 1\nname = \"orders\"\niops = \"9000 IOPS\"\nreads = \"70 %\"\nblock = \"8 KiB\"\nwrite_block = \"16 KiB\"\n\
                    objective = { p99 = \"10 ms\" }\nsize = \"500 GiB\"\ngrowth = \"20 %\"\nhot = \"50 GiB\"\nsure = \"90 %\"\n\
                    machine = { vcpus = 4, memory = \"16 GiB\", os_disk = \"none\", cpu_credits = false }\n\
                    disks = { most = 8 }\nplace = { providers = [\"azure\"], region = \"eastus\" }\n";
        assert!(is_need(text));
        let found = NeedFile::parse(text, "need.toml").unwrap();
        let Asked::Steady(rates) = &found.need.asked else { panic!("a steady need") };
        assert!((rates.reads_per_s - 6_300.0).abs() < 1e-6 && (rates.write_size - 16_384.0).abs() < 1e-6);
        assert_eq!(found.need.objective_ns(), Some(10_000_000));
        assert_eq!(found.need.size_in_the_end(), Bytes::gib(600));
        let wanted = &found.need.wanted;
        assert_eq!((wanted.vcpus, wanted.memory, wanted.os_disk), (Some(4), Some(Bytes::gib(16)), None));
        assert_eq!((wanted.disks_max, wanted.cpu_credits), (8, false));
        assert_eq!(
            (wanted.providers.as_slice(), wanted.region.as_deref()),
            (&["azure".to_owned()][..], Some("eastus"))
        );
    }

    #[test]
    fn what_is_missing_or_unknown_is_named_with_its_place() {
        let told = |text: &str| NeedFile::parse(text, "n.toml").unwrap_err().to_string();
        let all = told("schema = 1\nreads = \"70 %\"\nblok = \"8 KiB\"\n");
        for part in ["size: is missing", "iops: is missing", "n.toml:3:1: blok", "block"] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(told("schema = 1\niops = \"1 IOPS\"\nsize = \"1 GiB\"\nblock = \"700 B\"\n").contains("512"));
        assert!(!is_need("schema = 1\nname = \"p\"\n[[load]]\nblock = [\"8 KiB\"]\n"));
    }

    #[test]
    fn bytes_per_second_alone_are_large_requests_and_both_rates_must_be_met() {
        let rate = ByteRate::per_second(256 << 20);
        let numbers = NeedNumbers { throughput: rate, ..NeedNumbers::default() };
        assert!((numbers.rates().unwrap().requests_per_s() - 1_024.0).abs() < 1e-6);
        let both = NeedNumbers { iops: Iops::per_second(100), block: Some(Bytes::kib(256)), ..numbers };
        assert!((both.rates().unwrap().requests_per_s() - 1_024.0).abs() < 1e-6);
        assert_eq!(NeedNumbers::default().rates(), None);
    }
}
