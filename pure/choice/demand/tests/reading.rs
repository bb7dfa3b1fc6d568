//! Monitoring files in every form: the figures to the digit, in any locale, and refusals that show what is not known.

use std::fmt::Write as _;

use loadline_demand::{AtLimit, Demand, DemandError, Form, ReadOptions, form_of, read};

fn of(text: &str) -> Demand {
    read(text.as_bytes(), "file", &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
fn with(text: &str, interval_s: f64) -> Demand {
    let options = ReadOptions { interval_s: Some(interval_s), ..ReadOptions::default() };
    read(text.as_bytes(), "file", &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
fn refused(text: &str) -> String {
    read(text.as_bytes(), "file", &ReadOptions::default()).unwrap_err().to_string()
}

/// 500 reads of 8 KiB and 100 writes of 16 KiB per second.
fn is_the_sample(demand: &Demand, latency_ms: f64, in_flight: f64) {
    let one = demand.intervals.last().unwrap();
    let near = |value: f64, expected: f64| (value - expected).abs() < 0.01 * expected;
    assert!(near(one.reads_per_s, 500.0) && near(one.writes_per_s, 100.0), "{one:?}");
    assert!(near(one.read_bytes_per_s, 4_096_000.0) && near(one.write_bytes_per_s, 1_638_400.0), "{one:?}");
    assert!(near(one.latency_ns.unwrap(), latency_ms * 1e6), "{one:?}");
    assert!(near(one.in_flight.unwrap(), in_flight), "{one:?}");
}

const BLOCK_9: &str = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n\
    sdb               0.00    20.00  500.00  100.00  4000.00  1600.00    18.67    11.00   18.33   20.00   10.00   1.66  99.50\n\n";
const BLOCK_11_6: &str = "Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util\n\
    sdb            500.00  100.00   4000.00   1600.00     0.00    20.00   0.00  16.67   20.00   10.00  11.00     8.00    16.00   1.66  99.50\n\n";
const BLOCK_12: &str = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n\
    sdb           500.00   4000.00     0.00   0.00   20.00     8.00  100.00   1600.00    20.00  16.67   10.00    16.00    0.00      0.00     0.00   0.00    0.00     0.00    2.00    4.00   11.01  99.50\n\n";
const BLOCK_MEGABYTES: &str = "Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await  svctm  %util\n\
    sdb               0.00    20.00  500.00  100.00     3.91     1.56    18.67    11.00   18.33   1.66  99.50\n\n";
const BLOCK_SECTORS: &str = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n\
    sdb               0.00    20.00  500.00  100.00  8000.00  3200.00    18.67    11.00   18.33   1.66  99.50\n\n";

#[test]
fn iostat_of_every_generation_reads_the_same() {
    for block in [BLOCK_9, BLOCK_11_6, BLOCK_12, BLOCK_MEGABYTES, BLOCK_SECTORS] {
        let text = format!(
            "Linux 6.1.0 (sample) \t05/06/24 \t_x86_64_\t(2 CPU)\n\n05/06/24 07:08:09\n{block}05/06/24 07:09:09\n{block}"
        );
        assert_eq!(form_of(&text), Some(Form::Iostat));
        let demand = of(&text);
        assert_eq!(demand.intervals.len(), 1, "the block since boot is left out");
        assert!((demand.intervals[0].length_s - 60.0).abs() < 1e-9);
        is_the_sample(&demand, 18.33, 11.0);
        // The same in a locale with decimal commas, with line ends of Windows, and cut within its last line.
        let comma: String = text
            .lines()
            .map(|line| if line.contains("sdb") { line.replace('.', ",") } else { line.to_owned() } + "\r\n")
            .collect();
        is_the_sample(&of(&comma), 18.33, 11.0);
        let quoted: String = text.lines().flat_map(|line| ["> ", line, "\n"]).collect();
        is_the_sample(&of(&quoted), 18.33, 11.0);
        let cut = format!("{text}05/06/24 07:10:09\n{}", &block[..block.len() - 60]);
        is_the_sample(&of(&cut), 18.33, 11.0);
    }
}

#[test]
fn a_counter_that_ran_over_is_left_out_with_its_place() {
    let head = "Linux 6.1.0 (sample) \t05/06/24 \t_x86_64_\t(2 CPU)\n\n";
    let at = |minute: u32, block: &str| format!("05/06/24 07:{minute:02}:09\n{block}");
    for (from, to) in [("100.00   1600.00", "18446744073709551615.00   1600.00"), ("4000.00", "1e19")] {
        let broken = BLOCK_12.replace(from, to);
        assert_ne!(broken, BLOCK_12);
        let text = [head.to_owned(), at(8, BLOCK_12), at(9, &broken), at(10, BLOCK_12), at(11, &broken)].concat();
        let demand = of(&text);
        assert_eq!(demand.intervals.len(), 1, "{:?}", demand.intervals);
        is_the_sample(&demand, 18.33, 11.0);
        let note = demand.notes.iter().find(|note| note.starts_with("interval 1 of 3 has")).unwrap();
        assert!(note.ends_with("it is left out, and so is another like it"), "{note}");
        let error = refused(&[head.to_owned(), at(8, BLOCK_12), at(9, &broken)].concat());
        assert!(error.contains("no other interval is left"), "{error}");
    }
}

#[test]
fn one_report_needs_no_length_and_an_idle_disk_is_named() {
    let header = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n";
    let since_boot =
        of(&format!("Linux 6.1 (h) \t06/01/26 \t_x86_64_\t(9 CPU)\n\n{header}sda 100 800 1 50 400 1 0.1 9\n\n"));
    assert!((since_boot.intervals[0].requests_per_s() - 150.0).abs() < 1e-9);
    assert!(since_boot.notes[0].contains("one block"), "{:?}", since_boot.notes);
    let json = r#"{"sysstat": {"hosts": [{"statistics": [{"disk": [
        {"disk_device": "sda", "r/s": 100.0, "w/s": 50.0, "rkB/s": 800.0, "wkB/s": 400.0}]}]}]}}"#;
    assert_eq!(of(json).notes, since_boot.notes);
    let zero = "sda 0 0 0 0 0 0 0 0\nsdb 0 0 0 0 0 0 0 0\n\n";
    let idle = refused(&format!("Linux 6.1 (h) \t06/01/26 \t_x86_64_\t(9 CPU)\n\n{header}{zero}"));
    assert!(idle.contains("no interval has a request to sda, sdb: record while"), "{idle}");
}

