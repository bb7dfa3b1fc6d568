//! Examples of every verb, which end its help. A test runs them.

use clap::Command;

/// By verb: commands as they are typed.
pub(crate) const EXAMPLES: [(&str, &[&str]); 22] = [
    (
        "quick",
        &["loadline quick", "loadline quick /mnt/data --objective p99=5ms", "loadline quick /mnt/data --dry-run"],
    ),
    (
        "run",
        &[
            "loadline run outstanding-sweep --on /mnt/data --short",
            "loadline run outstanding-sweep --on /mnt/data --find-objective --objective p99=5ms",
            "loadline run job.fio --on /mnt/data --dry-run",
        ],
    ),
    (
        "predict",
        &[
            "loadline predict outstanding-sweep --env ds3-p30 --short",
            "loadline predict outstanding-sweep --env ds3-p30 --find-objective --objective p99=20ms",
            "loadline predict outstanding-sweep --env environments/ --limits-only --part 3/1000 -o rows-3.csv",
        ],
    ),
    (
        "hunt",
        &[
            "loadline hunt matrix-200-short --cell \"random write 1 MiB, depth 32\" --env pool-4",
            "loadline hunt matrix-200-short --cell 3 --on /mnt/data --dry-run",
        ],
    ),
    ("list", &["loadline list -n 10", "loadline list --verb quick --since 2026-01-31"]),
    ("show", &["loadline show last", "loadline show last --limits", "loadline show last --objective p99=1s"]),
    ("compare", &["loadline compare before after", "loadline compare before after --figure p99 --format csv"]),
    (
        "merge",
        &[
            "loadline merge node1=node1.json node2=node2.json",
            "loadline merge before after --name \"both hosts\"",
            "loadline merge node1=node1.json node2=node2.json --clock-offset node2=-1.5ms",
        ],
    ),
    (
        "clock",
        &[
            "loadline clock compare node1 node2 -o clocks.json",
            "loadline clock compare pod-0 pod-1 --by \"kubectl exec -i {} -- loadline clock serve\"",
            "loadline merge node1=node1.db node2=node2.db --clocks clocks.json",
        ],
    ),
    ("fit", &["loadline fit before", "loadline fit before -o mine.toml"]),
    ("rm", &["loadline rm before --dry-run", "loadline rm before after --dry-run"]),
    (
        "report",
        &[
            "loadline report last",
            "loadline report before after -o both.html",
            "loadline report --all -o pages",
            "loadline report --all nightly --tag host=db1 -o pages-of-db1",
        ],
    ),
    ("import", &["loadline import results.json", "loadline import results.json --name \"from a colleague\""]),
    (
        "export",
        &[
            "loadline export last --as csv",
            "loadline export --all --as parquet --rows trials -o trials.parquet",
            "loadline export last --as record -o baseline.json",
        ],
    ),
    ("plans", &["loadline plans", "loadline plans show outstanding-sweep"]),
    ("environments", &["loadline environments show ds3-p30", "loadline environments cost ds3-p30 --region eastus"]),
    (
        "catalog",
        &[
            "loadline catalog list --provider azure --kind disk --persistent --sort price --region eastus",
            "loadline catalog show azure/premium-p30",
            "loadline catalog update --from prices.json --dry-run",
        ],
    ),
    (
        "emulate",
        &["loadline emulate ds3-p30 --socket /tmp/disk.sock", "loadline emulate ds3-p30 --attach /mnt/emulated"],
    ),
    (
        "fault",
        &[
            "loadline fault /tmp/disk.sock --status",
            "loadline fault /tmp/disk.sock data --delay \"20 ms\" --share \"10 %\"",
        ],
    ),
    ("doctor", &["loadline doctor", "loadline doctor /mnt/data"]),
    ("completions", &["loadline completions bash", "loadline completions zsh"]),
    ("man", &["loadline man man-pages", "loadline man /tmp/man-pages"]),
];

/// The first example of a verb.
pub(crate) fn first(verb: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(of, _)| *of == verb).map(|(_, examples)| examples[0])
}

/// The command with its examples at the end of each verb's help.
pub(crate) fn with_examples(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (verb, examples)| {
        command.mut_subcommand(verb, |of| {
            let before = of.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
            of.after_help(format!("{before}Examples:\n  {}", examples.join("\n  ")))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::CommandLine;
    use clap::CommandFactory;

    /// The words of a command as a shell has them.
    fn words(typed: &str) -> Vec<String> {
        let (mut words, mut quoted) = (vec![String::new()], false);
        for c in typed.chars() {
            match c {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().expect("there is a first word").push(c),
            }
        }
        words
    }

    #[test]
    fn the_help_of_every_verb_ends_with_examples_that_can_be_typed() {
        let mut command = with_examples(CommandLine::command());
        for verb in command.clone().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) =
                help.rsplit_once("Examples:\n").unwrap_or_else(|| panic!("{}: {help}", verb.get_name()));
            // Remarks stand behind the command, after several spaces.
            let commands = examples.lines().filter_map(|line| line.trim().split("  ").next());
            let lines: Vec<&str> = commands.filter(|line| line.starts_with("loadline ")).collect();
            assert!((2..=4).contains(&lines.len()), "{}: {lines:?}", verb.get_name());
            let is_own = |line: &&str| words(line)[1] == verb.get_name();
            assert!(lines.iter().any(is_own), "{}: {lines:?}", verb.get_name());
            // Those of other verbs show what comes next; theirs are tried with them.
            for line in lines.into_iter().filter(is_own) {
                command.try_get_matches_from_mut(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }
}
