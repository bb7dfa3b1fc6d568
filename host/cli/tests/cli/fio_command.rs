//! A command line of fio behind `--`.

use crate::Bench;

#[test]
fn a_command_line_of_fio_is_run_as_it_stands() {
    let bench = Bench::new();
    let file = bench.file("data", vec![7_u8; 1 << 20]);
    let words = format!("--filename={file} --size=1m --rw=randread --bs=16k --direct=0 --output-format=json");
    let command: Vec<&str> =
        ["run", "--read-only", "--yes", "--", "fio", "--name=pasted"].into_iter().chain(words.split(' ')).collect();
    bench.done(&command);
    let run = bench.last();
    let cell = &run["cells"][0];
    assert!(cell["label"].as_str().is_some_and(|label| label.starts_with("pasted: random")), "{cell}");
    assert_eq!(cell["load"]["block_bytes"], 16 << 10, "{cell}");

    let wrong =
        bench.refused(2, &["run", "--dry-run", "--", "fio", "--name=a", "--size=1g", "--pre_read", "1", "--no=2"]);
    assert!(wrong.contains("--pre_read: pre_read=1: ") && wrong.contains("--no=2: no=2: "), "{wrong}");
}
