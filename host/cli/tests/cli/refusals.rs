//! What is typed and refused: with which status, and in which words that say what to type instead.

use crate::end_to_end::SMALL;
use crate::inputs::{SWEEP, TWO};
use crate::{Bench, entries};

/// Runs a line in which `@name` is a file of the bench; standard error must have each of the words.
pub(crate) fn refused(bench: &Bench, status: i32, line: &str, words: &[&str]) -> String {
    let path = |name: &str| bench.path(name).display().to_string();
    let words_of_line: Vec<String> = line
        .split_whitespace()
        .map(|word| {
            word.split_once('@').map_or_else(|| word.to_owned(), |(before, name)| before.to_owned() + &path(name))
        })
        .collect();
    let told = bench.refused(status, &words_of_line.iter().map(String::as_str).collect::<Vec<_>>());
    for word in words {
        assert!(told.contains(word), "{line}: no {word:?} in: {told}");
    }
    told
}

#[test]
fn what_cannot_be_understood_touches_nothing() {
    let bench = Bench::new();
    let with = |keys: &str| SWEEP.replace("trials = 1", &format!("trials = 1\n{keys}"));
    let one = |vm: &str, disk: &str| format!("schema = 1\nname = \"x\"\n{vm}[volume.data]\ndisks = [{disk}]\n");
    let loads = |keys: &str| SMALL.replace("size =", &format!("{keys}\nsize ="));
    for (name, text) in [
        ("small.toml", SMALL.to_owned()),
        ("bad.toml", SMALL.replace("queue_depth", "queue_dept")),
        ("files.toml", loads("files = 4")),
        ("verified.toml", loads("verify = true")),
        ("job.fio", "[global]\nrw=randread\n[a]\nfilename=/x\npre_read=1\n".to_owned()),
        ("sweep.toml", SWEEP.to_owned()),
        ("none.toml", SWEEP.replace("objective", "# objective")),
        ("large.toml", with("size = \"2 TiB\"")),
        ("named.toml", with("volume = \"data\"")),
        ("more.toml", SWEEP.replace("trials = 1", "trials = 3")),
        ("two.toml", TWO.to_owned()),
        ("wrong.toml", TWO.replace("iops = \"100 IOPS\"", "iops = \"100\"")),
        ("foreign.toml", one("vm = \"aws/m5.large\"\n", "{ sku = \"azure/premium-p30\" }")),
        ("odd.toml", one("vm = \"gcp/n2-standard-7\"\n", "{ sku = \"gcp/pd-ssd\", size = \"100 GiB\" }")),
        ("both.toml", one("vm = \"azure/ds33\"\n", "{ sku = \"azure/premium-p30\", cuont = 2 }")),
        ("free.toml", one("", "{ size = \"1 TiB\" }")),
    ] {
        bench.file(name, text);
    }
    bench.target();
    for (line, words) in [
        ("no-such-verb", &[][..]),
        ("run @small.toml", &["--on"]),
        ("run @bad.toml --on null", &["did you mean queue_depth"]),
        ("run @job.fio --on null", &["fio job file"]),
        ("run no-such-plan --on null", &["no-such-plan"]),
        ("run @small.toml --on a=null --on a=null", &["twice"]),
        ("run @small.toml --on null --wait standing", &["auto, asleep"]),
        ("run @small.toml --on null --sqpoll", &["SQPOLL", "null answers without any engine", "leave out --sqpoll"]),
        ("run @small.toml --on null --iopoll --dry-run", &["IOPOLL", "leave out --iopoll"]),
        ("run @files.toml --on null", &["files = 4 makes test files in a directory", "null"]),
        ("run @verified.toml --on data=null:1GiB", &["verify = true reads back what was written", "keeps nothing"]),
        ("run @none.toml --on null --find-objective", &["no load of the plan has an objective"]),
        ("quick null --objective fast", &["--objective"]),
        ("quick @target --duration 0s", &["--duration", "at least 1 ms"]),
        ("quick @target --size 8KiB", &["--size", "at least 1 MiB"]),
        ("quick null:512KiB", &["null:512KiB", "has 512 KiB", "1 MiB at least"]),
        ("predict @sweep.toml --env @foreign.toml", &["another provider's"]),
        ("predict @sweep.toml --env @odd.toml", &["did you mean gcp/n2-standard-8?"]),
        ("predict @sweep.toml --env @both.toml", &["azure/ds33", "cuont"]),
        ("predict @sweep.toml --env @wrong.toml", &["wrong.toml:7:"]),
        ("predict @sweep.toml --env @free.toml", &["data", "latency.read.median"]),
        ("predict @sweep.toml --env nowhere/mine.toml", &["there is no such file"]),
        ("predict @sweep.toml --env ds3-p3", &["did you mean ds3-p30?"]),
        // One slip, not two.
        ("predict @sweep.toml --env ds3-p31", &["did you mean ds3-p30?"]),
        ("predict @sweep.toml --env @two.toml --volume plan", &["has no volume \"plan\": it has bursting, plain"]),
        ("predict @large.toml --env ds3-p30", &["spreads over 2 TiB", "--size"]),
        ("predict @named.toml --env ds3-p30", &["no amount", "named when it is run"]),
        ("predict @sweep.toml @more.toml --env @two.toml --together --draws 1", &["1 trials", "give --trials 3"]),
        ("predict outstanding-swep --env ds3-p30", &["outstanding-sweep"]),
        ("predict @sweep.toml --env ds3-p30 --find-objective --together", &["cannot be used with"]),
        ("predict @sweep.toml --env ds3-p30 --find-objective --carry", &["cannot be used with"]),
        ("hunt @sweep.toml --env @free.toml --cell 1", &["data", "latency.read.median"]),
        ("hunt @sweep.toml --env ds3-p30", &["say around which cell"]),
        ("hunt @sweep.toml --env ds3-p30 --cell 201", &["no cell 201"]),
        ("hunt @sweep.toml --env ds3-p30 --cell 1 --vary interleave", &["no stripe"]),
        ("hunt @sweep.toml --env ds3-p30 --cell 1 --vary engine", &["hunt on a target"]),
        ("hunt @sweep.toml --on null --cell 1 --vary layout", &["cannot make it anew"]),
        ("hunt @sweep.toml --on null --cell 1 --vary colour", &["no such factor"]),
        ("plans show outstanding-swep", &["outstanding-sweep"]),
        ("environments show ds3-p3", &["did you mean ds3-p30?"]),
        ("environments cost ds3-p30 --region eastuss", &["eastus"]),
        ("catalog list --iops-min 5000", &["no unit"]),
        ("catalog list --region eastus1", &["no price's region \"eastus1\" is in the catalog: did you mean eastus?"]),
        ("catalog list --family premiun", &["no family \"premiun\" is in the catalog: did you mean premium?"]),
        ("catalog list --provider aws --family pd-ssd", &["no family \"pd-ssd\"", "gp2, gp3, instances"]),
        ("catalog list --provider amazon", &["there are aws, azure, gcp"]),
        ("catalog show azure/p30", &["did you mean azure/premium-p30? `loadline catalog list --name TEXT`"]),
    ] {
        refused(&bench, 2, line, words);
    }
    assert!(bench.runs().is_empty());
    assert!(entries(&bench.path("target")).is_empty());
}

