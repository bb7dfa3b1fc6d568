//! `catalog update` from the outside: what is kept, what is refused, and which prices count afterwards.

use crate::{Bench, schema_errors, text};
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const OFFER: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/aws-offer.json");
const AZURE: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/azure-machines.json");
const KEPT: &str = "aws xx-test-1: 4 machines, 14 prices of disks, list of 2026-11-27";

/// A place with a data folder of its own. Lists are of a region that nothing comes along for: there a few machines are a whole list.
struct Shelf {
    bench: Bench,
}

impl Shelf {
    fn new() -> Self {
        Self { bench: Bench::new() }
    }
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bench.command(arguments);
        command.env("XDG_DATA_HOME", self.bench.path("data"));
        command
    }
    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }
    fn document(&self, status: i32, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output.stderr));
        let document = serde_json::from_str(&text(&output.stdout)).unwrap();
        assert_eq!(schema_errors(&document), Vec::<String>::new(), "{document:#}");
        document
    }
    fn update(&self, name: &str, content: impl AsRef<[u8]>) -> Output {
        let file = self.bench.file(name, content);
        self.run(&["catalog", "update", "--from", &file])
    }
    fn lists(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.bench.path("data/loadline/prices")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.retain(|path| !path.ends_with(".lock"));
        found.sort();
        found
    }
    /// The amount and the dates of a machine's price, as the list has them.
    fn price(&self, name: &str, region: &str, more: &[&str]) -> String {
        let arguments = ["catalog", "list", "--name", name, "--kind", "vm", "--region", region, "--format", "json"];
        let rows: Value = serde_json::from_str(&self.done(&[&arguments[..], more].concat())).unwrap();
        rows["rows"][0]["price"].as_str().unwrap_or_default().to_owned()
    }
}

/// The offer as of another day and region; the dates stay in the past of any clock that shows this year.
fn offer(date: &str, region: &str) -> String {
    OFFER
        .replace("2026-11-27T", &format!("{date}T"))
        .replace("2026-11-01T", "2020-01-01T")
        .replace("eu-central-1", region)
}

