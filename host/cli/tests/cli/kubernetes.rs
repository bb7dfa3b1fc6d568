//! The Jobs of the page about Kubernetes: their commands run as pods run them, and what they say is what Kubernetes takes.

use crate::hosts::{LEAD_S, examples, scaled, small_plan};
use crate::{Bench, text};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The start that the page's Job has.
const START: &str = "2026-01-31T14:30:00Z";

fn jobs() -> Vec<String> {
    examples("An indexed Job", "yaml")
}

/// The first list behind a key, in its flow form.
fn list(job: &str, key: &str) -> Vec<String> {
    let (_, from) = job.split_once(&format!("{key}: [")).unwrap_or_else(|| panic!("no {key} in {job}"));
    // Commas within quotes part nothing.
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in from.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' | ']' if !is_quoted => {
                words.push(std::mem::take(&mut word));
                if c == ']' {
                    break;
                }
            }
            c if c.is_whitespace() && !is_quoted => {}
            c => word.push(c),
        }
    }
    words
}

/// The value of a key wherever it stands.
fn values<'a>(job: &'a str, key: &str) -> Vec<&'a str> {
    let key = format!("{key}: ");
    let after = job.split(&key).skip(1);
    after.map(|rest| rest.split([',', ' ', '}', '\n']).next().unwrap().trim_matches('"')).collect()
}

/// The words of a command in a pod of this bench: folders are the bench's, and variables have these values.
fn in_pod(bench: &Bench, command: &[String], variables: &[(&str, &str)]) -> Vec<String> {
    let word = |word: &String| {
        let known =
            variables.iter().fold(word.clone(), |word, (name, value)| word.replace(&format!("$({name})"), value));
        assert!(!known.contains("$("), "nothing gives a value to a variable of {known}");
        ["/plans", "/shared", "/results"]
            .iter()
            .fold(known, |word, folder| word.replace(folder, &bench.path(&folder[1..]).display().to_string()))
    };
    command.iter().map(word).collect()
}

#[test]
fn pods_of_the_job_measure_at_once_and_the_second_job_merges_them() {
    let bench = Bench::new();
    for folder in ["plans", "shared", "results"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    small_plan(&bench);
    fs::rename(bench.path("plan.toml"), bench.path("plans/plan.toml")).unwrap();
    let [measure, merge, _] = jobs().try_into().unwrap();
    assert_eq!(values(&measure, "value"), [START]);
    let pods: usize = values(&measure, "completions")[0].parse().unwrap();
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(LEAD_S);
    let start = format!("@{}", start.as_secs());
    let begun = |words: &[String]| {
        assert_eq!(words[0], "loadline");
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let mut command = bench.command(&words);
        // Nothing of the machine but what the pod has.
        command.env_remove("LOADLINE_STORE").env("HOME", bench.path("home"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let all: Vec<_> = (0..pods)
        .map(|index| {
            let variables = [("JOB_COMPLETION_INDEX", &*index.to_string()), ("START", &start)];
            begun(&in_pod(&bench, &list(&measure, "command"), &variables))
        })
        .collect();
    for pod in all {
        let output = pod.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let output = begun(&in_pod(&bench, &list(&merge, "command"), &[])).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("With more hosts"), "{}", text(&output.stdout));
    let store = bench.path("results/all.db").display().to_string();
    let merged = bench.done(&["export", "last", "--as", "json", "--store", &store]);
    let merged = serde_json::from_str(&merged).unwrap();
    assert_eq!(scaled(&merged), [1, 2, i64::try_from(pods).unwrap()]);
}

#[test]
fn whatever_a_job_names_is_mounted_and_no_program_but_the_images_is_started() {
    for job in jobs() {
        let (mounts, volumes) = (values(&job, "mountPath"), job.split("volumes:").nth(1).unwrap());
        let command = list(&job, "command");
        assert!(["loadline", "mpirun"].contains(&command[0].as_str()), "the image has no shell: {command:?}");
        for path in command.iter().filter_map(|word| word.find('/').filter(|at| *at < 6).map(|at| &word[at..])) {
            let is_below = |mount: &&str| path.starts_with(*mount);
            assert!(mounts.iter().any(is_below) || !path.starts_with('/'), "{path} is mounted nowhere");
        }
        for mount in job.split("volumes:").next().unwrap().lines().filter(|line| line.contains("mountPath")) {
            let name = values(mount, "name")[0];
            assert!(volumes.contains(&format!("name: {name}")), "{name} is no volume");
        }
    }
    // The command that sets the start finds it.
    let script = examples("An indexed Job", "sh").swap_remove(0);
    assert!(script.contains(&format!("sed \"s/{START}/")), "{script}");
}

/// Of an MPIJob the pods are what Kubernetes has a schema of; its own keys are those of `kubeflow.org/v2beta1`.
const MPI_JOB: &str = r#"
import sys, yaml
job = yaml.safe_load(sys.stdin)
assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v2beta1", "MPIJob"), job
own = {"slotsPerWorker", "runLauncherAsWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath", "launcherCreationPolicy", "mpiImplementation"}
assert set(job["spec"]) <= own, set(job["spec"]) - own
assert set(job["spec"]["runPolicy"]) <= {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "schedulingPolicy", "suspend", "managedBy"}
assert set(job["spec"]["mpiReplicaSpecs"]) == {"Launcher", "Worker"}
for name, part in job["spec"]["mpiReplicaSpecs"].items():
    assert set(part) <= {"replicas", "template", "restartPolicy"}, part
    yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name.lower()}, **part["template"]}, open(name + ".yaml", "w"))
"#;

#[test]
fn jobs_are_what_kubernetes_has_a_schema_of() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/python/bin");
    let validator = python.join("kubernetes-validate");
    if !validator.is_file() {
        println!(
            "skipped: Jobs by the schemas of Kubernetes (kubernetes-validate is not there: cargo xtask peers --long)"
        );
        return;
    }
    let bench = Bench::new();
    let [measure, merge, mpi] = jobs().try_into().unwrap();
    bench.file("measure.yaml", &measure);
    bench.file("merge.yaml", &merge);
    bench.file("mpi.yaml", &mpi);
    let input = fs::File::open(bench.path("mpi.yaml")).unwrap();
    let mut taken_apart = Command::new(python.join("python"));
    taken_apart.args(["-c", MPI_JOB]).current_dir(bench.path("")).stdin(input);
    let output = taken_apart.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let is_valid = |version: &str, files: &[&str]| {
        let mut command = Command::new(&validator);
        command.args(["--strict", "-k", version]).args(files).current_dir(bench.path(""));
        let output = command.output().unwrap();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    };
    for version in ["1.29.0", "1.37.0"] {
        let (valid, words) = is_valid(version, &["measure.yaml", "merge.yaml", "Launcher.yaml", "Worker.yaml"]);
        assert!(valid, "{version}: {words}");
    }
    // And a key that there is not is found.
    bench.file("wrong.yaml", measure.replace("completionMode", "completionmode"));
    assert!(!is_valid("1.37.0", &["wrong.yaml"]).0);
}
