//! Plans in the words of other tools ask what they ask in loadline's.

use super::*;
use loadline_workload::{fio_jobs, presets};
use std::collections::BTreeMap;

const SIZE: Bytes = Bytes::gib(16);

fn plan(loads: &str) -> Plan {
    Plan::parse(&format!("schema = 1\nname = \"p\"\n{loads}"), "p").unwrap_or_else(|error| panic!("{error}"))
}

fn put(plan: &Plan, tool: CommandTool) -> Commands {
    commands(plan, tool, Some(SIZE)).unwrap()
}

/// The contents of a file among those that are written.
fn file<'a>(all: &'a Commands, name: &str) -> &'a str {
    &all.files.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("{name} is missing")).1
}

/// The reasons of a plan with one cell, or of its cells.
fn why(loads: &str, tool: CommandTool) -> String {
    put(&plan(loads), tool).refused.into_iter().map(|refused| refused.why).collect::<Vec<_>>().join(" | ")
}

#[test]
fn job_files_of_every_plan_that_comes_along_are_read_back_as_its_loads() {
    let mut counts = BTreeMap::new();
    for preset in presets() {
        let plan = Plan::parse(preset.text, preset.name).unwrap();
        let all = put(&plan, CommandTool::Fio);
        let carried = CarriedPlan::new(&plan, "data").unwrap();
        let refused: BTreeSet<&str> = all.refused.iter().map(|refused| refused.cell.as_str()).collect();
        for (cell, name) in carried.run.cells.iter().zip(&carried.names) {
            if refused.contains(name.as_str()) {
                continue;
            }
            let read = fio_jobs(file(&all, &format!("{name}.fio")), name).unwrap().plan;
            let back = &read.loads[0].cells[0];
            let asked = &cell.spec;
            assert_eq!(read.cells().count(), 1, "{name}");
            assert_eq!(back.size, asked.size.or(Some(SIZE)), "{name}");
            // What says how a run treats the load is no part of the job.
            let LoadSpec {
                name: _, trials, pause, hang_limit, objective, best_of_trials, cool_down, size, fill, ..
            } = asked.clone();
            let drop_caches = asked.drop_caches;
            let same = LoadSpec {
                name: asked.name.clone(),
                trials,
                pause,
                hang_limit,
                objective,
                best_of_trials,
                cool_down,
                size,
                fill,
                drop_caches,
                ..back.clone()
            };
            assert_eq!(&same, asked, "{name}");
        }
        counts.insert(preset.name, (all.cells, refused.len()));
        assert_eq!(file(&all, CARRIED_PLAN), preset.text);
    }
    let wanted = [
        ("crystaldiskmark-3", (8, 0)),
        ("crystaldiskmark-8", (8, 0)),
        ("layouts", (8, 0)),
        ("matrix-200", (200, 0)),
        ("matrix-200-short", (200, 0)),
        ("outstanding-sweep", (44, 0)),
        ("quick-look", (2, 0)),
        ("search-farm", (4, 0)),
    ];
    assert_eq!(counts, BTreeMap::from(wanted));
}