#[test]
fn an_update_is_kept_counts_and_is_taken_back() {
    let shelf = Shelf::new();
    let first = shelf.update("offer.json", offer("2024-03-01", "xx-test-1"));
    assert_eq!(text(&first.stdout), format!("{}, 9 new\n", KEPT.replace("2026-11-27", "2024-03-01")));
    let told = text(&first.stderr);
    assert!(told.contains("Read: AWS offer file (JSON) (1). Rows left out: 3 neither machines nor disks"), "{told}");
    let names: Vec<String> =
        shelf.lists().iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert!(names[0].starts_with("disks-20") && names[1].starts_with("machines-20") && names.len() == 2, "{names:?}");
    let price = shelf.price("m5.xlarge", "xx-test-1", &[]);
    assert!(
        price.starts_with("0.23 USD per hour (2024-03-01, fetched 20") && price.ends_with("; xx-test-1)"),
        "{price}"
    );
    // The same file once more is nothing new.
    let again = shelf.update("offer.json", offer("2024-03-01", "xx-test-1"));
    assert!(text(&again.stdout).ends_with(", stored before\n"), "{}", text(&again.stdout));
    let second = shelf.update("later.json", offer("2024-04-01", "xx-test-1").replace("0.2300000000", "0.2024000000"));
    assert!(
        text(&second.stdout).contains("list of 2024-04-01, 1 changed (largest -12 %: m5.xlarge)"),
        "{}",
        text(&second.stdout)
    );
    assert_eq!(shelf.lists().len(), 4);
    assert!(shelf.price("m5.xlarge", "xx-test-1", &[]).starts_with("0.2024 USD"));
    let undone = shelf.done(&["catalog", "update", "--undo"]);
    assert!(undone.contains("aws xx-test-1: the list of machines of 20") && undone.lines().count() == 2, "{undone}");
    assert!(shelf.price("m5.xlarge", "xx-test-1", &[]).starts_with("0.23 USD"));
    let removed = shelf.document(0, &["catalog", "update", "--undo"]);
    assert_eq!(removed["removed"].as_array().unwrap().len(), 2);
    let nothing = shelf.run(&["catalog", "update", "--undo"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("no update is there to undo"));
}

#[test]
fn the_last_three_lists_of_a_kind_are_kept() {
    let shelf = Shelf::new();
    for day in 1..=5 {
        let output = shelf.update("offer.json", offer(&format!("2024-03-0{day}"), "xx-test-1"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let names: Vec<String> = shelf.lists().iter().map(|path| path.display().to_string()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(shelf.price("m5.xlarge", "xx-test-1", &[]).contains("2024-03-05"));
}

#[test]
fn a_dry_run_keeps_nothing_and_a_document_is_as_published() {
    let shelf = Shelf::new();
    let file = shelf.bench.file("offer.json", offer("2024-03-01", "xx-test-1"));
    let found = shelf.document(0, &["catalog", "update", "--from", &file, "--dry-run"]);
    assert_eq!(found["rows"][1]["names"], 4);
    assert_eq!(found["rows"][1]["path"], Value::Null);
    assert_eq!(found["rows"][0]["rows_left_out"]["reserved-capacity"], 2);
    assert!(!shelf.bench.path("data").exists());
    let kept = shelf.document(0, &["catalog", "update", "--from", &file]);
    assert!(Path::new(kept["rows"][0]["path"].as_str().unwrap()).is_file());
}

#[test]
fn what_is_refused_leaves_what_was_there() {
    let shelf = Shelf::new();
    assert!(shelf.update("offer.json", offer("2024-03-01", "xx-test-1")).status.success());
    let before = shelf.lists();
    let newer = offer("2024-03-02", "xx-test-1");
    for (change, told) in [
        (newer.replace("0.2300000000", "0.0000000000"), "m5.xlarge costs 0 in it"),
        (newer.replace("m5.xlarge", "zz9.xlarge"), "it has 3 of the 4 names that are known here"),
        (newer.replace("\"USD\"", "\"CNY\""), "its prices are in CNY and USD was asked for"),
        (newer.replace("\"Dedicated\"", "\"Shared\""), "m5.large has two prices in it"),
        (newer.replace("2024-03-02T", "2999-01-01T"), "its date, 2999-01-01, is yet to come"),
        (newer.replace("2024-03-02T", "2024-02-01T"), "newer prices, of 2024-03-01, count already"),
    ] {
        let output = shelf.update("bad.json", &change);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}: {error}");
        assert!(error.contains("does not count, and what was there does") && error.contains(told), "{told}: {error}");
    }
    let machines = |lists: &[PathBuf]| lists.iter().filter(|path| path.to_str().unwrap().contains("machines-")).count();
    assert_eq!(machines(&shelf.lists()), machines(&before));
    assert!(shelf.price("m5.xlarge", "xx-test-1", &[]).starts_with("0.23 USD"));
    for (name, content, told) in [
        ("page.html", "<html>".to_owned(), "is no provider's answer: it begins with"),
        ("cut.json", newer[..newer.len() / 3].to_owned(), "is cut off or broken"),
        (
            "nan.json",
            newer.replace("0.2300000000", "NaN"),
            "has \"NaN\" as the price of m5.xlarge, which is no decimal number",
        ),
        ("list.yml", "about:\n".to_owned(), "is a list in YAML"),
        (
            "denied.json",
            "{\"error\":{\"code\":403,\"message\":\"no key\"}}".to_owned(),
            "is a refusal of the provider: \"no key\"",
        ),
    ] {
        let output = shelf.update(name, &content);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(told) && error.contains("nothing was updated"), "{told}: {error}");
    }
    let missing = shelf.run(&["catalog", "update", "--from", "missing.json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("missing.json cannot be read"), "{}", text(&missing.stderr));
}

#[test]
fn archives_and_folders_say_what_the_file_in_them_says() {
    let content = offer("2024-03-01", "xx-test-1");
    let whole = {
        let shelf = Shelf::new();
        text(&shelf.update("offer.json", &content).stdout)
    };
    let shelf = Shelf::new();
    let plain = shelf.bench.file("offer.json", &content);
    let packed = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).current_dir(shelf.bench.path("")).stdout(Stdio::null()).status()
    };
    assert!(packed("gzip", &["-k", &plain]).unwrap().success());
    let gz = format!("{plain}.gz");
    let try_one = |file: &str| {
        let output = shelf.run(&["catalog", "update", "--from", file, "--dry-run"]);
        assert_eq!(text(&output.stdout).replace(", not stored, as asked", ""), whole, "{}", text(&output.stderr));
    };
    try_one(&gz);
    let zip = shelf.bench.path("offer.zip");
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&zip).unwrap());
    writer.start_file("prices/offer.json", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(content.as_bytes()).unwrap();
    writer.finish().unwrap();
    try_one(&zip.display().to_string());
    std::fs::create_dir_all(shelf.bench.path("folder/inner")).unwrap();
    std::fs::rename(&gz, shelf.bench.path("folder/inner/offer.json.gz")).unwrap();
    try_one(&shelf.bench.path("folder").display().to_string());
    // An archive that is cut is refused.
    let bytes = std::fs::read(shelf.bench.path("folder/inner/offer.json.gz")).unwrap();
    let cut = shelf.update("cut.gz", &bytes[..bytes.len() - 9]);
    assert_eq!(cut.status.code(), Some(2), "{}", text(&cut.stderr));
}

#[test]
fn one_of_two_updates_at_once_is_refused() {
    let shelf = Shelf::new();
    std::fs::create_dir_all(shelf.bench.path("data/loadline/prices")).unwrap();
    let lock = std::fs::File::create(shelf.bench.path("data/loadline/prices/.lock")).unwrap();
    lock.lock().unwrap();
    let refused = shelf.update("offer.json", offer("2024-03-01", "xx-test-1"));
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("another update is under way"), "{}", text(&refused.stderr));
    drop(lock);
    assert!(shelf.update("offer.json", offer("2024-03-01", "xx-test-1")).status.success());
}

#[test]
fn prices_may_be_chosen() {
    let shelf = Shelf::new();
    let none = shelf.run(&["catalog", "list", "--name", "m5.large", "--prices", "updated"]);
    assert!(text(&none.stderr).contains("no prices were updated yet"), "{}", text(&none.stderr));
    // Older than what comes along, and in its region: of the shelf it is one list among others.
    assert!(
        shelf
            .update("offer.json", offer("2024-03-01", "xx-test-1").replace("0.1150000000", "0.0970000000"))
            .status
            .success()
    );
    let list = shelf.lists().into_iter().find(|path| path.to_str().unwrap().contains("machines-")).unwrap();
    let text = std::fs::read_to_string(&list).unwrap().replace("xx-test-1", "us-east-1");
    let folder = shelf.bench.path("data/loadline/prices/aws/us-east-1");
    std::fs::create_dir_all(&folder).unwrap();
    let list = folder.join(list.file_name().unwrap());
    std::fs::write(&list, text).unwrap();
    let shipped = "0.096 USD per hour";
    assert!(shelf.price("m5.large", "us-east-1", &[]).starts_with(shipped), "the newer counts");
    assert!(shelf.price("m5.large", "us-east-1", &["--prices", "updated"]).starts_with("0.097 USD"));
    assert!(shelf.price("m5.large", "us-east-1", &["--prices", "shipped"]).starts_with(shipped));
    assert!(shelf.price("m5.large", "us-east-1", &["--prices", list.to_str().unwrap()]).starts_with("0.097 USD"));
    // A list is also a catalog file of the user's, which counts before all.
    let folder = folder.to_str().unwrap();
    assert!(shelf.price("m5.large", "us-east-1", &["--catalog", folder]).starts_with("0.097 USD"));
}

#[test]
fn without_files_the_commands_that_fetch_them_are_printed() {
    let shelf = Shelf::new();
    let output = shelf.run(&["catalog", "update", "--provider", "aws", "--region", "eu-central-1"]);
    assert_eq!(output.status.code(), Some(2));
    let commands = text(&output.stdout);
    assert_eq!(commands.lines().count(), 2, "{commands}");
    assert!(commands.contains("/ec2-ondemand-without-sec-sel/EU%20(Frankfurt)/Linux/index.json'"), "{commands}");
    let said = text(&output.stderr);
    assert!(
        said.contains("the same command with --fetch does it") && said.contains("loadline catalog update --from FILE")
    );
    let azure = text(&shelf.run(&["catalog", "update", "--provider", "azure", "--region", "westeurope"]).stdout);
    assert!(
        azure.contains("serviceName%20eq%20%27Storage%27%20and%20armRegionName%20eq%20%27westeurope%27"),
        "{azure}"
    );
    for line in commands.lines().chain(azure.lines()) {
        let checked = Command::new("sh").args(["-n", "-c", line]).status().unwrap();
        assert!(checked.success(), "{line} is no command");
    }
}

#[test]
fn a_full_or_read_only_folder_leaves_what_was_there() {
    let shelf = Shelf::new();
    assert!(shelf.update("offer.json", offer("2024-03-01", "xx-test-1")).status.success());
    let folder = shelf.bench.path("data/loadline/prices/aws/xx-test-1");
    // A folder stands where the new list would be written, and not even root can write there.
    std::fs::create_dir(folder.join(".on-its-way-machines")).unwrap();
    std::fs::create_dir(folder.join(".on-its-way-disks")).unwrap();
    let refused = shelf.update("later.json", offer("2024-04-01", "xx-test-1"));
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("cannot write"), "{}", text(&refused.stderr));
    assert!(shelf.price("m5.large", "xx-test-1", &[]).contains("2024-03-01"));
}

