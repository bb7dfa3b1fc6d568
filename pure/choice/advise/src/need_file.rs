//! Need files: a need as TOML (`docs/formats/need.md`).

use crate::need::{Asked, Need, Rates, Wanted};
use loadline_catalog::Architecture;
use loadline_document::{DocumentError, Fields, Item, Reader, Synonym, nested};
use loadline_units::{ByteRate, Bytes, Duration, Growth, Iops, Ratio, SECTOR};
use loadline_workload::{LatencyFigure, Objective};

/// The version of the need format that is read here.
pub const NEED_SCHEMA: u64 = 1;

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
        Some(Bytes::new(size.next_multiple_of(SECTOR.get())))
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
            reader.top_fields("", top, "a need", read)
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

fn read(t: &mut Fields<'_, '_, '_, '_>) -> NeedFile {
    t.item("schema");
    let name = t.get("name", Reader::name).unwrap_or_else(|| "need".to_owned());
    let numbers = NeedNumbers {
        iops: t.get("iops", Reader::quantity),
        throughput: t.get("throughput", Reader::quantity),
        reads: t.get("reads", Reader::quantity),
        block: t.get("block", block),
        read_block: t.get("read_block", block),
        write_block: t.get("write_block", block),
    };
    let mut need = Need::steady(&name, Rates::default(), Bytes::ZERO);
    need.sequential = t.get("sequential", Reader::switch).unwrap_or(false);
    need.objective = t.get("objective", objective);
    need.size = t.get("size", Reader::quantity).unwrap_or(Bytes::ZERO);
    need.growth = t.get("growth", Reader::quantity).unwrap_or(Growth::ZERO);
    need.hot = t.get("hot", Reader::quantity);
    need.sure = t.get("sure", Reader::quantity).unwrap_or(need.sure);
    need.time_met = t.get("time_met", Reader::quantity).unwrap_or(need.time_met);
    let from = t.get("from", texts).unwrap_or_default();
    let wanted = &mut need.wanted;
    t.get("machine", |reader, key, item| reader.fields(key, item, "{ vcpus = 4 }", |t| machine(t, wanted)));
    t.get("disks", |reader, key, item| reader.fields(key, item, "{ most = 8 }", |t| disks(t, wanted)));
    t.get("place", |reader, key, item| {
        reader.fields(key, item, "{ providers = [\"azure\"] }", |t| {
            wanted.providers = t.get("providers", texts).unwrap_or_default();
            wanted.regions = t.get("region", texts).unwrap_or_default();
        })
    });
    let reader = &mut *t.reader;
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
    if size == Bytes::ZERO || !size.get().is_multiple_of(SECTOR.get()) {
        reader.problem(item.span(), key, "is not a multiple of 512 B above 0".into());
        return None;
    }
    Some(size)
}

#[expect(clippy::unnecessary_wraps, reason = "a reader of a value may find none")]
fn texts(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<String>> {
    Some(reader.values(key, item).into_iter().filter_map(|item| reader.text(key, item)).collect())
}

/// `objective = { p99 = "10 ms" }`.
fn objective(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Objective> {
    let names: Vec<&str> = LatencyFigure::ALL.iter().map(|figure| figure.name()).collect();
    let found = reader.table(key, item, &names, "{ p99 = \"10 ms\" }")?;
    let [(name, value)] = found[..] else {
        reader.problem(item.span(), key, "is not one figure: write { p99 = \"10 ms\" }".into());
        return None;
    };
    let of = LatencyFigure::ALL.into_iter().find(|figure| figure.name() == name)?;
    let limit: Duration = reader.quantity(&nested(key, name), value)?;
    Some(Objective { of, limit })
}

fn machine(t: &mut Fields<'_, '_, '_, '_>, wanted: &mut Wanted) {
    wanted.vcpus = t.get("vcpus", Reader::positive);
    wanted.memory = t.get("memory", Reader::quantity);
    wanted.machines = t.get("names", texts).unwrap_or_default();
    wanted.architecture = t.get("architecture", architecture);
    wanted.cpu_credits = t.get("cpu_credits", Reader::switch).unwrap_or(wanted.cpu_credits);
    if let Some(item) = t.item("os_disk") {
        let is_none = item.get_ref().as_str() == Some("none");
        wanted.os_disk = if is_none { None } else { t.get("os_disk", Reader::quantity) };
    }
}

fn architecture(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Architecture> {
    let name = reader.text(key, item)?;
    let found = Architecture::ALL.into_iter().find(|one| one.name() == name);
    if found.is_none() {
        reader.problem(item.span(), key, "is \"x86_64\" or \"arm64\"".into());
    }
    found
}

fn disks(t: &mut Fields<'_, '_, '_, '_>, wanted: &mut Wanted) {
    wanted.disks = t.get("names", texts).unwrap_or_default();
    wanted.disks_max = t.get("most", |reader, key, item| reader.count_u32(key, item, 64)).unwrap_or(wanted.disks_max);
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
            (wanted.providers.as_slice(), wanted.regions.as_slice()),
            (&["azure".to_owned()][..], &["eastus".to_owned()][..])
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
