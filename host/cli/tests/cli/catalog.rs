//! `catalog` from the outside.

use crate::Bench;
use crate::golden::compare;

#[test]
fn help_of_its_verbs() {
    let bench = Bench::new();
    for verb in ["list", "show", "check", "update"] {
        compare(&format!("help-catalog-{verb}.txt"), &bench.done(&["catalog", verb, "--help"]));
    }
}

#[test]
fn a_list_is_filtered() {
    let bench = Bench::new();
    let premium = ["catalog", "list", "--provider", "azure", "--family", "premium"];
    compare("catalog-list.txt", &bench.done(&premium));
    let fast = [&premium[..], &["--iops-min", "16000 IOPS", "--size-min", "16 TiB"]].concat();
    let rows = bench.rows(&fast);
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["azure/premium-p70", "azure/premium-p80"]);
    assert_eq!(rows[0]["throughput_bytes_per_s"], 750 << 20);
    let called = |name: &str| bench.done(&["catalog", "list", "--name", name, "--format", "csv"]);
    let instances = called("C7i.4x");
    assert_eq!(instances.lines().count(), 2, "{instances}");
    assert!(instances.contains("aws/c7i.4xlarge") && instances.contains("us-east-1"), "{instances}");
    let allowed = called("c3-standard-22");
    assert!(allowed.contains("gcp/c3-*-#") && allowed.contains("hyperdisk-balanced, 22 vCPUs"), "{allowed}");
    let none = bench.run(&["catalog", "list", "--name", "c3-standard-23"]);
    let told = String::from_utf8(none.stderr).unwrap();
    assert!(none.status.success() && told.contains("give less of a name"), "{told}");
}

#[test]
fn a_list_has_prices_with_their_date_and_region_where_they_are_known() {
    let bench = Bench::new();
    let priced = bench.done(&["catalog", "list", "--provider", "aws", "--family", "gp3"]);
    let charges =
        "0.08 USD per GiB-month + 0.005 USD per IOPS-month above 3000 IOPS + 0.04 USD per MiB/s-month above 125 MiB/s";
    assert!(priced.contains(&format!("{charges} (2026-10-06; us-east-1; also 35 other regions)")), "{priced}");
    let csv = bench.done(&["catalog", "list", "--provider", "aws", "--family", "gp3", "--format", "csv"]);
    assert!(csv.contains(&format!("{charges} (2026-10-06; us-east-1; also 35 other regions)")), "{csv}");
    let of_region = ["catalog", "list", "--provider", "azure", "--family", "premium", "--region", "eastus2"];
    let rows = bench.rows(&of_region);
    assert_eq!(rows[8]["price"], "122.88 USD per month (2026-09-23; eastus2)");
    let rows = bench.rows(&["catalog", "list", "--family", "classic-standard"]);
    assert!(rows[0]["price"].is_null(), "not known is not nothing");
}

#[test]
fn an_entry_is_shown_with_its_mechanism_and_its_source() {
    let bench = Bench::new();
    let names = [
        "azure/premium-p30",
        "azure/premium-p10",
        "aws/gp2",
        "aws/st1",
        "azure/ds3",
        "aws/m5.large",
        "gcp/n2-standard-64",
    ];
    let shown: Vec<String> = names.iter().map(|name| bench.done(&["catalog", "show", name])).collect();
    compare("catalog-show.txt", &shown.join("\n"));
    let value = bench.document(&["catalog", "show", "azure/premium-p30"]);
    assert_eq!((&value["iops"], &value["date"]), (&"5000 IOPS".into(), &"2023".into()));
}