#[test]
fn what_cannot_be_served_is_refused_with_what_to_do() {
    let bench = Bench::new();
    let sized = |size: &str| {
        format!(
            "schema = 1\nname = \"mine\"\n[volume.data]\ndisks = [{{ sku = \"azure/premium-p10\", size = \"{size}\" }}]\n"
        )
    };
    let whole = bench.file("whole.toml", sized("100 GiB"));
    bench.file("sized.toml", sized("200 GiB"));
    bench.file("taken", "x");
    bench.file("keys.psk", "alice:0102030405060708\n");
    bench.file("notes.txt", "not a database, but some text that somebody wrote and wants to keep");
    std::fs::write(std::path::Path::new(&bench.target()).join("mine"), "x").unwrap();
    let (long, beside) = ("s".repeat(108), "s".repeat(105));
    let lost = bench.path("nowhere/contents").display().to_string();
    for (status, line, words) in [
        (2, "emulate ds3-p3", &["did you mean ds3-p30"][..]),
        (
            2,
            "emulate ds3-p30 --listen 0.0.0.0:0",
            &["unencrypted", "--insecure", "write everything", "--tls-certificates"],
        ),
        (2, "emulate ds3-p30 --metrics 0.0.0.0:9100", &["--metrics 0.0.0.0:9100", "ssh -L 9100:127.0.0.1:9100"]),
        (2, "emulate ds3-p30 --lie-about-flush --write-cache 0B", &["no flush can lie"]),
        (1, "emulate ds3-p30 --backing @target --socket @s", &["was not made by loadline"]),
        (1, &format!("emulate ds3-p30 --backing {lost} --socket @s"), &["nowhere is not there"]),
        (1, &format!("emulate ds3-p30 --socket {lost}"), &["its folder is not there; make it"]),
        (2, "emulate ds3-p30 --memory-max 1KiB", &["2 MiB at a time"]),
        (2, &format!("emulate ds3-p30 --catalog {lost}"), &["it is not there; name a folder of catalog files"]),
        (2, "emulate @sized.toml", &["the next larger is azure/premium-p15"]),
        (1, "emulate ds3-p30 --socket @taken --trace @t", &["is not a socket"]),
        (1, &format!("emulate ds3-p30 --socket {long}"), &["108 bytes", "name a shorter one"]),
        // What is beside it is longer.
        (1, &format!("emulate ds3-p30 --socket {beside}"), &["--control", "113 bytes"]),
        (2, "emulate ds3-p30 --socket s --control s", &["--socket and --control both name s"]),
        (1, "emulate ds3-p30 --socket @s --trace @taken", &["cannot make the trace ", "taken: File exists"]),
        (1, "emulate ds3-p30 --socket @s --trace @t --store @notes.txt", &["cannot keep a record", "--no-record"]),
        (1, "emulate --detach @files", &["no emulation is attached there"]),
        (2, "emulate ds3-p30 --tls-psk @keys.psk", &["--tls-certificates DIR", "--tls-verify-peer"]),
        (2, "emulate ds3-p30 --tls-psk @keys.psk --tls-certificates /etc/pki", &["--tls-certificates DIR"]),
        (1, "fault @s --list", &["cannot reach an emulation", "no such socket"]),
        (1, "fault @taken --list", &["it is no socket"]),
        (1, "replay @taken --env ds3-p30", &["no trace"]),
    ] {
        refused(&bench, status, line, words);
    }
    assert_eq!(bench.done(&["environments", "show", &whole]), sized("100 GiB"));
    for made in ["s", "t", "nowhere", &beside] {
        assert!(!bench.path(made).exists(), "{made} was made");
    }
}

