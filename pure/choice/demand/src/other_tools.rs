//! Outputs that people bring and that say no demand: known by their own words, each with what says it.

use crate::error::DemandError;

/// Lines within which an output shows what it is.
const LINES: usize = 60;

/// An output of a tool: it has all of some words, in its first lines.
struct Output {
    marks: &'static [&'static str],
    what: &'static str,
    remedy: &'static str,
}

const CLOUD_WATCH: &str = "take the JSON that `aws cloudwatch get-metric-data` prints (--metric-data-queries file://queries.json --start-time FROM \
                           --end-time TO)";
const AZURE: &str = "take the JSON: `az monitor metrics list --resource ID --interval PT1M --metrics \"Data Disk Read Operations/Sec\" \"Data Disk \
                     Write Operations/Sec\" \"Data Disk Read Bytes/sec\" \"Data Disk Write Bytes/sec\" -o json > metrics.json`";
const GOOGLE: &str = "take the JSON: `curl -H \"Authorization: Bearer $(gcloud auth print-access-token)\" \
                      \"https://monitoring.googleapis.com/v3/projects/PROJECT/timeSeries?filter=...\" > metrics.json`, with perSeriesAligner=ALIGN_RATE";
const RECORD: &str =
    "record the requests with `loadline record DEVICE -o app.trace`, or their rates with `iostat -xdt 60 > iostat.txt`";
const SADF: &str =
    "take the disks from the day's file: `sadf -j FILE -- -d > day.json`, or record with `iostat -xdt 60 > iostat.txt`";
const IOSTAT: &str = "record with `iostat -xdt 60 > iostat.txt`";

/// In this order: the more special first.
const OUTPUTS: [Output; 30] = [
    Output { marks: &["VolumeReadOps", ","], what: "CloudWatch's metrics as a table", remedy: CLOUD_WATCH },
    Output { marks: &["VolumeWriteOps", ","], what: "CloudWatch's metrics as a table", remedy: CLOUD_WATCH },
    Output { marks: &["ReadIOPS", ","], what: "CloudWatch's metrics as a table", remedy: CLOUD_WATCH },
    Output { marks: &["WriteIOPS", ","], what: "CloudWatch's metrics as a table", remedy: CLOUD_WATCH },
    Output { marks: &["EBSReadOps", ","], what: "CloudWatch's metrics as a table", remedy: CLOUD_WATCH },
    Output { marks: &["TimeGenerated", ","], what: "a table of Azure's Log Analytics", remedy: AZURE },
    Output { marks: &["Disk Read Operations/Sec"], what: "Azure Monitor's metrics as a table", remedy: AZURE },
    Output { marks: &["Disk Read Bytes"], what: "Azure Monitor's metrics as a table", remedy: AZURE },
    Output { marks: &["TimeSeries ID"], what: "Google Cloud's metrics as a table", remedy: GOOGLE },
    Output { marks: &["compute.googleapis.com/"], what: "Google Cloud's metrics as a table", remedy: GOOGLE },
    Output {
        marks: &["TIME(ms)", "DISK", "LAT(ms)"],
        what: "the text of bpftrace's biosnoop, which has neither directions nor sizes",
        remedy: RECORD,
    },
    Output {
        marks: &["I/O size (bytes) histograms"],
        what: "the text of bpftrace's bitesize, which has sizes and no rates",
        remedy: RECORD,
    },
    Output {
        marks: &["Tracing block device I/O"],
        what: "histograms of bpftrace or bcc, which have no rates",
        remedy: RECORD,
    },
    Output {
        marks: &["Total DISK READ"],
        what: "the screen of iotop, which has bytes and no requests",
        remedy: IOSTAT,
    },
    Output {
        marks: &["dsk/", "\u{2502}"],
        what: "the screen of dool",
        remedy: "record with `dool -tdr --bytes --output dool.csv 60`",
    },
    Output { marks: &["-dsk/"], what: "the screen of dstat", remedy: "record with `dstat -tdr --output dstat.csv 60`" },
    Output { marks: &["<sysstat"], what: "sysstat's XML", remedy: SADF },
    Output { marks: &["\ttps\t"], what: "the text of `sadf -p`", remedy: SADF },
    Output { marks: &["hostname;interval;timestamp"], what: "a table of sadf without disks", remedy: SADF },
    Output { marks: &["\nLinux ", " CPU)"], what: "the text of sysstat without disks", remedy: SADF },
    Output {
        marks: &["disk- -", "reads---"],
        what: "the counters of `vmstat -d`, whose intervals are not told",
        remedy: IOSTAT,
    },
    Output {
        marks: &["KB/t", "tps", "MB/s"],
        what: "the text of iostat of macOS or BSD, which counts reads and writes together",
        remedy: "say the need itself: its rate of requests, their size, and the share of reads",
    },
    Output {
        marks: &["capacity ", "operations ", "bandwidth"],
        what: "the text of `zpool iostat`, whose requests are those of a pool before its layout",
        remedy: "record its disks: `iostat -xdt 60 > iostat.txt`",
    },
    Output {
        marks: &["xfers", "%tm", "bread"],
        what: "the text of iostat of AIX",
        remedy: "say the need itself: its rate of requests, their size, and the share of reads",
    },
    Output { marks: &["procs ---", "memory---"], what: "the text of vmstat, which has no requests", remedy: IOSTAT },
    Output { marks: &["\nnode_disk_"], what: "one moment of node_exporter's counters", remedy: PROMETHEUS },
    Output {
        marks: &["tps = ", "latency average"],
        what: "a result of pgbench, which counts transactions and no requests of storage",
        remedy: "record the storage while it runs: `loadline watch DEVICE` or `iostat -xdt 1 > iostat.txt`",
    },
    Output { marks: &["avque", "avserv"], what: "the text of atopsar", remedy: IOSTAT },
    Output { marks: &["fio-", "IOPS="], what: "a result of fio", remedy: IMPORT },
    Output { marks: &["requests completed in"], what: "a result of ioping", remedy: IMPORT },
];