#[test]
fn a_folder_of_ones_own_is_checked_beside_what_comes_along() {
    let bench = Bench::new();
    assert_eq!(bench.done(&["catalog", "check"]), "", "nothing is wrong with what comes along");
    let folder = bench.target();
    let entry = "schema = 1\nkind = \"disk\"\nprovider = \"own\"\nfamily = \"array\"\ntitle = \"An array\"\n\
                 source = \"its data sheet\"\ndate = \"2024-03\"\n[latency.read]\nmedian = \"1 ms\"\n[disk]\n\
                 small = { size = \"1 TiB\", iops = \"9000 IOPS\" }\nlarge = { size = \"2 TiB\", iops = \"8000 IOPS\" }\n";
    std::fs::write(bench.path("target").join("own.toml"), entry).unwrap();
    let output = bench.run(&["catalog", "check", "--catalog", &folder]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("undated"), "{text}");
    assert!(text.contains("own/large  falls    has fewer IOPS (8000 IOPS against 9000 IOPS)"), "{text}");
    assert!(bench.done(&["catalog", "show", "own/small", "--catalog", &folder]).contains("9000 IOPS"));
    std::fs::write(bench.path("target").join("own.toml"), entry.replace("9000 IOPS", "9000")).unwrap();
    let refusal = bench.refused(1, &["catalog", "check", "--catalog", &folder]);
    assert!(refusal.contains("own.toml:11:34: disk.small.iops: \"9000\" has no unit"), "{refusal}");
}

#[test]
fn environments_tell_what_they_cost_item_by_item_and_in_all() {
    let bench = Bench::new();
    let own = bench.path("own");
    std::fs::create_dir(&own).unwrap();
    let head = "schema = 1\nprovider = \"own\"\ntitle = \"x\"\nsource = \"a list\"\ndate = \"2026\"\n";
    let disks = format!("{head}kind = \"disk\"\nfamily = \"d\"\n[latency.read]\nmedian = \"1 ms\"\n[disk]\n");
    let sold = "small = { size = \"128 GiB\", iops = \"500 IOPS\" }\nodd = { size = \"1 TiB\", iops = \"100 IOPS\" }\n";
    std::fs::write(own.join("disks.toml"), disks + sold).unwrap();
    let prices = format!("{head}kind = \"prices\"\nfamily = \"p\"\n[region.here]\nsmall = \"19.71 USD per month\"\n");
    std::fs::write(own.join("prices.toml"), prices).unwrap();
    let pool = "schema = 1\nname = \"pool\"\n[volume.data]\ndisks = [{ sku = \"own/small\", count = 4 }]\nlayout = { stripe = { \
                columns = 4, interleave = \"64 KiB\" } }\n";
    let (pool, mixed) = (
        bench.file("pool.toml", pool),
        "schema = 1\nname = \"mixed\"\n[volume.data]\ndisks = [{ sku = \
                \"own/small\" }]\n[volume.log]\ndisks = [{ sku = \"own/odd\" }]\n[[volume.full.disks]]\nsize = \"1 TiB\"\n",
    );
    let mixed = bench.file("mixed.toml", mixed);
    let own = own.display().to_string();
    let cost = |file: &str| -> Vec<(String, Option<f64>, String)> {
        let rows = bench.rows(&["environments", "cost", file, "--region", "here", "--catalog", &own]);
        let word = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        rows.iter().map(|row| (word(row, "for"), row["cost_per_month"].as_f64(), word(row, "note"))).collect()
    };
    assert_eq!(
        cost(&pool),
        [("data".to_owned(), Some(78.84), "19.71 USD each".to_owned()), ("all".to_owned(), Some(78.84), String::new()),]
    );
    let rows = cost(&mixed);
    assert_eq!(rows[0], ("data".to_owned(), Some(19.71), String::new()));
    assert_eq!((rows[1].1, rows[2].1), (None, None), "a missing price is no price of 0");
    assert!(rows[1].2.contains("no price of own/odd in here"), "{rows:?}");
    assert!(rows[2].2.contains("given in full"), "{rows:?}");
    assert_eq!(rows[3], ("all".to_owned(), Some(19.71), "without what has no price".to_owned()));
    let table = bench.done(&["environments", "cost", "ds3-p30", "--region", "eastus"]);
    assert!(table.contains("azure/classic-premium-p30") && table.contains("360.01"), "{table}");
    assert!(table.contains("without the system's disk"), "an advice counts it: {table}");
}
