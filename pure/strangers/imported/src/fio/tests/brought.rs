//! Results as people brought them, cut down to what matters.

use super::read;
use crate::{Job, text};

fn jobs(name: &str, bytes: &[u8]) -> Vec<Job> {
    let text = text(bytes.to_vec()).unwrap();
    let found = read(&text, name, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(found.left_out.len(), 0, "{name}");
    found.jobs
}

#[test]
fn clones_that_a_version_does_not_report_are_found_by_rate_times_latency() {
    let job = jobs("a", include_bytes!("../../../tests/corpus/fio/brought/clones-not-told.json")).remove(0);
    assert_eq!((job.spec.outstanding(), job.spec.threads), (Some(8), 8));
    let told = job.unknown.join("\n");
    assert!(told.contains("these have 1 in flight, rate times latency is 8.0"), "{told}");
    assert!(told.contains("Which depth each had is not known"), "{told}");
}

#[test]
fn samples_of_single_requests_say_nothing_of_how_the_rate_scatters() {
    let job = jobs("a", include_bytes!("../../../tests/corpus/fio/brought/log-of-single-requests.json")).remove(0);
    assert_eq!(job.trial.told_scatter, None);
}

#[test]
fn a_client_has_the_jobs_of_each_host_without_their_sum() {
    let all = jobs("a", include_bytes!("../../../tests/corpus/fio/brought/client-and-server.json"));
    assert_eq!(all.len(), 2);
    assert!(
        all.iter().all(|job| job.name.contains(" on ")),
        "{:?}",
        all.iter().map(|job| &job.name).collect::<Vec<_>>()
    );
}

#[test]
fn a_mark_before_the_text_is_passed_over_and_options_that_are_off_ask_for_nothing() {
    let bytes = include_bytes!("../../../tests/corpus/fio/brought/byte-order-mark.json");
    assert_eq!(bytes[..3], [0xef, 0xbb, 0xbf]);
    let marked = jobs("a", bytes).remove(0);
    // PowerShell's `>` writes UTF-16.
    let plain = text(bytes.to_vec()).unwrap();
    let wide: Vec<u8> = [0xfe_ff].into_iter().chain(plain.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    assert_eq!(jobs("a", &wide).remove(0).trial.count(), marked.trial.count());
    let off = jobs("a", include_bytes!("../../../tests/corpus/fio/brought/options-that-are-off.json"));
    assert_eq!(off.len(), 1);
}
