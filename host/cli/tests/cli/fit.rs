//! `fit`: what it tells of the disk that it makes, and which file it writes.

use crate::{Bench, text};

/// Reads at two depths, predicted on a disk that a VM holds below its own limits.
fn predicted(bench: &Bench) {
    predicted_reads(bench, "\"100 %\"");
}

/// The same of loads with these shares of reads.
fn predicted_reads(bench: &Bench, reads: &str) {
    let environment = bench.file(
        "vm.toml",
        "schema = 1\nname = \"held\"\n[vm]\nuncached = { iops = \"1000 IOPS\" }\n[volume.data]\n[[volume.data.disks]]\n\
         size = \"10 GiB\"\n[volume.data.disks.limit]\niops = \"5000 IOPS\"\n[volume.data.disks.latency.read]\n\
         median = \"500 us\"\np99 = \"1 ms\"\n",
    );
    let plan = bench.file(
        "short.toml",
        format!(
            "schema = 1\nname = \"short\"\n[[load]]\npattern = \"random\"\nreads = [{reads}]\nblock = \"8 KiB\"\n\
             queue_depth = [1, 32]\nwarm_up = \"1 s\"\nduration = \"3 s\"\ntrials = 1\n"
        ),
    );
    bench.done(&["predict", &plan, "--env", &environment, "--seed", "1"]);
}

#[test]
fn what_is_fitted_to_a_prediction_is_called_predicted_and_doubted() {
    let bench = Bench::new();
    predicted(&bench);
    let output = bench.run(&["fit", "last"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (file, told) = (text(&output.stdout), text(&output.stderr));
    assert!(file.contains(" predicted\"") && !file.contains("measured\""), "{file}");
    assert!(file.contains("a model of a model"), "{file}");
    assert!(told.contains("predicted 1,000 IOPS"), "{told}");
    assert!(told.contains("doubt: the run is a prediction, so this is a model of a model"), "{told}");
    assert!(told.contains("bound by vm-uncached-iops"), "{told}");
    assert!(told.contains("doubt: no writes were measured"), "{told}");
}

#[test]
fn what_no_mix_told_is_called_an_assumption_with_the_load_that_would_tell() {
    let bench = Bench::new();
    predicted_reads(&bench, "\"100 %\", \"0 %\"");
    let output = bench.run(&["fit", "last"]);
    let (file, told) = (text(&output.stdout), text(&output.stderr));
    assert!(file.contains("# Assumed: reads and writes draw on one budget"), "{file}");
    assert!(told.contains("assumed: reads and writes draw on one budget") && told.contains("\"50 %\""), "{told}");
}

#[test]
fn a_file_that_is_there_is_written_over_only_with_force() {
    let bench = Bench::new();
    predicted(&bench);
    let own = bench.file("own.toml", "mine\n");
    let refused = bench.refused(2, &["fit", "last", "-o", &own]);
    assert!(refused.contains("own.toml is there already") && refused.contains("--force"), "{refused}");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine\n");
    bench.done(&["fit", "last", "-o", &own, "--force"]);
    assert!(std::fs::read_to_string(&own).unwrap().contains("[volume.data]"));
    let new = bench.path("new.toml").display().to_string();
    bench.done(&["fit", "last", "-o", &new]);
    bench.refused(2, &["fit", "last", "-o", &new]);
}

#[test]
fn what_says_nothing_of_storage_becomes_no_disk() {
    let bench = Bench::new();
    bench.done(&["quick", "null", "--duration", "30 ms"]);
    let file = bench.path("null-disk.toml");
    let refused = bench.refused(1, &["fit", "last", "-o", &file.display().to_string()]);
    assert!(refused.contains("says nothing of storage") && refused.contains("null target"), "{refused}");
    assert!(!file.exists());
    assert!(bench.refused(1, &["fit", "nonsense"]).contains("nonsense"));
}
