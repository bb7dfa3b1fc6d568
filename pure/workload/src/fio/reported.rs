//! The load of a job that fio has run, by the options that it reports with its results.

use super::{Purpose, Section, Setting, Settings, canonical, job, put};
use loadline_load::LoadSpec;

/// A job with the load that it was.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedJob {
    /// What it asked of storage.
    pub spec: LoadSpec,
    /// What it named to be measured: a directory, a file, or several files with colons between them.
    pub target: Option<String>,
    /// The engine: `psync` unless an option says otherwise.
    pub engine: String,
    /// Whether the options say how long it was to run.
    pub is_timed: bool,
}

/// Why a job's load cannot be put as one of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedProblem {
    /// The option; `None` for the job as a whole.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// The load of a job by its options, those of the global section first: what stands later counts. A value is empty where an option
/// stands without one.
///
/// # Errors
/// Every option that changes the load and is not known, and every value that cannot be read.
pub fn reported_job<'a>(
    name: &str,
    options: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<ReportedJob, Vec<ReportedProblem>> {
    let mut settings = Settings::new();
    let mut keys = Vec::new();
    for (key, value) in options {
        let key = canonical(&key.trim().to_ascii_lowercase()).to_owned();
        let value = if value.trim().is_empty() { "1" } else { value.trim() };
        keys.push(key.clone());
        // Its place takes the line's.
        put(&mut settings, key, Setting { line: keys.len(), value: value.to_owned() });
    }
    let engine = settings.get("ioengine").map_or("psync", |setting| &setting.value).to_owned();
    let is_timed = settings.contains_key("runtime");
    let section = Section { line: 0, name: name.to_owned(), settings, joined: 0 };
    let mut problems = Vec::new();
    let mut job = job::Job::new(&section, Purpose::Reported, &mut problems);
    let spec = job.load();
    let target = job.target.take();
    let mut told: Vec<ReportedProblem> = (problems.into_iter())
        .map(|problem| ReportedProblem {
            key: problem.line.checked_sub(1).map(|place| keys[place].clone()),
            message: problem.message,
        })
        .collect();
    if let (true, Err(error)) = (told.is_empty(), spec.check()) {
        told.push(ReportedProblem { key: None, message: error.to_string() });
    }
    if told.is_empty() { Ok(ReportedJob { spec, target, engine, is_timed }) } else { Err(told) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_load::{Arrival, Pattern};
    use loadline_units::{Bytes, Duration, Ratio};

    #[test]
    fn options_have_the_meaning_that_they_have_in_a_job_file() {
        let options = [
            ("ioengine", "libaio"),
            ("direct", "1"),
            ("rw", "randrw"),
            ("rwmixread", "70"),
            ("bs", "8k"),
            ("iodepth", "16"),
            ("numjobs", "2"),
            ("filename", "/dev/vdb:/dev/vdc"),
            ("size", "50%"),
            ("cpus_allowed", "0-3"),
            ("runtime", "60"),
            ("time_based", ""),
        ];
        let job = reported_job("a", options).unwrap();
        assert!(matches!(job.spec.pattern, Pattern::Random(_)));
        assert_eq!((job.spec.reads, job.spec.block_mean(), job.spec.threads), (Ratio::percent(70), Bytes::kib(8), 2));
        assert!(matches!(job.spec.arrival, Arrival::Closed { queue_depth: 16, rate_max: None, .. }));
        assert_eq!((job.spec.size, job.spec.volume, job.spec.duration), (None, None, Duration::from_s(60)));
        assert_eq!((job.target.as_deref(), job.engine.as_str()), (Some("/dev/vdb:/dev/vdc"), "libaio"));
        assert!(job.is_timed && !job.spec.buffered);
    }

    #[test]
    fn the_last_of_an_option_counts_and_any_engine_has_been_there() {
        let job = reported_job("a", [("iodepth", "1"), ("ioengine", "rbd"), ("iodepth", "4")]).unwrap();
        assert!(matches!(job.spec.arrival, Arrival::Closed { queue_depth: 4, .. }));
        assert!(!job.is_timed);
    }

    #[test]
    fn what_is_no_load_of_ours_is_told_with_its_option() {
        let problems = reported_job("a", [("rw", "randread"), ("iodepth_low", "8"), ("rate_iops", "x")]).unwrap_err();
        let keys: Vec<Option<&str>> = problems.iter().map(|problem| problem.key.as_deref()).collect();
        assert!(keys.contains(&Some("iodepth_low")) && keys.contains(&Some("rate_iops")), "{problems:?}");
        let whole = reported_job("a", [("bs", "100"), ("direct", "1")]).unwrap_err();
        assert_eq!((whole.len(), whole[0].key.as_deref()), (1, None), "{whole:?}");
    }

    #[test]
    fn a_mix_is_held_to_its_rate_in_each_direction() {
        let rate = |rw: &str| match reported_job("a", [("rw", rw), ("rate_iops", "2000")]).unwrap().spec.arrival {
            Arrival::Closed { rate_max, .. } => rate_max.unwrap().get(),
            other => panic!("{other:?}"),
        };
        assert_eq!((rate("randread"), rate("randrw")), (2_000, 4_000));
    }
}