#[test]
fn a_verb_with_a_slip_is_answered_with_the_one_that_was_meant() {
    let bench = Bench::new();
    for (word, tip) in [("rnu", "'run'"), ("qiuck", "'quick'"), ("plan", "'plans'"), ("replya", "'replay'")] {
        let told = bench.refused(2, &[word, "x"]);
        assert!(told.contains(&format!("unrecognized subcommand '{word}'")), "{told}");
        assert!(told.lines().any(|line| line.contains("tip:") && line.contains(tip)), "{told}");
    }
    assert!(!bench.refused(2, &["xyzzy"]).contains("tip: a similar"));
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    let target = bench.target();
    let nowhere = bench.path("nowhere/x.html").display().to_string();
    // Not even root makes files in /proc.
    for (report, why) in [
        (nowhere.as_str(), "there is no folder"),
        ("/proc/report.html", "no report can be written"),
        (&target, "is a folder"),
    ] {
        let told = bench.refused(2, &["quick", &target, "--size", "1 MiB", "--duration", "1 ms", "--report", report]);
        assert!(told.contains(report) && told.contains(why), "{told}");
        assert!(told.contains("--report") && !told.contains("filled"), "{told}");
    }
    assert!(!bench.path("nowhere").exists());
    // Looking leaves nothing behind, and an earlier report as it was.
    bench.refused(1, &["quick", "/nonexistent", "--report", "fresh.html"]);
    assert!(!bench.path("fresh.html").exists());
    bench.file("old.html", "<!DOCTYPE html>\n<!-- loadline report -->\n");
    bench.refused(1, &["quick", "/nonexistent", "--report", "old.html"]);
    assert!(std::fs::metadata(bench.path("old.html")).unwrap().len() > 0);
}

#[test]
fn an_entry_of_the_catalog_in_place_of_an_environment_is_told_how_to_become_one() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", SWEEP);
    let refusal = bench.refused(2, &["predict", &plan, "--env", "aws/gp3"]);
    let from = refusal.find("schema = 1").unwrap();
    let written = bench.file("mine.toml", &refusal[from..refusal.find("and give its path").unwrap()]);
    bench.done(&["predict", &plan, "--env", &written, "--draws", "1"]);
    assert_eq!(bench.last()["run"]["volumes"][0]["devices"][0]["model"], "aws/gp3");
}
