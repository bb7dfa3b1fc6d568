//! Typing mistakes: each error says what to type, and the parser takes that.

use crate::Bench;
use crate::inputs::SWEEP;
use crate::refusals::refused;

/// What is typed, and what the error must name.
const SLIPS: [(&str, &str); 48] = [
    // A verb.
    ("qiuck", "'quick'"),
    ("quik", "'quick'"),
    ("benchmark", "'quick'"),
    ("bench", "'quick'"),
    ("simulate", "'predict'"),
    ("predcit", "'predict'"),
    ("diff", "'compare'"),
    ("ls", "'list'"),
    ("delete last", "'rm'"),
    ("monitor", "'watch'"),
    ("shwo", "'show'"),
    // An option.
    ("report last --o x.html", "'--output'"),
    ("show --cel 3", "'--cell'"),
    ("export last --format csv", "'--as'"),
    ("predict outstanding-sweep --environment ds3-p30", "'--env'"),
    ("run outstanding-sweep --target /tmp", "'--on'"),
    ("run outstanding-sweep --path /tmp", "'--on'"),
    ("quick . --objectiv p99=5ms", "'--objective'"),
    ("list --verb quik", "'quick'"),
    ("list --status done", "finished"),
    ("show last --format xml", "json"),
    // What is missing.
    ("predict outstanding-sweep", "for example: loadline predict"),
    ("compare", "for example: loadline compare"),
    ("hunt", "for example: loadline hunt"),
    ("emulate", "for example: loadline emulate"),
    ("replay", "--env <FILE>|--on <VOLUME=TARGET>"),
    ("export last", "for example: loadline export"),
    ("advise", "--iops 9000"),
    ("advise --iops 5000", "--size 500GiB"),
    ("run outstanding-sweep", "--on PATH"),
    // A unit.
    ("advise --iops 5000 --size 100", "100 GiB"),
    ("quick . --duration 5", "unit"),
    ("quick . --size 10GX", "GiB"),
    ("quick . --objective p99=5", "unit"),
    ("quick . --objective p98=5ms", "p99"),
    ("predict outstanding-sweep --env ds3-p30 --hours soon", "24"),
    // A name.
    ("predict outstanding-swep --env ds3-p30", "did you mean outstanding-sweep?"),
    ("predict outstanding-sweep --env ds3p30", "did you mean ds3-p30?"),
    ("predict outstanding-sweep --env ds3-p30 --volume dat", "it has data"),
    ("predict outstanding-sweep --env azure/premium-p30", "sku = \"azure/premium-p30\""),
    ("predict outstanding-sweep --env nosuch.toml", "`loadline environments`"),
    ("run @need --on null", "need.toml"),
    ("catalog show azure/premium-p33", "azure/premium-p30"),
    ("catalog list --region eastuss", "did you mean eastus?"),
    ("watch no-such-program", "`loadline watch /mnt/data`"),
    // One thing in the place of another.
    ("predict ds3-p30 --env outstanding-sweep", "`loadline predict outstanding-sweep --env ds3-p30`"),
    ("run ds3-p30 --on null", "`loadline predict outstanding-sweep --env ds3-p30`"),
    ("advise --from @console.csv --size 1GiB", "`aws cloudwatch get-metric-data`"),
];

/// The same of words that are right and name the wrong thing.
const WRONG_THINGS: [(&str, &str); 4] = [
    ("quick /nowhere/at/all", "name a directory, a file or a block device"),
    ("import @app.trace", "`loadline replay`"),
    ("import @console.csv", "`loadline advise`"),
    ("replay @results.json --env ds3-p30", "`loadline import`"),
];

/// Commands of loadline that a text names: in quotes, or as an example.
fn commands(told: &str) -> Vec<String> {
    let quoted = told.split('`').skip(1).step_by(2).filter(|text| text.starts_with("loadline "));
    let examples = told.lines().filter_map(|line| line.split_once("for example: ")).map(|(_, command)| command);
    quoted.chain(examples).map(str::to_owned).collect()
}

#[test]
fn every_slip_is_told_what_to_type() {
    let bench = Bench::new();
    bench.file("need.toml", SWEEP);
    bench.file("app.trace", "LOADTRACE");
    bench.file("results.json", "{\"jobs\": 1}");
    bench.file("console.csv", "Label,VolumeReadOps,VolumeWriteOps\n2026-01-01 00:00,100,200\n");
    bench.done(&["predict", "outstanding-sweep", "--env", "ds3-p30", "--limits-only", "--name", "before"]);
    let slips = SLIPS.map(|slip| (2, slip)).into_iter().chain(WRONG_THINGS.map(|thing| (1, thing)));
    for (status, (line, named)) in slips {
        let told = refused(&bench, status, line, &[named]);
        for command in commands(&told) {
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            let placeholders = words.iter().any(|word| word.contains("...") || word.contains('"'));
            if !placeholders {
                // Help comes only after words that the parser knows.
                bench.done(&[&words[..], &["--help"]].concat());
            }
        }
    }
}

#[test]
fn a_run_that_is_not_there_names_the_nearest() {
    let bench = Bench::new();
    bench.done(&["predict", "outstanding-sweep", "--env", "ds3-p30", "--short", "--draws", "1", "--name", "before"]);
    for (status, line, named) in [
        (1, "show lasst", "did you mean \"last\"?"),
        (1, "show lats", "did you mean \"last\"?"),
        (1, "compare befor last", "did you mean \"before\"?"),
        (1, "report befroe", "did you mean \"before\"?"),
        (1, "show nothing-like-it", "`loadline list`"),
        (2, "show last --cell 99", "numbered from 1 to "),
        (2, "show last --cell sideways", "name one by its label or its number"),
    ] {
        refused(&bench, status, line, &[named]);
    }
}