#[test]
fn what_a_killed_update_left_does_not_count_and_is_written_over() {
    let shelf = Shelf::new();
    assert!(shelf.update("offer.json", offer("2024-03-01", "xx-test-1")).status.success());
    // Killed before the list had its name: half of it stands beside its place.
    let folder = shelf.bench.path("data/loadline/prices/aws/xx-test-1");
    let beside = folder.join(".on-its-way-machines");
    std::fs::write(&beside, "schema = 1\nkind = \"pri").unwrap();
    assert!(shelf.price("m5.large", "xx-test-1", &[]).contains("2024-03-01"));
    // Killed between two lists: the machines are of the later update, the disks of the one before.
    let later = shelf.update("later.json", offer("2024-04-01", "xx-test-1"));
    assert!(later.status.success() && !beside.exists());
    let disks = shelf.lists().into_iter().filter(|path| path.to_str().unwrap().contains("disks-")).max().unwrap();
    std::fs::remove_file(disks).unwrap();
    assert!(shelf.price("m5.large", "xx-test-1", &[]).contains("2024-04-01"));
    let rows: Value = serde_json::from_str(&shelf.done(&[
        "catalog",
        "list",
        "--name",
        "aws/gp3",
        "--region",
        "xx-test-1",
        "--format",
        "json",
    ]))
    .unwrap();
    assert!(rows["rows"][0]["price"].as_str().unwrap().contains("2024-03-01"), "{rows}");
}

