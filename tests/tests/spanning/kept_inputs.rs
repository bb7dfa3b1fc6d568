//! Every fuzz target over its kept inputs and a bounded number of seeded mutations of them.

use loadline_tests::fuzz::{TARGETS, Target};
use loadline_tests::mutation::Mutator;
use loadline_tests::sample;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Mutations of all inputs of a target together.
const MUTATIONS: u64 = 20_000;

/// The same where everything is tried, of each of the formats that people bring.
const MUTATIONS_LONG: u64 = 1_000_000;
const BROUGHT: [&str; 6] = ["fio_jobs", "fio_results", "monitoring_files", "plan_parse", "recordings", "settings"];

/// Seconds of one input, of the mutations above; what takes longer is taken for endless.
const INPUT_S: u32 = 10;

/// The kept inputs of a target, in the order of their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = loadline_tests::root().join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder's entry").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} keeps no input", folder.display());
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).expect("a kept input can be read"));
    paths.into_iter().map(read).collect()
}

/// Runs `target` on `input`; says which input it was when it panics.
fn hold(target: Target, input: &[u8], origin: &str) {
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    assert!(
        outcome.is_ok(),
        "{origin} breaks it: \"{}\". Write these bytes to a file in the corpus and mend what they break.",
        input.escape_ascii()
    );
}

fn hold_all(name: &str) {
    let (_, target) = TARGETS.into_iter().find(|(known, _)| *known == name).expect("a target's name");
    let inputs = corpus(name);
    for (path, input) in &inputs {
        hold(target, input, path);
    }
    let is_long = sample::is_long() && BROUGHT.contains(&name);
    let mutations = if is_long { MUTATIONS_LONG } else { MUTATIONS };
    let (at, (done, ends)) = (AtomicU64::new(0), channel());
    let at = &at;
    std::thread::scope(|scope| {
        if is_long {
            scope.spawn(move || end_what_is_endless(name, at, &ends));
        }
        for seed in 0..mutations {
            at.store(seed, Ordering::Relaxed);
            let mut mutator = Mutator::new(seed);
            let (path, input) = &inputs[mutator.below(inputs.len())];
            let (_, other) = &inputs[mutator.below(inputs.len())];
            hold(target, &mutator.mutate(input, other), &format!("mutation {seed} of {path}"));
        }
        drop(done);
    });
}

/// Ends the program, with the mutation's number, where one takes too long.
fn end_what_is_endless(name: &str, at: &AtomicU64, done: &Receiver<()>) {
    let (mut last, mut seconds) = (0, 0);
    while done.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
        let now = at.load(Ordering::Relaxed);
        seconds = if now == last { seconds + 1 } else { 0 };
        last = now;
        if seconds > INPUT_S {
            eprintln!("{name}: mutation {now} takes more than {INPUT_S} s");
            std::process::abort();
        }
    }
}

#[test]
fn a_stored_histogram_of_any_bytes_is_refused_or_keeps_its_rules() {
    hold_all("histogram_decode");
}

#[test]
fn requests_over_http_may_be_anything() {
    hold_all("http_request");
}

#[test]
fn lines_of_the_control_socket_may_be_anything() {
    hold_all("control");
}

#[test]
fn files_of_a_repository_may_be_anything() {
    hold_all("repository_files");
}

#[test]
fn a_trace_may_be_anything() {
    hold_all("trace_read");
}

#[test]
fn the_beginning_of_an_nbd_connection_may_be_anything() {
    hold_all("nbd_negotiation");
}

#[test]
fn nbd_requests_may_be_anything() {
    hold_all("nbd_requests");
}

#[test]
fn a_plan_of_any_text_is_refused_or_keeps_its_rules() {
    hold_all("plan_parse");
}

#[test]
fn a_job_file_of_any_text_is_refused_or_gives_loads_that_can_be_run() {
    hold_all("fio_jobs");
}

#[test]
fn results_of_fio_may_be_anything() {
    hold_all("fio_results");
}

#[test]
fn a_quantity_of_any_text_is_refused_or_prints_as_it_parses() {
    hold_all("units");
}

#[test]
fn a_monitoring_file_of_any_bytes_has_figures_of_storage_or_is_refused() {
    hold_all("monitoring_files");
}

#[test]
fn traces_of_other_tools_may_be_anything() {
    hold_all("recordings");
}

#[test]
fn settings_of_any_text_are_refused_with_their_problems_or_read() {
    hold_all("settings");
}

#[test]
fn every_target_has_its_program_and_its_inputs() {
    for (name, _) in TARGETS {
        let program = loadline_tests::root().join(format!("fuzz/fuzz_targets/{name}.rs"));
        let text = std::fs::read_to_string(&program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        assert!(text.contains(&format!("loadline_tests::fuzz::{name}(")), "{} does not call it", program.display());
        assert!(!corpus(name).is_empty());
    }
}

#[test]
fn an_offer_of_any_bytes_becomes_lists_as_meant_or_is_refused() {
    hold_all("price_offer");
}

#[test]
fn an_offer_as_csv_of_any_bytes_becomes_lists_as_meant_or_is_refused() {
    hold_all("price_offer_csv");
}

#[test]
fn a_price_page_of_any_bytes_becomes_lists_as_meant_or_is_refused() {
    hold_all("price_page");
}

#[test]
fn retail_prices_of_any_bytes_become_lists_as_meant_or_are_refused() {
    hold_all("price_retail");
}

#[test]
fn skus_of_any_bytes_become_lists_as_meant_or_are_refused() {
    hold_all("price_skus");
}

#[test]
fn limits_of_any_bytes_become_files_that_read_or_are_refused() {
    hold_all("limits_answer");
}