#[test]
fn iostat_of_other_systems_has_the_same_figures() {
    let free_bsd = "                        extended device statistics  \n\
        device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b  \n";
    let solaris = "                    extended device statistics              \n\
        \x20   r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n";
    for (header, row) in [
        (free_bsd, "nvd0         500     100   4000.0   1600.0    20    10     0    18   11  99 \n"),
        (solaris, "  500.0  100.0 4000.0 1600.0  0.0 11.0    0.0   18.3   0  99 c1t1d0\n"),
    ] {
        let text = format!("{header}{row}{header}{row}");
        let demand = with(&text, 60.0);
        assert_eq!(demand.intervals.len(), 1);
        let one = demand.intervals[0];
        assert_eq!((one.reads_per_s, one.writes_per_s, one.read_bytes_per_s), (500.0, 100.0, 4_096_000.0));
        assert_eq!(one.latency_ns.is_some(), header == solaris);
    }
    let mac = "              disk0       cpu    load average\n    KB/t  tps  MB/s  us sy id   1m   5m   15m\n   20.35   45  0.89   3  2 95  1.72 1.95 2.01\n";
    assert!(refused(mac).contains("iostat of macOS"), "{}", refused(mac));
}

#[test]
fn what_lacks_requests_is_answered_with_what_to_ask_for() {
    let balance = r#"{"MetricDataResults": [{"Id": "m1", "Label": "BurstBalance", "Timestamps": ["2022-03-01T10:05:00+00:00"], "Values": [55.0]}]}"#;
    assert!(refused(balance).contains("lacks requests: ask for the operations"), "{}", refused(balance));
    let consumed = azure(&[("VM Uncached IOPS Consumed Percentage", &[Some(12.0), Some(13.0)])]);
    assert!(refused(&consumed).contains("lacks requests"), "{}", refused(&consumed));
    let of = |metric: &str, values: &str| {
        format!(r#"{{"status":"success","data":{{"result":[{{"metric":{{{metric}"device":"sda"}},{values}}}]}}}}"#)
    };
    let moment = refused(&of(r#""__name__":"node_disk_reads_completed_total","#, r#""value":[1700000000.1,"123"]"#));
    assert!(moment.contains("for one moment"), "{moment}");
    let rate = refused(&of("", r#""values":[[1700000000,"123.4"],[1700000060,"130.1"]]"#));
    assert!(rate.contains("no names of counters"), "{rate}");
}

#[test]
fn flexible_servers_of_azure_have_names_of_their_own() {
    let minutes = |value: f64| [Some(value), Some(value)];
    let demand = of(&azure(&[
        ("read_iops", &minutes(500.0)),
        ("write_iops", &minutes(100.0)),
        ("read_throughput", &minutes(4_096_000.0)),
        ("write_throughput", &minutes(1_638_400.0)),
        ("disk_iops_consumed_percentage", &[Some(20.0), Some(99.0)]),
    ]));
    assert_eq!(demand.intervals.iter().map(|one| one.at_limit).collect::<Vec<_>>(), [None, Some(AtLimit::Reported)]);
    assert!((demand.intervals[0].requests_per_s() - 600.0).abs() < 1e-9);
}

#[test]
fn a_clock_of_twelve_hours_and_midnight_give_lengths() {
    let text = format!(
        "05/06/2024 11:59:30 PM\n{BLOCK_12}05/07/2024 12:00:30 AM\n{BLOCK_12}05/07/2024 12:01:30 AM\n{BLOCK_12}"
    );
    let lengths: Vec<f64> = of(&text).intervals.iter().map(|one| one.length_s).collect();
    assert_eq!(lengths, [60.0, 60.0]);
    assert!(matches!(
        read(BLOCK_12.repeat(2).as_bytes(), "f", &ReadOptions::default()),
        Err(DemandError::NoTimes { .. })
    ));
    assert_eq!(with(&BLOCK_12.repeat(3), 5.0).intervals.len(), 2);
}

#[test]
fn sysstat_json_of_iostat_and_of_sadf() {
    let disk = r#"{"disk_device": "sdb", "r/s": 500.0, "w/s": 100.0, "rkB/s": 4000.0, "wkB/s": 1600.0, "r_await": 20.0, "w_await": 10.0, "aqu-sz": 11.0, "util": 99.5}"#;
    let at = |time: &str| format!(r#"{{"timestamp": "2024-05-06T07:{time}+0000", "disk": [{disk}]}}"#);
    let json = format!(r#"{{"sysstat": {{"hosts": [{{"statistics": [{}, {}]}}]}}}}"#, at("08:08"), at("09:08"));
    is_the_sample(&of(&json), 18.33, 11.0);
    let disk = r#"{"disk-device": "sdb", "tps": 600.0, "rkB": 4000.0, "wkB": 1600.0, "areq-sz": 9.3, "aqu-sz": 11.0, "await": 18.33, "util-percent": 99.5}"#;
    let json = format!(
        r#"{{"sysstat": {{"hosts": [{{"statistics": [{{"timestamp": {{"date": "2024-05-06", "time": "07:10:01", "utc": 1, "interval": 600}}, "disk": [{disk}]}}]}}]}}}}"#
    );
    let demand = of(&json);
    assert!((demand.intervals[0].length_s - 600.0).abs() < 1e-9);
    assert!((demand.intervals[0].requests_per_s() - 600.0).abs() < 1e-6);
    assert!(demand.notes.iter().any(|note| note.contains("split by their bytes")), "{:?}", demand.notes);
}

#[test]
fn sadf_and_sar_text() {
    let text = "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util\n\
        host;600;2024-05-06 07:10:01 UTC;sdb;600.00;4000.00;1600.00;0.00;9.33;11.00;18.33;99.50\n\
        host;600;2024-05-06 07:20:01 UTC;sdb;300.00;2000.00;800.00;0.00;9.33;5.00;18.33;50.00\n\
        host;-1;2024-05-06 07:25:01 UTC;LINUX-RESTART\t(2 CPU)\n";
    let demand = of(text);
    assert_eq!(demand.intervals.iter().map(|one| one.requests_per_s().round()).collect::<Vec<_>>(), [600.0, 300.0]);
    let sar = "Linux 6.1.0 (host) \t05/06/24 \t_x86_64_\t(2 CPU)\n\n\
        07:10:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util\n\
        07:20:01 AM       sdb    600.00   4000.00   1600.00      0.00      9.33     11.00     18.33     99.50\n\
        07:30:01 AM       sdb    300.00   2000.00    800.00      0.00      9.33      5.00     18.33     50.00\n\
        Average:          sdb    450.00   3000.00   1200.00      0.00      9.33      8.00     18.33     75.00\n";
    assert_eq!(form_of(sar), Some(Form::Sar));
    let demand = of(sar);
    assert_eq!(demand.intervals.len(), 2);
    assert!((demand.intervals[0].length_s - 600.0).abs() < 1e-9);
}

/// A performance log with these counters and one row of these values, quoted as Windows does.
fn log(object: &str, counters: &[&str], separator: char, rows: &[[&str; 4]]) -> String {
    let quoted = |text: &str| format!("\"{text}\"");
    let mut header = vec![quoted("(PDH-CSV 4.0) (Pacific Daylight Time)(420)")];
    header.extend(counters.iter().map(|counter| quoted(&format!("\\\\HOST\\{object}(0 C:)\\{counter}"))));
    let join = |fields: Vec<String>| fields.join(&separator.to_string()) + "\r\n";
    let mut text = join(header);
    text.push_str(&join(vec![quoted("05/06/2024 09:08:09.010"), quoted(" "), quoted(" "), quoted(" "), quoted(" ")]));
    for (index, row) in rows.iter().enumerate() {
        let mut fields = vec![quoted(&format!("05/06/2024 09:{:02}:09.010", 9 + index))];
        fields.extend(row.iter().map(|value| quoted(value)));
        text.push_str(&join(fields));
    }
    text + "\r\nExiting, please wait...\r\n"
}

#[test]
fn performance_logs_in_every_language_with_points_or_commas() {
    let rows = [["500", "100.0", "4096000", "1638400"], ["500", "100.0", "4096000", "1638400"]];
    let commas = [["500,0", "100,00000000000001", "4096000,5", "1638400"]; 2];
    let english = ["Disk Reads/sec", "Disk Writes/sec", "Disk Read Bytes/sec", "Disk Write Bytes/sec"];
    let german = ["Lesevorgänge/s", "Schreibvorgänge/s", "Bytes gelesen/s", "Bytes geschrieben/s"];
    let french = ["Lectures disque/s", "Écritures disque/s", "Lectures disque, octets/s", "Écritures disque, octets/s"];
    let spanish = [
        "Lecturas de disco/s",
        "Escrituras en disco/s",
        "Bytes de lectura de disco/s",
        "Bytes de escritura en disco/s",
    ];
    let all = [
        log("PhysicalDisk", &english, ',', &rows),
        log("LogicalDisk", &english, '\t', &rows),
        // As typeperf prints it.
        format!("\r\n{}Exiting, please wait...\r\n", log("PhysicalDisk", &english, ',', &rows)),
        log("Physikalischer Datenträger", &german, ';', &commas),
        log("Disque physique", &french, ';', &commas),
        log("Disco físico", &spanish, ',', &commas),
    ];
    for text in all {
        assert_eq!(form_of(&text), Some(Form::Perfmon), "{text}");
        let demand = of(&text);
        assert_eq!(demand.intervals.len(), 2, "{text}");
        let one = demand.intervals[1];
        assert!((one.length_s - 60.0).abs() < 1e-9 && (one.reads_per_s - 500.0).abs() < 1e-6, "{one:?}");
        assert!((one.read_bytes_per_s - 4_096_000.0).abs() < 1.0, "{one:?}");
        // As Windows saves it from its own tools.
        let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(read(&wide, "log.csv", &ReadOptions::default()).unwrap(), demand);
    }
    let told = refused(&log("PhysicalDisk", &["Disk Reads/sec", "a", "b", "c"], ',', &rows));
    assert!(told.contains("Disk Writes/sec") && told.contains("\\\\HOST\\PhysicalDisk(0 C:)\\a"), "{told}");
    assert!(matches!(read(&[0, 1, 2, 0], "log.blg", &ReadOptions::default()), Err(DemandError::BinaryLog { .. })));
}

fn azure(metrics: &[(&str, &[Option<f64>])]) -> String {
    let value: Vec<String> = metrics
        .iter()
        .map(|(name, points)| {
            let data: Vec<String> = points
                .iter()
                .enumerate()
                .map(|(minute, value)| {
                    let value = value.map_or_else(String::new, |value| format!(", \"average\": {value}"));
                    format!("{{\"timeStamp\": \"2024-05-06T07:{minute:02}:00Z\"{value}}}")
                })
                .collect();
            format!(
                "{{\"name\": {{\"value\": \"{name}\", \"localizedValue\": \"irgendwas\"}}, \"unit\": \"CountPerSecond\", \
                 \"timeseries\": [{{\"metadatavalues\": [{{\"name\": {{\"value\": \"LUN\"}}, \"value\": \"0\"}}], \"data\": [{}]}}]}}",
                data.join(", ")
            )
        })
        .collect();
    format!("{{\"interval\": \"PT1M\", \"value\": [{}]}}", value.join(", "))
}

#[test]
fn azure_monitor_by_names_with_minutes_at_the_limit_marked() {
    let text = azure(&[
        ("Data Disk Read Operations/Sec", &[Some(500.0), Some(400.0), None]),
        ("Data Disk Write Operations/Sec", &[Some(100.0), Some(100.0), Some(7.0)]),
        ("Data Disk Read Bytes/sec", &[Some(4_096_000.0), Some(3_276_800.0), None]),
        ("Data Disk Write Bytes/sec", &[Some(1_638_400.0), Some(1_638_400.0), Some(1.0)]),
        ("Data Disk IOPS Consumed Percentage", &[Some(99.0), Some(80.0), Some(1.0)]),
    ]);
    assert_eq!(form_of(&text), Some(Form::AzureMonitor));
    let demand = of(&text);
    assert_eq!(demand.devices, ["lun 0"]);
    let marks: Vec<Option<AtLimit>> = demand.intervals.iter().map(|one| one.at_limit).collect();
    assert_eq!(marks, [Some(AtLimit::Reported), None, None]);
    assert!((demand.intervals[0].length_s - 60.0).abs() < 1e-9);
    assert!((demand.limited_share() - 1.0 / 3.0).abs() < 1e-9);
    // Shares of a tier's limits are no requests, and are known for what they are.
    let told = refused(&azure(&[("physical_data_read_percent", &[Some(12.5)])]));
    assert!(told.contains("Azure SQL") && told.contains("dm_io_virtual_file_stats"), "{told}");
    let told = refused(&azure(&[("Percentage CPU", &[Some(1.0)])]));
    assert!(told.contains("Percentage CPU"), "{told}");
}

#[test]
fn cloud_watch_sums_in_any_order_become_rates() {
    let result = |label: &str, values: [f64; 3]| {
        format!(
            "{{\"Id\": \"x\", \"Label\": \"{label}\", \"Timestamps\": [\"2024-05-06T07:10:00Z\", \"2024-05-06T07:05:00Z\", \"2024-05-06T07:00:00Z\"], \
             \"Values\": [{}, {}, {}]}}",
            values[0], values[1], values[2]
        )
    };
    let all = [
        result("VolumeReadOps", [150_000.0, 120_000.0, 90_000.0]),
        result("VolumeWriteOps", [30_000.0, 30_000.0, 30_000.0]),
        result("VolumeReadBytes", [1_228_800_000.0, 983_040_000.0, 737_280_000.0]),
        result("VolumeWriteBytes", [491_520_000.0; 3]),
        result("VolumeTotalReadTime", [3_000.0, 1_200.0, 900.0]),
        result("BurstBalance", [0.0, 40.0, 90.0]),
    ];
    let text = format!("{{\"MetricDataResults\": [{}]}}", all.join(", "));
    assert_eq!(form_of(&text), Some(Form::CloudWatch));
    let demand = of(&text);
    let reads: Vec<f64> = demand.intervals.iter().map(|one| one.reads_per_s).collect();
    assert_eq!(reads, [300.0, 400.0, 500.0], "the oldest first");
    assert!((demand.intervals[2].read_size().unwrap() - 8_192.0).abs() < 1e-6);
    assert_eq!(demand.intervals.iter().map(|one| one.at_limit.is_some()).collect::<Vec<_>>(), [false, false, true]);
    let statistics = |label: &str, sum: f64| {
        format!(
            "{{\"Label\": \"{label}\", \"Datapoints\": [{{\"Timestamp\": \"2024-05-06T07:05:00Z\", \"Sum\": {sum}, \"Unit\": \"Count\"}}, \
             {{\"Timestamp\": \"2024-05-06T07:00:00Z\", \"Sum\": {sum}, \"Unit\": \"Count\"}}]}}"
        )
    };
    let text = format!("[{}, {}]", statistics("VolumeReadOps", 3_000.0), statistics("VolumeReadBytes", 12_288_000.0));
    assert!((of(&text).intervals[0].reads_per_s - 10.0).abs() < 1e-9);
    assert!(refused("{\"Label\": \"CPUUtilization\", \"Datapoints\": []}").contains("CPUUtilization"));
}

#[test]
fn what_is_nothing_of_this_says_so() {
    for text in ["", "hello", "{}", "[]", "{\"sysstat\": {}}", "schema = 1\n", "\"(PDH-CSV 4.0)\"\n", "{\"value\": []}"]
    {
        assert!(read(text.as_bytes(), "file", &ReadOptions::default()).is_err(), "{text}");
    }
}

/// A day of minutes: what an application asks, cut off at a limit, with the queue that this gives.
fn day(limit: f64, seed: u64) -> Demand {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut text = String::new();
    for minute in 0..1_440_u32 {
        let hour = f64::from(minute) / 60.0;
        let asked = 300.0 + 900.0 * (-((hour - 14.0) / 3.0).powi(2)).exp() + 120.0 * random();
        let got = asked.min(limit) * (1.0 - 0.004 * random());
        let is_full = asked >= limit;
        let in_flight = if is_full { 20.0 + 10.0 * random() } else { got * 0.0012 };
        let wait = in_flight / got * 1000.0;
        write!(
            text,
            "2024-05-06T{:02}:{:02}:00+0000\nDevice r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\n\
             sdb {:.2} {:.2} {:.2} {:.2} 0 0 0 0 {wait:.2} {wait:.2} {in_flight:.2} 8 8 0 99\n\n",
            minute / 60,
            minute % 60,
            got * 0.7,
            got * 0.3,
            got * 5.6,
            got * 2.4
        )
        .unwrap();
    }
    of(&text)
}

#[test]
fn a_throttled_source_is_called_so_and_a_free_one_is_not() {
    for seed in 1..=20 {
        let limited = day(500.0 + 20.0 * seed as f64, seed);
        assert!(limited.limited_share() > 0.05, "seed {seed}: {}", limited.limited_share());
        assert_eq!(limited.limited_by(), Some(AtLimit::LevelRequests), "seed {seed}");
        let free = day(1e9, seed);
        assert!(free.limited_share() < 1e-9, "seed {seed}: {}", free.limited_share());
    }
}

#[test]
fn a_throttle_before_the_device_shows_no_queue_and_is_called_so_all_the_same() {
    let second = |index: u32, rate: f64| {
        format!(
            "2024-05-06T07:{:02}:{:02}+0000\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n\
             loop0 {:.2} 0.00 {:.2} 0.00 0.10 0.00 0.05 9\n\n",
            index / 60,
            index % 60,
            rate,
            rate * 8.0
        )
    };
    let throttled: String =
        (0..90).map(|index| second(index, if index < 3 { 900.0 } else { 500.0 + f64::from(index % 5) })).collect();
    let demand = of(&throttled);
    assert_eq!(demand.limited_by(), Some(AtLimit::LevelBeforeDevice));
    assert!(demand.limited_share() > 0.9, "{}", demand.limited_share());
    let free: String = (0..90).map(|index| second(index, 300.0 + f64::from(index * 7 % 40) * 10.0)).collect();
    assert!(of(&free).limited_share() < 1e-9);
}

#[test]
fn databases_in_cloud_watch_have_means_and_a_balance() {
    let series = |label: &str, values: [f64; 3]| {
        format!(
            r#"{{"Id": "m", "Label": "{label}", "Timestamps": ["2026-09-14T10:02:00Z", "2026-09-14T10:01:00Z", "2026-09-14T10:00:00Z"], "Values": {values:?}}}"#
        )
    };
    let all = [
        series("ReadIOPS", [300.0, 200.0, 100.0]),
        series("WriteIOPS", [30.0, 20.0, 10.0]),
        series("ReadThroughput", [2_457_600.0, 1_638_400.0, 819_200.0]),
        series("WriteThroughput", [245_760.0, 163_840.0, 81_920.0]),
        series("WriteLatency", [0.002, 0.002, 0.002]),
        series("ReadLatency", [0.001, 0.001, 0.001]),
        series("DiskQueueDepth", [0.4, 0.3, 0.2]),
        series("BurstBalance", [0.2, 40.0, 60.0]),
    ];
    let demand = of(&format!(r#"{{"MetricDataResults": [{}]}}"#, all.join(", ")));
    let last = &demand.intervals[2];
    assert_eq!((last.reads_per_s, last.writes_per_s, last.read_size()), (300.0, 30.0, Some(8192.0)));
    assert_eq!((last.in_flight, last.at_limit), (Some(0.4), Some(AtLimit::Reported)));
    let mean_ms = (300.0 + 2.0 * 30.0) / 330.0;
    assert!((last.latency_ns.unwrap() / 1e6 - mean_ms).abs() < 1e-6, "{:?}", last.latency_ns);
    assert_eq!(demand.intervals[0].at_limit, None);
    // A cut answer is CloudWatch's all the same.
    let cut = format!(r#"{{"MetricDataResults": [{}"#, all[0]);
    assert!(refused(&cut).contains("no complete JSON"), "{}", refused(&cut));
}

#[test]
fn counters_of_prometheus_become_rates_in_both_of_its_forms() {
    // Both tools were asked at once, of a disk that did 140 reads and 60 writes of 8 KiB a second.
    let both = [include_str!("corpus/promtool-range.json"), include_str!("corpus/prometheus-query-range.json")];
    for text in both {
        assert_eq!(form_of(text), Some(Form::Prometheus));
        let demand = of(text);
        let mean = |figure: fn(&loadline_demand::DemandInterval) -> f64| {
            demand.intervals.iter().map(figure).sum::<f64>() / demand.intervals.len() as f64
        };
        let (reads, writes) = (mean(|one| one.reads_per_s), mean(|one| one.writes_per_s));
        assert!((135.0..145.0).contains(&reads) && (55.0..65.0).contains(&writes), "{reads} {writes}");
        assert_eq!(demand.intervals[3].read_size().map(f64::round), Some(8192.0));
        assert!(demand.intervals.iter().all(|one| one.latency_ns.is_some() && one.in_flight.is_some()));
    }
    assert_eq!(of(both[0]).intervals, of(both[1]).intervals);
    let anew = both[0].replace("\"values\":[[", "\"values\":[[1,\"99999999999999\"],[");
    assert!(of(&anew).notes.iter().any(|note| note.contains("counters began anew: 1")), "{:?}", of(&anew).notes);
    let rates = both[0].replace("_total", "_rate");
    assert!(refused(&rates).contains("no metric in it is known"));
}

/// A series of Google Cloud's answer, as the API's page and public answers have it: 500 reads a second and 100 writes.
fn google(metric: &str, kind: &str, device: &str, values: &[f64]) -> String {
    let is_rate = kind == "GAUGE";
    let point = |(place, value): (usize, &f64)| {
        let end = format!("2026-03-12T12:{:02}:00Z", 10 + place);
        let start = if is_rate { end.clone() } else { format!("2026-03-12T12:{:02}:00.001Z", 9 + place) };
        let value = if is_rate { format!(r#""doubleValue": {value}"#) } else { format!(r#""int64Value": "{value}""#) };
        format!(r#"{{"interval": {{"startTime": "{start}", "endTime": "{end}"}}, "value": {{{value}}}}}"#)
    };
    // The newest first.
    let points: Vec<String> = values.iter().enumerate().map(point).rev().collect();
    format!(
        r#"{{"metric": {{"labels": {{"instance_name": "db", "device_name": "{device}", "storage_type": "pd-ssd"}}, "type": "compute.googleapis.com/instance/disk/{metric}"}},
            "resource": {{"type": "gce_instance", "labels": {{"instance_id": "1", "zone": "a"}}}}, "metricKind": "{kind}", "valueType": "INT64", "points": [{}]}}"#,
        points.join(", ")
    )
}

#[test]
fn google_clouds_counts_and_rates_become_the_same() {
    let answer = |kind: &str, unit: &str, times: f64| {
        let all = [
            ("read_ops_count", 500.0),
            ("write_ops_count", 100.0),
            ("read_bytes_count", 4_096_000.0),
            ("write_bytes_count", 1_638_400.0),
        ];
        let series: Vec<String> =
            all.iter().map(|(name, per_s)| google(name, kind, "data", &[per_s * times; 4])).collect();
        let throttled = google("throttled_read_ops_count", kind, "data", &[0.0, 0.0, 7.0, 0.0]);
        format!(r#"{{"timeSeries": [{}, {throttled}], "unit": "{unit}"}}"#, series.join(", "))
    };
    let sums = answer("DELTA", "1", 60.0);
    assert_eq!(form_of(&sums), Some(Form::CloudMonitoring));
    for text in [sums.clone(), answer("GAUGE", "1/s", 1.0), format!("[{sums}]")] {
        let demand = of(&text);
        let one = demand.intervals[0];
        assert_eq!((one.reads_per_s, one.writes_per_s, one.length_s), (500.0, 100.0, 60.0), "{text}");
        assert_eq!((one.read_size(), one.write_size()), (Some(8192.0), Some(16384.0)));
        let marks: Vec<bool> = demand.intervals.iter().map(|one| one.at_limit == Some(AtLimit::Reported)).collect();
        assert_eq!(marks, [false, false, true, false]);
    }
    // A mean of counts is no rate, and a counter is none.
    for (kind, unit) in [("GAUGE", "1"), ("CUMULATIVE", "1")] {
        let told = refused(&answer(kind, unit, 1.0));
        assert!(told.contains("ALIGN_RATE"), "{told}");
    }
    let cut = &sums[..sums.len() - 40];
    assert!(refused(cut).contains("no complete JSON"), "{}", refused(cut));
}

#[test]
fn tables_of_consoles_are_answered_with_the_command_that_gives_the_json() {
    for (table, command) in [
        (
            "Id,,m1,m2\nLabel,,VolumeReadOps,VolumeWriteOps\n2026/05/06 07:00:00,,150000,30000\n",
            "aws cloudwatch get-metric-data",
        ),
        ("timestamp,ReadIOPS,WriteIOPS\n2026-05-06 07:00,3,4\n", "aws cloudwatch get-metric-data"),
        (
            "TimeGenerated [UTC],Computer,ObjectName,CounterName,CounterValue\n\"5/6/2026, 7:00:00.000 AM\",vm,a,b,1\n",
            "az monitor metrics list",
        ),
        ("Timestamp,Data Disk Read Operations/Sec (Avg)\n2026-05-06T07:00:00Z,3\n", "az monitor metrics list"),
        ("TimeSeries ID,instance_id\nproject_id: p,1\n2026-05-06,3\n", "monitoring.googleapis.com"),
    ] {
        let told = refused(table);
        assert!(told.contains(command), "{told}");
    }
}

#[test]
fn a_mean_size_that_contradicts_rates_and_bytes_counts_and_both_are_said() {
    // Bytes in sectors under a heading of KiB, as from a script that renames columns.
    let half = BLOCK_12.replace("4000.00", "8000.00").replace("1600.00", "3200.00");
    let text = format!("05/06/24 07:08:09\n{half}05/06/24 07:09:09\n{half}05/06/24 07:10:09\n{half}");
    let demand = of(&text);
    is_the_sample(&demand, 18.33, 11.0);
    assert!(
        demand.notes.iter().any(|note| note.contains("11200 KiB a second") && note.contains("5600 KiB")),
        "{:?}",
        demand.notes
    );
    // A queue that rates and latencies contradict is not taken for a limit.
    let queue = BLOCK_12.replace("11.01", "110.1");
    let demand = of(&format!("05/06/24 07:08:09\n{queue}05/06/24 07:09:09\n{queue}05/06/24 07:10:09\n{queue}"));
    assert!(demand.intervals.iter().all(|one| one.in_flight.is_none() && one.latency_ns.is_none()), "{demand:?}");
    assert!(
        demand.notes.iter().any(|note| note.contains("110.10 requests in flight") && note.contains("11.00")),
        "{:?}",
        demand.notes
    );
}

#[test]
fn a_disk_that_is_idle_at_times_is_at_no_limit_of_its_own() {
    // The same highest rate in many minutes, and a queue of two, at 60 % and at all of the time.
    let limited = |busy: &str| {
        let minute = |at: u32| {
            let (reads, wait, queue) = if at.is_multiple_of(3) { (500, 4.0, 2.0) } else { (100 + 9 * at, 1.0, 0.4) };
            let block = BLOCK_12
                .replace(" 500.00   4000.00 ", &format!(" {reads}.00   {}.00 ", reads * 8))
                .replace("99.50", busy);
            let block = block
                .replace("20.00     8.00", &format!("{wait:.2}     8.00"))
                .replace("10.00    16.00", &format!("{wait:.2}    16.00"));
            format!("05/06/24 07:{at:02}:09\n{}", block.replace("11.01", &format!("{queue:.2}")))
        };
        of(&(0..40).map(minute).collect::<String>()).limited_share()
    };
    assert!(limited("60.00") < 0.01 && limited("99.50") > 0.2, "{} {}", limited("60.00"), limited("99.50"));
}