#[test]
fn verbs_that_use_prices_open_no_connection() {
    // In a network namespace that has nothing, not even a loopback that is up.
    let shelf = Shelf::new();
    assert!(shelf.update("azure.json", AZURE.replace("francecentral", "xx-test-1")).status.success());
    if !Command::new("unshare").args(["-rn", "true"]).status().is_ok_and(|status| status.success()) {
        println!("skipped: no network namespace may be made here");
        return;
    }
    let plan = shelf.bench.file("sweep.toml", crate::inputs::SWEEP);
    let trace = shelf.bench.path("sockets");
    let nowhere = ["unshare", "-rn"];
    let traced = [&nowhere[..], &["strace", "-f", "-qq", "-e", "trace=socket", "-o", trace.to_str().unwrap()]].concat();
    let run = |by: &[&str], arguments: &[&str]| {
        shelf.bench.command_by(by, arguments).env("XDG_DATA_HOME", shelf.bench.path("data")).output()
    };
    let has_sockets = || std::fs::read_to_string(&trace).unwrap_or_default().contains("AF_INET");
    // What asks for an address is noticed; elsewhere the namespace alone shows that nobody needs one.
    let fetch = ["catalog", "update", "--fetch", "--provider", "azure", "--region", "eastus"];
    let sees = run(&traced, &fetch).is_ok() && has_sockets();
    if !sees {
        println!("sockets are not noticed: strace does not work here");
    }
    let by = if sees { &traced[..] } else { &nowhere };
    for arguments in [
        &[
            "advise",
            "--iops",
            "3000",
            "--reads",
            "70%",
            "--block",
            "8KiB",
            "--size",
            "200GiB",
            "--provider",
            "azure",
            "--region",
            "eastus",
            "--limits-only",
        ][..],
        &["predict", &plan, "--env", "ds3-p30", "--limits-only"],
        &["catalog", "list", "--region", "xx-test-1"],
        &["catalog", "show", "azure/premium-p30"],
        &["catalog", "check"],
        &["environments", "show", "ds3-p30"],
        &["environments", "cost", "ds3-p30", "--region", "eastus"],
    ] {
        let output = run(by, arguments).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        assert!(!sees || !has_sockets(), "{arguments:?} makes sockets");
        let here = shelf.run(arguments);
        assert_eq!(text(&output.stdout), text(&here.stdout), "{arguments:?}: the same with a network and without");
    }
}