const PROMETHEUS: &str = "ask Prometheus for a range: `promtool query range -o json --start=FROM --end=TO --step=60s URL \
                          '{__name__=~\"node_disk_.*_total\"}' > disk.json`";
const IMPORT: &str = "what a measurement got goes to `loadline import`; what an application asks is recorded while it runs: `loadline watch DEVICE`";

/// Metrics that count something else than requests, by a name that they have.
const METRICS: [Output; 5] = [
    Output { marks: &["physical_data_read_percent"], what: AZURE_SQL, remedy: SQL_FILES },
    Output { marks: &["log_write_percent"], what: AZURE_SQL, remedy: SQL_FILES },
    Output { marks: &["dtu_consumption_percent"], what: AZURE_SQL, remedy: SQL_FILES },
    Output { marks: &["VolumeReadIOPs"], what: AURORA, remedy: AURORA_INSTANCES },
    Output { marks: &["VolumeWriteIOPs"], what: AURORA, remedy: AURORA_INSTANCES },
];

const AZURE_SQL: &str = "Azure SQL's metrics, which are shares of its tier's limits and no requests";
const SQL_FILES: &str = "query sys.dm_io_virtual_file_stats(NULL, NULL) twice, and write the requests and bytes of a second into a need file";
const AURORA: &str = "Aurora's requests of a whole cluster, without their bytes";
const AURORA_INSTANCES: &str =
    "take the metrics of its instances: ReadIOPS, WriteIOPS, ReadThroughput and WriteThroughput of AWS/RDS";

/// Metrics of disks among which nothing counts requests.
pub(crate) fn without_requests(of: &str, source_name: &str) -> DemandError {
    let remedy = if of == "CloudWatch" {
        "ask for the operations and bytes, too: VolumeReadOps, VolumeWriteOps, VolumeReadBytes and VolumeWriteBytes (of a database ReadIOPS, \
         WriteIOPS, ReadThroughput and WriteThroughput)"
    } else {
        AZURE
    };
    DemandError::Missing {
        source_name: source_name.to_owned(),
        missing: "requests".to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// An answer of Prometheus that is no course of counters.
pub(crate) fn prometheus_error(is_moment: bool, source_name: &str) -> DemandError {
    let what = if is_moment {
        "an answer of Prometheus for one moment, of which no rate follows"
    } else {
        "an answer of Prometheus to an expression, whose series have no names of counters"
    };
    DemandError::OtherTool { source_name: source_name.to_owned(), what, remedy: PROMETHEUS }
}

/// Why these metrics give no demand.
pub(crate) fn metrics_error(found: Vec<String>, source_name: &str) -> DemandError {
    let source_name = source_name.to_owned();
    let known = METRICS.iter().find(|of| found.iter().any(|name| of.marks.contains(&name.as_str())));
    match known {
        Some(of) => DemandError::OtherTool { source_name, what: of.what, remedy: of.remedy },
        None => DemandError::UnknownMetrics { source_name, found },
    }
}

/// Why a text that is none of the forms gives no demand.
pub(crate) fn error(text: &str, source_name: &str) -> DemandError {
    let source_name = source_name.to_owned();
    let head: String = text.lines().take(LINES).flat_map(|line| ["\n", line]).collect();
    let known = OUTPUTS.iter().find(|output| output.marks.iter().all(|mark| head.contains(mark)));
    match known {
        Some(output) => DemandError::OtherTool { source_name, what: output.what, remedy: output.remedy },
        None => DemandError::Unknown { source_name },
    }
}
