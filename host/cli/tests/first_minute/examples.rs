//! Every example of every help is run, or at least prepared, as it is printed.

use crate::Desk;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PLAN: &str = "schema = 1\nname = \"p\"\n[[load]]\nqueue_depth = [1, 2]\nsize = \"4 MiB\"\nwarm_up = \"0 s\"\nduration = \"400 ms\"\ntrials = 1\n";
/// A socket that is not there by then will not come.
const START_TIME: Duration = Duration::from_secs(60);

/// A process that is ended when the test is over.
struct Emulation(Child);

impl Drop for Emulation {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The verbs that the help lists.
fn verbs(desk: &Desk) -> Vec<String> {
    let (help, _) = desk.ends(0, &["--help"]);
    let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    let verbs = listed.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    verbs.map(str::to_owned).collect()
}

/// The examples at the end of a verb's help.
fn examples(desk: &Desk, verb: &str) -> Vec<String> {
    let (help, _) = desk.ends(0, &["help", verb]);
    let (_, examples) = help.rsplit_once("Examples:\n").unwrap_or_else(|| panic!("{verb} has no examples: {help}"));
    examples.lines().map(str::trim).filter(|line| line.starts_with("loadline ")).map(str::to_owned).collect()
}

#[test]
fn every_example_runs_as_it_is_printed() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("target")).unwrap();
    std::fs::write(desk.path("p.toml"), PLAN).unwrap();
    std::fs::write(desk.path("job.fio"), "[reads]\nrw=randread\nbs=4k\nsize=4m\ntime_based\nruntime=1\n").unwrap();
    std::fs::create_dir(desk.path("environments")).unwrap();
    for name in ["ds3-p30", "d4s-v5-p30", "d4s-v5-p10"] {
        let (text, _) = desk.ends(0, &["environments", "show", name]);
        std::fs::write(desk.path(&format!("environments/{name}.toml")), text).unwrap();
    }
    let socket = desk.path("disk.sock");
    let start = ["emulate", "ds3-p30", "--socket", socket.to_str().unwrap(), "--trace", "app.trace"];
    let mut emulation =
        Emulation(desk.command(&start).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
    let began = Instant::now();
    while !socket.exists() {
        assert!(began.elapsed() < START_TIME, "the emulation does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let uri = format!("nbd+unix:///data?socket={}", socket.display());
    // Its answers take as long on a busy machine, so that no run has the rate of the tool itself.
    for name in ["before", "after", "emulated"] {
        desk.ends(0, &["run", "p.toml", "--on", &uri, "--name", name]);
    }
    desk.ends(0, &["export", "last", "--as", "fio", "-o", "results.json"]);
    let prices = include_str!("../../../../pure/strangers/offers/tests/corpus/azure-machines.json");
    // Of a region that nothing comes along for: there a few machines are a whole list.
    std::fs::write(desk.path("prices.json"), prices.replace("francecentral", "xx-test-1")).unwrap();
    for (name, file) in [("before", "node1.json"), ("after", "node2.json")] {
        desk.ends(0, &["export", name, "--as", "record", "-o", file]);
    }
    let mut after: Vec<String> = Vec::new();
    let run = |line: &str, wanted: &[i32]| {
        let line = line.replace("/tmp/disk.sock", socket.to_str().unwrap());
        let line = line.replace("/mnt/data", desk.path("target").to_str().unwrap());
        let line = line.replace("/tmp/man-pages", desk.path("more-pages").to_str().unwrap());
        let script = format!("loadline() {{ '{}' \"$@\"; }}\n{line}", env!("CARGO_BIN_EXE_loadline"));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).current_dir(desk.path(".")).env("LOADLINE_STORE", desk.path("store.db"));
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| wanted.contains(&code)), "{line}: {told}");
    };
    for verb in verbs(&desk) {
        let all = examples(&desk, &verb);
        assert!((2..=4).contains(&all.len()), "{verb}: {all:?}");
        for line in all {
            match verb.as_str() {
                // A sweep has no dry run, and takes moments.
                "predict" if line.contains("--part") => run(&line, &[0]),
                "quick" | "run" | "predict" | "hunt" if !line.contains("--dry-run") => {
                    run(&format!("{line} --dry-run"), &[0]);
                }
                "replay" if line.contains("--env") => after.push(line),
                // One emulation is under way; block devices and other hosts are not for every test machine. The others have tests of
                // their own.
                "emulate" | "watch" | "live" | "record" | "convert" | "advise" | "crawl" | "shelter" | "clock"
                | "replay" => {}
                // A build without the page says how to get one.
                "explore" => run(&line, &[0, 2]),
                // What it finds of this machine is no matter.
                "doctor" => run(&line, &[0, 3]),
                _ => run(&line, &[0]),
            }
        }
    }
    let asked = std::process::Command::new("kill").arg(emulation.0.id().to_string()).status();
    assert!(asked.is_ok_and(|status| status.success()) && emulation.0.wait().is_ok());
    for line in &after {
        run(line, &[0]);
    }
}