#[test]
fn scripts_have_a_command_for_each_trial_in_the_order_of_a_run() {
    let interleaved = plan("[[load]]\nsize = \"1 GiB\"\nqueue_depth = [1, 2, 4, 8]\ntrials = 3\npause = \"1500 ms\"\n");
    let all = put(&interleaved, CommandTool::Fio);
    assert_eq!((all.cells, all.trials, all.file_size), (4, 12, Bytes::GIB));
    let script = file(&all, "measure.sh");
    let trials: Vec<&str> = script.lines().filter(|line| line.starts_with("trial ")).collect();
    assert_eq!(trials.len(), 12);
    let rounds: Vec<&str> = trials.iter().map(|line| line.split(' ').nth(3).unwrap()).collect();
    assert_eq!(rounds, ["1", "1", "1", "1", "2", "2", "2", "2", "3", "3", "3", "3"]);
    assert!(trials.iter().all(|line| line.ends_with(" 2 0")), "{trials:?}");
    assert!(!script.contains("@FILE@") && !script.contains("@COUNT@"));
    let listed = plan("[[load]]\nsize = \"1 GiB\"\nqueue_depth = [1, 2]\ntrials = 2\norder = \"as-listed\"\n");
    let all = put(&listed, CommandTool::Diskspd);
    for (name, begin) in [("measure.ps1", "    Trial "), ("measure.cmd", "call :trial ")] {
        let script = file(&all, name);
        assert_eq!(script.lines().count(), script.matches("\r\n").count(), "{name} has line ends of Windows");
        let results: Vec<String> = script
            .lines()
            .filter_map(|line| line.strip_prefix(begin))
            .map(|line| line.split(' ').nth(1).unwrap().trim_matches('\'').to_owned())
            .collect();
        let carried = CarriedPlan::new(&listed, "data").unwrap();
        let wanted: Vec<String> =
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(place, trial)| carried.result(place, trial)).to_vec();
        assert_eq!(results, wanted, "{name}");
        for place in ["@HEAD@", "@MAKE@", "@FILE@", "@STEPS@", "@COUNT@"] {
            assert!(!script.contains(place), "{name} has {place}");
        }
    }
}

/// The options of diskspd that are used, with what its usage text says of each, and since which version. Of 2.1 and 2.2: the usage texts in
/// `CmdLineParser/CmdLineParser.cpp` of microsoft/diskspd at the tags v2.1 and v2.2, and the page "Command line and parameters" of its wiki.
const DISKSPD: [(&str, Argument, &str, &str); 20] = [
    ("-b", Argument::Number, "block size", "2.1, 2.2"),
    ("-B", Argument::Number, "base offset of the target", "2.1, 2.2 (a length behind it in 2.2 alone)"),
    ("-c", Argument::Number, "makes a file of so many bytes", "2.1, 2.2"),
    ("-C", Argument::Number, "cool-down in seconds", "2.1, 2.2"),
    ("-d", Argument::Number, "measured seconds", "2.1, 2.2"),
    ("-D", Argument::Number, "interval of the series in milliseconds", "2.1, 2.2"),
    ("-f", Argument::Number, "offset at which the range ends", "2.1, 2.2"),
    ("-g", Argument::Rate, "requests per second of each thread", "2.1, 2.2"),
    ("-L", Argument::None, "latencies", "2.1, 2.2"),
    ("-o", Argument::Number, "outstanding of each thread", "2.1, 2.2"),
    ("-r", Argument::Number, "random, aligned to so many bytes", "2.1, 2.2"),
    ("-R", Argument::Word(&["xml"]), "form of the results", "2.1, 2.2"),
    ("-s", Argument::Number, "sequential, so far from start to start", "2.1, 2.2"),
    (
        "-S",
        Argument::Word(&["u", "uw", "b", "bw"]),
        "caches: u without that of Windows, w durable writes, b with it",
        "2.1, 2.2",
    ),
    ("-t", Argument::Number, "threads", "2.1, 2.2"),
    ("-T", Argument::Number, "from where one thread begins to where the next does", "2.1, 2.2"),
    ("-w", Argument::Number, "percentage of writes", "2.1, 2.2"),
    ("-W", Argument::Number, "warm-up in seconds", "2.1, 2.2"),
    ("-z", Argument::Number, "seed", "2.1, 2.2"),
    ("-Z", Argument::Word(&["", "r"]), "what is written: zeros, or random for each request", "2.1, 2.2"),
];

/// What stands behind an option.
#[derive(Debug, Clone, Copy)]
enum Argument {
    None,
    Number,
    /// A number with an `i` behind it.
    Rate,
    Word(&'static [&'static str]),
}

impl Argument {
    fn takes(self, text: &str) -> bool {
        match self {
            Self::None => text.is_empty(),
            Self::Number => text.parse::<u64>().is_ok(),
            Self::Rate => text.strip_suffix('i').is_some_and(|number| number.parse::<u64>().is_ok()),
            Self::Word(words) => words.contains(&text),
        }
    }
}

