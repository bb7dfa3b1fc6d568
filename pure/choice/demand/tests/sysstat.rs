//! What sysstat itself wrote, in six versions: a disk that did 140 reads and 60 writes of 8 KiB a second, in every form and option.
//!
//! `UPDATE_GOLDEN=1 cargo test -p loadline-demand --test sysstat` rewrites the table in the documents.

use loadline_demand::{Demand, DemandError, ReadOptions, read};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// Version, and its outputs behind lines of `==> NAME <==`.
const VERSIONS: [(&str, &str); 7] = [
    ("11.6.6", include_str!("corpus/11.6.6.txt")),
    ("12.0.6", include_str!("corpus/12.0.6.txt")),
    ("12.2.3", include_str!("corpus/12.2.3.txt")),
    ("12.5.6", include_str!("corpus/12.5.6.txt")),
    ("12.6.1", include_str!("corpus/12.6.1-debian.txt")),
    ("12.6.2", include_str!("corpus/12.6.2.txt")),
    ("12.7.9", include_str!("corpus/12.7.9.txt")),
];

/// The command of each output, and its name.
const COMMANDS: [(&str, &str); 36] = [
    ("`iostat -xt`", "x.txt"),
    ("`iostat -xdtk`", "x-d-k.txt"),
    ("`iostat -xdtm`", "x-d-m.txt"),
    ("`iostat -xdty`", "x-d-y.txt"),
    ("`iostat -xdtz`", "x-d-z.txt"),
    ("`iostat -xdtN`", "x-d-N.txt"),
    ("`iostat -xdt -p`", "x-p.txt"),
    ("`iostat -xdts`", "x-d-s.txt"),
    ("`iostat -xdth`", "x-d-h.txt"),
    ("`iostat -xdt --human`", "x-human.txt"),
    ("`iostat -xdt --pretty`", "x-pretty.txt"),
    ("`iostat -xdt --dec=0`", "x-dec0.txt"),
    ("`iostat -xdt --compact`", "x-compact.txt"),
    ("`iostat -xdt -g NAME -H`", "x-group.txt"),
    ("`iostat -xdt`, ended by Ctrl-C", "x-ctrl-c.txt"),
    ("`iostat -dt`", "d.txt"),
    ("`iostat -xdt` in German", "x-de_DE.txt"),
    ("`iostat -xdt` in American English", "x-en_US.txt"),
    ("`iostat -xdth` in German", "x-h-de_DE.txt"),
    ("`iostat -xdth` in American English", "x-h-en_US.txt"),
    ("`iostat -xdt -o JSON`", "json.json"),
    ("`iostat -xdty -o JSON`", "json-y.json"),
    ("`iostat -xdts -o JSON`", "json-s.json"),
    ("`iostat -dt -o JSON`", "json-d.json"),
    ("`iostat -xdt -o JSON`, ended by Ctrl-C", "json-ctrl-c.json"),
    ("`iostat -xdt -o JSON`, killed", "json-killed.json"),
    ("`iostat -xdt -o JSON` in German", "json-de_DE.json"),
    ("`iostat -xdt -o JSON` in American English", "json-en_US.json"),
    ("`sar -d`", "sar-d.txt"),
    ("`sar -dp`", "sar-d-p.txt"),
    ("`sar -d` in German", "sar-d-de_DE.txt"),
    ("`sar -d` in American English", "sar-d-en_US.txt"),
    ("`sadf -d FILE -- -d`", "sadf-d.txt"),
    ("`sadf -d FILE -- -dp`", "sadf-d-p.txt"),
    ("`sadf -j FILE -- -d`", "sadf-j.json"),
    ("`sadf -j FILE -- -dp`", "sadf-j-p.json"),
];

fn outputs(all: &str) -> Vec<(&str, &str)> {
    all.split("==> ").skip(1).filter_map(|part| part.split_once(" <==\n")).collect()
}

/// Whether it is the load that ran, as far as a second's rounding goes; figures that a device could not have are a fault.
fn is_the_load(demand: &Demand) -> Result<(), String> {
    let all = |of: fn(&loadline_demand::DemandInterval) -> f64| {
        demand.intervals.iter().map(of).sum::<f64>() / demand.intervals.len() as f64
    };
    let (reads, writes) = (all(|one| one.reads_per_s), all(|one| one.writes_per_s));
    let bytes = all(loadline_demand::DemandInterval::bytes_per_s);
    let size = bytes / (reads + writes);
    if (130.0..=150.0).contains(&reads) && (54.0..=66.0).contains(&writes) && (8_000.0..=8_400.0).contains(&size) {
        Ok(())
    } else {
        Err(format!("{reads:.1} reads/s, {writes:.1} writes/s, {size:.0} bytes each"))
    }
}

