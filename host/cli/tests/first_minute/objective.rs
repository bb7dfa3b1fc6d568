//! One objective in every verb: the verdict, the findings and the exit status agree.

use crate::Desk;

const PLAN: &str = "schema = 1\nname = \"p\"\n[[load]]\nqueue_depth = [1, 2]\nsize = \"4 MiB\"\nwarm_up = \"0 s\"\nduration = \"400 ms\"\ntrials = 1\n";

/// The verdict's line on the objective.
fn line(out: &str) -> &str {
    out.lines().rev().find(|line| line.trim_start().starts_with("objective")).unwrap_or_else(|| panic!("{out}"))
}

#[test]
fn an_objective_of_the_command_line_is_the_only_one_that_is_spoken_of() {
    let desk = Desk::new();
    std::fs::write(desk.path("p.toml"), PLAN).unwrap();
    std::fs::create_dir(desk.path("target")).unwrap();
    let run = ["run", "p.toml", "--on", "target"];
    let (out, _) = desk.ends(3, &[&run[..], &["--objective", "p99=1ns"]].concat());
    assert!(line(&out).contains("p99 within 1 ns: BROKEN. "), "{out}");
    let (out, _) = desk.ends(0, &[&run[..], &["--objective", "p99=1h"]].concat());
    assert!(line(&out).contains("p99 within 1 h: holds "), "{out}");
    assert!(!out.contains("within 20 ms"), "{out}");
    // A stored run is judged anew, and stays as it is.
    let (out, _) = desk.ends(3, &["show", "last", "--objective", "mean=1ns"]);
    assert!(line(&out).contains("mean within 1 ns: BROKEN. "), "{out}");
    desk.ends(3, &["report", "last", "--objective", "p99=1ns", "-o", "r.html"]);
    assert!(std::fs::read_to_string(desk.path("r.html")).unwrap().contains("p99 within 1 ns: BROKEN. "));
    let (out, _) = desk.ends(0, &["show", "last"]);
    assert!(line(&out).contains("p99 within 1 h: holds "), "{out}");
    let (_, told) = desk.ends(2, &["show", "last", "--objective", "p98=1ms"]);
    assert!(told.contains("p98"), "{told}");
}

#[test]
fn what_is_removed_can_be_looked_at_first() {
    let desk = Desk::new();
    std::fs::write(desk.path("p.toml"), PLAN).unwrap();
    desk.ends(0, &["run", "p.toml", "--on", "null", "--name", "before the move"]);
    let (out, _) = desk.ends(0, &["rm", "last", "--dry-run"]);
    assert!(out.contains("would remove run") && out.contains("before the move"), "{out}");
    desk.ends(0, &["show", "last"]);
}

#[test]
fn runs_without_a_common_cell_cannot_be_compared() {
    let desk = Desk::new();
    std::fs::write(desk.path("p.toml"), PLAN).unwrap();
    std::fs::write(desk.path("q.toml"), PLAN.replace("[1, 2]", "[3]")).unwrap();
    for plan in ["p.toml", "q.toml"] {
        desk.ends(0, &["run", plan, "--on", "null", "--name", plan]);
    }
    let (_, told) = desk.ends(4, &["compare", "p.toml", "q.toml"]);
    assert!(told.contains("no cell is in both"), "{told}");
}