/// The options of the first command in the script for PowerShell, by their letter.
fn diskspd_options(loads: &str) -> BTreeMap<String, String> {
    let all = put(&plan(loads), CommandTool::Diskspd);
    assert!(all.refused.is_empty(), "{:?}", all.refused);
    let line = file(&all, "measure.ps1").lines().find_map(|line| line.strip_prefix("    Trial ")).unwrap();
    let options = line.split('\'').nth(3).unwrap();
    options.split(' ').map(|option| (option[..2].to_owned(), option[2..].to_owned())).collect()
}

#[test]
fn every_option_of_diskspd_is_a_documented_one_with_a_value_of_its_kind() {
    let mut used = BTreeSet::new();
    let mut check = |options: BTreeMap<String, String>| {
        for (option, value) in options {
            let (_, argument, _, versions) = DISKSPD.iter().find(|known| known.0 == option).unwrap();
            assert!(argument.takes(&value) && versions.starts_with("2.1, 2.2"), "{option}{value}");
            used.insert(option);
        }
    };
    check(diskspd_options(
        "[[load]]\nreads = \"70 %\"\nblock = \"8 KiB\"\nqueue_depth = 8\nthreads = 2\nsize = \"1 GiB\"\nstart = \"1 MiB\"\n\
         rate_max = \"400 IOPS\"\ncool_down = \"2 s\"\n",
    ));
    check(diskspd_options("[[load]]\npattern = \"sequential\"\nreads = \"0 %\"\nthreads = 4\nsize = \"1 GiB\"\n"));
    for preset in presets() {
        let all = put(&Plan::parse(preset.text, preset.name).unwrap(), CommandTool::Diskspd);
        for line in file(&all, "measure.cmd").lines() {
            let making = line.strip_prefix("\"%DISKSPD%\" ").filter(|rest| rest.starts_with("-c"));
            let trial = line.strip_prefix("call :trial ").and_then(|line| line.split('"').nth(1));
            let Some(options) = trial.or(making.and_then(|rest| rest.split(" \"").next())) else { continue };
            check(options.split(' ').map(|option| (option[..2].to_owned(), option[2..].to_owned())).collect());
        }
    }
    assert_eq!(used.len(), DISKSPD.len(), "{used:?}");
}

#[test]
fn options_of_diskspd_say_what_the_load_asks() {
    let of = |loads: &str, wanted: &[(&str, &str)]| {
        let options = diskspd_options(loads);
        for (option, value) in wanted {
            assert_eq!(options.get(*option).map(String::as_str), Some(*value), "{option} of {options:?}");
        }
        options
    };
    let mixed = of(
        "[[load]]\nreads = \"70 %\"\nblock = \"8 KiB\"\nqueue_depth = 8\nthreads = 2\nsize = \"1 GiB\"\nstart = \"1 MiB\"\nalign = \"4 KiB\"\n\
         rate_max = \"400 IOPS\"\nduration = \"60 s\"\nwarm_up = \"10 s\"\ncool_down = \"2 s\"\nflush = { every = 1, how = \"fua\" }\n",
        &[
            ("-b", "8192"),
            ("-d", "60"),
            ("-W", "10"),
            ("-C", "2"),
            ("-o", "8"),
            ("-t", "2"),
            ("-w", "30"),
            ("-r", "4096"),
            ("-B", "1048576"),
            ("-f", "1074790400"),
            ("-S", "uw"),
            ("-g", "200i"),
            ("-Z", "r"),
        ],
    );
    assert!(!mixed.contains_key("-s") && !mixed.contains_key("-T"));
    let sequential = "[[load]]\npattern = \"sequential\"\nblock = \"64 KiB\"\nthreads = 4\nsize = \"1 GiB\"\n";
    let stretches =
        of(sequential, &[("-s", "65536"), ("-T", "268435456"), ("-w", "0"), ("-S", "u"), ("-f", "1073741824")]);
    assert!(!stretches.contains_key("-r") && !stretches.contains_key("-Z"));
    assert_eq!(put(&plan(sequential), CommandTool::Diskspd).notes, [diskspd::STRETCHES]);
    let over = of(&format!("{sequential}overlap = true\nbuffered = true\n"), &[("-S", "b")]);
    assert!(!over.contains_key("-T"));
    of(&format!("{sequential}stride = \"1 MiB\"\nwalk = \"again\"\n"), &[("-s", "1048576")]);
    let zeros = "[[load]]\nreads = \"0 %\"\nsize = \"1 GiB\"\ncompressible = \"100 %\"\nbuffered = true\nflush = { every = 1, how = \"fua\" }\n";
    of(zeros, &[("-Z", ""), ("-S", "bw")]);
}