#[expect(clippy::disallowed_methods, reason = "golden files are files")]
#[test]
fn everything_that_sysstat_writes_is_read_as_it_was_or_refused_by_name() {
    let mut cells: Vec<Vec<&str>> = vec![vec!["-"; VERSIONS.len()]; COMMANDS.len()];
    let mut faults = Vec::new();
    for (column, (version, all)) in VERSIONS.iter().enumerate() {
        for (name, text) in outputs(all) {
            let row =
                COMMANDS.iter().position(|(_, of)| *of == name).unwrap_or_else(|| panic!("{name} is of no command"));
            cells[row][column] = match read(text.as_bytes(), name, &ReadOptions::default()) {
                Ok(demand) => {
                    if let Err(fault) = is_the_load(&demand) {
                        faults.push(format!("{version} {name}: {fault}"));
                    }
                    if let Some(note) = demand.notes.iter().find(|note| note.starts_with("passed over, since")) {
                        faults.push(format!("{version} {name}: {note}"));
                    }
                    "read"
                }
                // Reads and writes stand in one figure, and their bytes, too.
                Err(DemandError::Missing { missing, .. }) if missing.contains("apart") => "refused",
                Err(error) => {
                    faults.push(format!("{version} {name}: {error}"));
                    "wrong"
                }
            };
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    let mut table = format!("| written by | {} |\n", VERSIONS.map(|(version, _)| version).join(" | "));
    let _ = writeln!(table, "|---|{}", "---|".repeat(VERSIONS.len()));
    for ((command, _), row) in COMMANDS.iter().zip(&cells) {
        let _ = writeln!(table, "| {command} | {} |", row.join(" | "));
    }
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/formats/monitoring.md");
    let text = fs::read_to_string(&page).unwrap();
    let begin = text.find("| written by |").unwrap();
    let end = text[begin..].find("\n\n").map_or(text.len(), |length| begin + length + 1);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&page, format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
        return;
    }
    assert_eq!(
        &text[begin..end],
        table,
        "if the change is wanted: UPDATE_GOLDEN=1 cargo test -p loadline-demand --test sysstat"
    );
}

#[test]
fn a_cut_report_and_a_stray_comma_are_said_with_their_line() {
    let (_, all) = VERSIONS[6];
    let of = |wanted: &str| outputs(all).into_iter().find(|(name, _)| *name == wanted).unwrap().1.to_owned();
    let notes = |text: &str| read(text.as_bytes(), "f", &ReadOptions::default()).unwrap().notes;
    let killed = notes(&of("json-killed.json"));
    assert!(killed.iter().any(|note| note.contains("was cut: its") && note.contains("whole report")), "{killed:?}");
    // As versions 11.7 to 12.1 write it with -y: a comma where the report since boot was left out.
    let comma = of("json-y.json").replace("\"statistics\": [\n\n", "\"statistics\": [\n,\n");
    let demand = read(comma.as_bytes(), "f", &ReadOptions::default()).unwrap();
    assert!(demand.notes.iter().any(|note| note.starts_with("line 11 has a comma too many")), "{:?}", demand.notes);
    let whole = read(of("json-y.json").as_bytes(), "f", &ReadOptions::default()).unwrap();
    assert_eq!(demand.intervals, whole.intervals, "no report is taken for the one since boot");
    // What is sysstat's and cannot be mended is said to be sysstat's, with the line.
    let broken = of("json.json").replace("\"w/s\": ", "\"w/s\" ");
    let error = read(broken.as_bytes(), "f", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("this is sysstat's JSON") && error.starts_with("f:"), "{error}");
}

#[test]
fn a_column_of_a_version_to_come_is_passed_over_and_named() {
    let (_, all) = VERSIONS[6];
    let (_, text) = outputs(all).into_iter().find(|(name, _)| *name == "x.txt").unwrap();
    let demand = read(text.replace("f_await", "z_await").as_bytes(), "f", &ReadOptions::default()).unwrap();
    assert!(is_the_load(&demand).is_ok());
    assert!(demand.notes.iter().any(|note| note.ends_with("z_await")), "{:?}", demand.notes);
    let error = read(text.replace("rkB/s", "zkB/s").as_bytes(), "f", &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, DemandError::Missing { .. }), "a column that is needed is not guessed: {error}");
}