#[test]
fn a_fetch_without_a_network_keeps_nothing_and_says_which_server_is_missing() {
    let shelf = Shelf::new();
    if !Command::new("unshare").args(["-rn", "true"]).status().is_ok_and(|status| status.success()) {
        println!("skipped: no network namespace may be made here");
        return;
    }
    let secret = "AIzaSy-very_secret";
    let key = shelf.bench.file("key", secret);
    for (more, host) in [
        (vec!["--provider", "azure", "--region", "westeurope"], "prices.azure.com"),
        (vec!["--provider", "gcp", "--key-file", &key], "cloudbilling.googleapis.com"),
    ] {
        let mut command =
            shelf.bench.command_by(&["unshare", "-rn"], &[&["catalog", "update", "--fetch"], &more[..]].concat());
        let output = command.env("XDG_DATA_HOME", shelf.bench.path("data")).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("{host} is not reached")) && said.contains("nothing was updated"), "{said}");
        assert!(!said.contains(secret) && output.stdout.is_empty(), "{said}");
    }
    assert!(shelf.lists().iter().all(|path| path.to_string_lossy().contains("/.fetched/")), "{:?}", shelf.lists());
}

#[test]
fn a_fetch_that_cannot_begin_says_what_to_do() {
    let shelf = Shelf::new();
    let no_key = shelf.bench.file("key", "not a key");
    for (more, said) in [
        (vec!["--provider", "gcp"], "add --key-file FILE"),
        (vec!["--provider", "gcp", "--key-file", &no_key], "has no key"),
        (vec!["--provider", "aws", "--currency", "EUR"], "aws is left out: it lists prices in USD alone"),
        (vec!["--region", "westeurop"], "\"westeurope\" is near"),
        (vec!["--from", "x.json"], "cannot be used with"),
    ] {
        let output = shelf.run(&[&["catalog", "update", "--fetch"], &more[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(text(&output.stderr).contains(said), "{more:?}: {}", text(&output.stderr));
    }
}

/// An offer file of so many products, one in fifty of them wanted, and reservations to fill it up to so many bytes.
fn large_offer(path: &Path, products: u32, bytes: u64) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let head =
        r#"{"formatVersion":"v1.0","offerCode":"AmazonEC2","publicationDate":"2024-03-01T00:00:00Z","products":{"#;
    write!(file, "{head}").unwrap();
    let comma = |number: u32| if number == 0 { "" } else { "," };
    let filler = "x".repeat(400);
    for number in 0..products {
        let (machine, tenancy) = match number {
            0 => ("m5.large".to_owned(), "Shared"),
            _ if number % 50 == 0 => (format!("x{number}.large"), "Shared"),
            _ => (format!("x{number}.large"), "Dedicated"),
        };
        write!(
            file,
            r#"{}"S{number}":{{"sku":"S{number}","productFamily":"Compute Instance","attributes":{{"regionCode":"xx-test-1","locationType":"AWS Region","instanceType":"{machine}","tenancy":"{tenancy}","capacitystatus":"Used","operatingSystem":"Linux","preInstalledSw":"NA","operation":"RunInstances","marketoption":"OnDemand","vcpu":"2","filler":"{filler}"}}}}"#,
            comma(number)
        )
        .unwrap();
    }
    write!(file, r#"}},"terms":{{"OnDemand":{{"#).unwrap();
    for number in 0..products {
        write!(
            file,
            r#"{}"S{number}":{{"S{number}.J":{{"effectiveDate":"2024-03-01T00:00:00Z","priceDimensions":{{"S{number}.J.6":{{"unit":"Hrs","description":"{filler}","pricePerUnit":{{"USD":"0.1000000000"}}}}}}}}}}"#,
            comma(number)
        )
        .unwrap();
    }
    write!(file, r#"}},"Reserved":{{"#).unwrap();
    file.flush().unwrap();
    let mut left = bytes.saturating_sub(file.get_ref().metadata().unwrap().len());
    let mut number = 0;
    while left > 0 {
        let row = format!(r#"{}"R{number}":"{filler}""#, comma(number));
        file.write_all(row.as_bytes()).unwrap();
        left = left.saturating_sub(row.len() as u64);
        number += 1;
    }
    write!(file, "}}}}}}").unwrap();
    file.flush().unwrap();
}

/// The largest address space that a command had, in KiB, as it was looked at every few milliseconds.
fn address_space(command: &mut Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmPeak:"));
        let found = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(found.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return most;
        }
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
}

#[test]
#[ignore = "long: an offer file of 450 MB"]
fn an_offer_of_450_mb_is_read_in_64_mib_above_the_start() {
    let shelf = Shelf::new();
    let (small, large) = (shelf.bench.path("small.json"), shelf.bench.path("large.json"));
    large_offer(&small, 100, 0);
    large_offer(&large, 106_000, 450_000_000);
    assert!(std::fs::metadata(&large).unwrap().len() >= 450_000_000);
    let of = |path: &Path| {
        address_space(&mut shelf.command(&["catalog", "update", "--from", path.to_str().unwrap(), "--dry-run"]))
    };
    let (start, most) = (of(&small), of(&large));
    assert!(start > 0 && most < start + (64 << 10), "{most} KiB, and {start} KiB at the start");
}

#[test]
fn what_is_really_paid_is_items_of_their_own_and_what_cannot_be_is_refused() {
    fn with<'a>(need: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
        [need, more].concat()
    }
    let shelf = Shelf::new();
    let need = ["advise", "--iops", "5000", "--reads", "70%", "--block", "8KiB", "--size", "500GiB", "--limits-only"];
    let paid = shelf.document(0, &with(&need, &["--provider", "aws", "--discount", "20%", "--commit", "3y"]));
    for row in paid["candidates"].as_array().unwrap() {
        let items = row["price_month"]["items"].as_array().unwrap();
        let amount = |item: &Value| item["amount"].as_f64().unwrap();
        let sum: f64 = items.iter().map(amount).sum();
        assert!((sum - amount(&row["price_month"])).abs() < 1e-6, "{row:#}");
        let of = |what: &str| items.iter().find(|item| item["what"] == what);
        // A discount is one of what a commitment leaves.
        let (machine, committed) = (amount(of("machine").unwrap()), of("commitment").map_or(0.0, amount));
        assert!(committed <= 0.0 && of("commitment").is_none_or(|item| item["source"].is_string()), "{row:#}");
        let off = items.iter().find(|item| item["what"] == "discount" && item["off"] == "machine").unwrap();
        assert!((amount(off) + 0.2 * (machine + committed)).abs() < 1e-6, "{row:#}");
    }
    for (more, said) in [
        (vec!["--discount", "100%"], "write 12%, aws=12%"),
        (vec!["--provider", "azure", "--commit", "1y"], "what a commitment costs is known of aws and not of azure"),
        (vec!["--currency", "JPY"], "`loadline catalog update --currency JPY` shows how to get them"),
    ] {
        let refused = shelf.run(&with(&need, &more));
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
        assert!(text(&refused.stderr).contains(said), "{more:?}: {}", text(&refused.stderr));
    }
}

const TYPES: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/aws-instance-types.json");

#[test]
fn limits_are_kept_count_for_machines_that_came_later_and_are_taken_back() {
    let shelf = Shelf::new();
    let file = shelf.bench.file("types.json", TYPES.replace("r9g.large", "zz9g.large"));
    let tried = shelf.document(0, &["catalog", "update", "--limits", "--from", &file, "--dry-run"]);
    assert_eq!((&tried["limits"][0]["new"][0], &tried["limits"][0]["path"]), (&"zz9g.large".into(), &Value::Null));
    assert_eq!(shelf.lists(), Vec::<PathBuf>::new());
    let said = shelf.done(&["catalog", "update", "--limits", "--from", &file]);
    assert_eq!(said, "aws: limits of 6 machines, 1 new, 1 without limits\n");
    let shown = shelf.done(&["catalog", "show", "aws/zz9g.large"]);
    assert!(shown.contains("EC2 API, describe-instance-types"), "{shown}");
    // Without updates it is unknown, so that a result can be repeated.
    let shipped = shelf.run(&["catalog", "show", "aws/zz9g.large", "--prices", "shipped"]);
    assert_eq!(shipped.status.code(), Some(2), "{}", text(&shipped.stdout));
    // A price of it counts from now on.
    let offer = offer("2024-03-01", "xx-test-1").replace("m5.large", "zz9g.large");
    let priced = shelf.bench.file("offer.json", offer);
    let said = shelf.document(1, &["catalog", "update", "--from", &priced, "--dry-run"]);
    assert!(said["rows"].to_string().contains("zz9g.large"), "{said:#}");
    assert!(shelf.done(&["catalog", "update", "--undo"]).contains("the list of limits of"));
    assert_eq!(shelf.run(&["catalog", "show", "aws/zz9g.large"]).status.code(), Some(2));
}

#[test]
fn prices_and_limits_are_told_apart() {
    let shelf = Shelf::new();
    let (types, prices) = (shelf.bench.file("types.json", TYPES), shelf.bench.file("offer.json", OFFER));
    let refused = |arguments: &[&str]| {
        let output = shelf.run(arguments);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    let said = refused(&["catalog", "update", "--limits", "--from", &prices]);
    assert!(said.contains("has prices and no limits; pass it as such, without --limits"), "{said}");
    let said = refused(&["catalog", "update", "--from", &types]);
    assert!(said.contains("pass it as such, with --limits"), "{said}");
    assert_eq!(shelf.lists(), Vec::<PathBuf>::new());
}