#[test]
fn the_test_file_is_as_long_as_the_load_that_reaches_furthest() {
    let loads = "[[load]]\nsize = \"1 GiB\"\n[[load]]\nstart = \"3 GiB\"\nsize = \"1 GiB\"\n";
    let all = put(&plan(loads), CommandTool::Diskspd);
    assert_eq!(all.file_size, Bytes::gib(4));
    assert!(file(&all, "measure.cmd").contains("-c4294967296 "));
    assert!(file(&put(&plan(loads), CommandTool::Fio), "fill.fio").contains("size=4294967296\n"));
}

#[test]
fn a_file_that_no_load_wants_full_is_not_written_first() {
    let loads = "[[load]]\nsize = \"1 GiB\"\nreads = \"0 %\"\nfill = \"never\"\n";
    let all = put(&plan(loads), CommandTool::Fio);
    assert!(all.files.iter().all(|(name, _)| name != "fill.fio") && !file(&all, "measure.sh").contains("fill.fio"));
}

#[test]
fn what_neither_tool_does_is_refused_and_the_other_cells_are_written() {
    let size = "size = \"1 GiB\"\n";
    for (load, word) in [
        (format!("{size}reads = \"0 %\"\nverify = true\n"), "marked and checked"),
        (format!("{size}trims = \"50 %\"\n"), "trims"),
        (format!("{size}files = 4\n"), "4 files"),
        (format!("{size}steady_state = true\n"), "steady"),
        (format!("{size}arrival = {{ constant = \"100 IOPS\" }}\n"), "open loop"),
        (format!("{size}reads = \"0 %\"\nflush = {{ every = 8, how = \"fua\" }}\n"), "one write in 8"),
        (format!("{size}distribution = {{ hot = {{ requests = \"90 %\", blocks = \"10 %\" }} }}\n"), ""),
        ("size_share = \"50 %\"\n".to_owned(), "share of its target"),
    ] {
        for tool in [CommandTool::Fio, CommandTool::Diskspd] {
            let all = put(&plan(&format!("[[load]]\n{load}\n[[load]]\n{size}")), tool);
            assert_eq!((all.cells, all.refused.len()), (1, 1), "{load} {:?}", all.refused);
            assert!(all.refused[0].why.contains(word) && all.refused[0].cell.starts_with("1-"), "{:?}", all.refused);
        }
    }
    let together = "together = [\"a\", \"b\"]\n[[load]]\nname = \"a\"\nsize = \"1 GiB\"\n[[load]]\nname = \"b\"\nsize = \"1 GiB\"\n";
    for tool in [CommandTool::Fio, CommandTool::Diskspd] {
        assert!(why(together, tool).contains("beside other loads"));
        let none = commands(&plan("[[load]]\n"), tool, None).unwrap();
        assert!(none.wants_size && none.cells == 0 && none.refused.len() == 1);
    }
}

