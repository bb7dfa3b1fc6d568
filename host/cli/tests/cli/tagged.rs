//! `tag`, `--tag`, and the runs that `list` finds by them.

use crate::Bench;

#[test]
fn runs_are_tagged_when_they_are_made_or_later_and_found_again() {
    let bench = Bench::new();
    let plan = bench.file(
        "plan.toml",
        "schema = 1\nname = \"nightly\"\n[[load]]\nblock = \"4 KiB\"\nqueue_depth = 4\nduration = \"1 s\"\nsize = \"1 GiB\"\n",
    );
    let env = bench
        .file("disk.toml", "schema = 1\nname = \"disk\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]\n");
    let predict = |more: &[&str]| bench.done(&[&["predict", &plan, "--env", &env, "--quiet"], more].concat());
    predict(&["--tag", "host=db1", "--tag", "baseline"]);
    predict(&[]);
    assert_eq!(bench.done(&["tag", "1"]), "baseline\nhost=db1\n");
    assert_eq!(bench.done(&["tag", "last", "host=db2", "--note", "new kernel"]), "host=db2\nnote=new kernel\n");
    let numbers = |words: &[&str]| -> Vec<u64> {
        let listed = bench.done(&[&["list", "--format", "json"], words].concat());
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        listed["rows"].as_array().unwrap().iter().map(|row| row["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&[]), [2, 1]);
    assert_eq!(numbers(&["--tag", "baseline"]), [1]);
    assert_eq!(numbers(&["nightly", "kernel"]), [2]);
    assert_eq!(bench.runs()[1]["tags"], "baseline host=db1");
    assert_eq!(bench.done(&["tag", "1", "--remove", "baseline"]), "host=db1\n");
    let refused = bench.refused(2, &["tag", "1", "two words=x"]);
    assert!(refused.contains("letters, digits"), "{refused}");
    assert!(bench.refused(2, &["predict", &plan, "--env", &env, "--tag", "=x"]).contains("host=db1"));
}