#[test]
fn what_diskspd_alone_cannot_do_is_written_for_fio() {
    let size = "size = \"1 GiB\"\n";
    for (load, word) in [
        ("arrival = { poisson = \"100 IOPS\" }", "open loop"),
        ("reads = \"0 %\"\nflush = { every = 8, how = \"fdatasync\" }", "flushes after every 8 writes"),
        ("block = { \"4 KiB\" = \"50 %\", \"8 KiB\" = \"50 %\" }", "2 sizes"),
        ("distribution = { zipf = 1.2 }", "uniform"),
        ("distribution = \"permutation\"", "uniform"),
        ("reads = \"0 %\"\nend_flush = true", "ends with a flush"),
        ("volume = \"1 GiB\"", "so many bytes"),
        ("think_time = \"1 ms\"", "think time"),
        ("duration = \"1500 ms\"", "whole seconds"),
        ("reads = \"0 %\"\nduplicate = \"50 %\"", "repeat others"),
        ("reads = \"0 %\"\ncompressible = \"50 %\"", "compresses away"),
    ] {
        let load = format!("[[load]]\n{size}{load}\n");
        assert!(why(&load, CommandTool::Diskspd).contains(word), "{load}: {}", why(&load, CommandTool::Diskspd));
        assert_eq!(why(&load, CommandTool::Fio), "", "{load}");
    }
}

#[test]
fn a_plans_name_cannot_leave_the_comment_of_a_script() {
    let text = "schema = 1\nname = \"a #> %PATH% & $(x) `y` > z\"\n[[load]]\nsize = \"1 GiB\"\n";
    for tool in [CommandTool::Fio, CommandTool::Diskspd] {
        let all = put(&Plan::parse(text, "p").unwrap(), tool);
        let scripts = all.files.iter().filter(|(name, _)| name.starts_with("measure."));
        for (name, script) in scripts {
            assert!(script.contains("\"a __ _PATH_ _ __x_ _y_ _ z\""), "{name}: {script}");
        }
    }
}

/// Each of these was a fault when the script ran under Wine with diskspd 2.2, or would be one in the command prompt of Windows.
#[test]
fn the_script_for_the_prompt_calls_labels_it_has_and_keeps_no_result_that_was_ended_early() {
    let all = put(&plan("[[load]]\nsize = \"1 GiB\"\nqueue_depth = [1, 2]\n"), CommandTool::Diskspd);
    let script = file(&all, "measure.cmd");
    let labels: BTreeSet<&str> = script.lines().filter_map(|line| line.strip_prefix(':')).collect();
    let called: BTreeSet<&str> =
        script.split("call :").skip(1).map(|rest| rest.split_whitespace().next().unwrap()).collect();
    assert_eq!(labels, called);
    let before = |first: &str, then: &str| {
        let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        assert!(at(first) < at(then), "{first} is after {then}");
    };
    // Where every result is there, no file is made; and what Ctrl-C ended has the status 0 of one that was not.
    before("if exist \"%here%%~2.xml\" exit", "call :make");
    before("\"Interrupted by Ctrl-C\"", "move /y");
    // Any command that succeeds may set the level of errors anew.
    for line in script.lines().filter(|line| line.contains("%errorlevel%")) {
        assert!(line == "set status=%errorlevel%" || line == "if %errorlevel% equ 0 set status=1", "{line}");
    }
    // A bracket ends a block, but within quotes.
    for line in script.lines().filter(|line| line.starts_with("    ")) {
        let bare: String = line.split('"').step_by(2).collect();
        assert!(!bare.contains(['(', ')']), "{line}");
    }
}

#[test]
fn the_script_for_powershell_keeps_no_result_that_was_ended_early_and_makes_no_file_for_nothing() {
    let all = put(&plan("[[load]]\nsize = \"1 GiB\"\nqueue_depth = [1, 2]\n"), CommandTool::Diskspd);
    let script = file(&all, "measure.ps1");
    assert!(script.contains("$text[0] -ne '<Results>'"));
    let (result, make) = (script.find("-LiteralPath $result)").unwrap(), script.find("{ Make }").unwrap());
    assert!(result < make);
    assert_eq!(script.matches('{').count(), script.matches('}').count());
}
