//! Scripts of set-ups that differ, against the files in `tests/golden`; every option of theirs is one that its tool lists.
//!
//! `UPDATE_GOLDEN=1 cargo test -p loadline-advise scripts` rewrites the files. `tests/options` is what the tools list
//! (see its first lines). `docs/inside/advise.md` says which tools have read the files themselves.

use crate::{on, quick, rates};
use loadline_advise::{Candidate, NeedFigures, Script, ScriptError, advise, script};
use loadline_catalog::Catalog;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A set-up: its name, machine, disk, number of disks, IOPS.
type SetUp = (&'static str, &'static str, &'static str, u32, f64);

const SET_UPS: &[SetUp] = &[
    ("azure-stripe", "azure/d8s-v5", "azure/premium-p30", 2, 9_000.0),
    ("azure-nvme", "azure/e4bs-v5-nvme", "azure/premium-v2", 1, 9_000.0),
    ("azure-ultra-on-arm", "azure/d4ps-v5", "azure/ultra", 1, 4_000.0),
    ("azure-first-generation", "azure/ds2", "azure/premium-p10", 1, 400.0),
    ("aws-stripe-on-arm", "aws/m6g.xlarge", "aws/gp3", 2, 5_000.0),
    ("aws-xen", "aws/m4.xlarge", "aws/io2", 1, 4_000.0),
    ("aws-many", "aws/m5.24xlarge", "aws/gp3", 24, 9_000.0),
    ("gcp-stripe", "gcp/n2-standard-16", "gcp/pd-ssd", 2, 12_000.0),
    ("gcp-provisioned", "gcp/c3-highcpu-8", "gcp/hyperdisk-balanced", 1, 9_000.0),
];

const TOOLS: &[(Script, &str)] = &[
    (Script::AzureCli, "azure.sh"),
    (Script::AwsCli, "aws.sh"),
    (Script::Gcloud, "gcloud.sh"),
    (Script::Terraform, "tf"),
    (Script::Bicep, "bicep"),
    (Script::PowerShell, "ps1"),
];

/// The set-up as a row, and its need.
fn row(catalog: &Catalog, set_up: &SetUp) -> (Candidate, NeedFigures) {
    let (name, machine, disk, count, iops) = *set_up;
    let mut need = on(machine, disk, count, rates(iops, 0.7, 8192));
    need.size = loadline_units::Bytes::gib(100 * u64::from(count));
    let mut advice = advise(&need, catalog, &quick()).unwrap();
    let mut row = advice.candidates.drain(..).chain(advice.unpriced.drain(..)).next().unwrap_or_else(|| {
        panic!("{name}: no row in\n{:?}", advice.misses);
    });
    // As many disks as are to be attached, however few would do.
    let volume = &mut row.volumes[0];
    volume.columns = count;
    volume.disks[0].count = count;
    // Prices change: the files show the machine and disks alone.
    row.price_month.amount = 1.0;
    row.price_month.complete = true;
    (row, advice.need)
}

/// Each set-up's script for each tool that provisions it, by the file's name.
fn scripts() -> Vec<(String, Script, String)> {
    let catalog = Catalog::builtin();
    let mut found = Vec::new();
    for set_up in SET_UPS {
        let (row, need) = row(&catalog, set_up);
        for (tool, ending) in TOOLS {
            match script(&row, &need, *tool, &catalog) {
                Ok(text) => found.push((format!("{}.{ending}", set_up.0), *tool, text)),
                Err(ScriptError::OtherProvider { .. }) => {}
                Err(error) => assert!(matches!(error, ScriptError::NoWindows { .. }), "{}: {error}", set_up.0),
            }
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "golden files are files")]
#[test]
fn each_set_up_is_provisioned_as_its_files_show() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut differing = Vec::new();
    for (name, _, text) in scripts() {
        if update {
            std::fs::write(folder.join(&name), &text).unwrap();
        }
        if std::fs::read_to_string(folder.join(&name)).unwrap_or_default() != text {
            differing.push(name);
        }
    }
    assert!(
        differing.is_empty(),
        "{differing:?} differ. If the change is wanted: UPDATE_GOLDEN=1 cargo test -p loadline-advise"
    );
}

#[test]
fn what_is_no_word_gets_into_no_script() {
    let catalog = Catalog::builtin();
    let (row, need) = row(&catalog, &SET_UPS[4]);
    for name in ["x\ntouch harmed", "x; touch harmed", "$(touch harmed)", "x touch harmed", "'x'"] {
        let region = Candidate { region: name.to_owned(), ..row.clone() };
        let machine = Candidate { machine: format!("aws/{name}"), ..row.clone() };
        for row in [region, machine] {
            for tool in [Script::AwsCli, Script::Terraform] {
                let refused = script(&row, &need, tool, &catalog);
                assert!(matches!(&refused, Err(ScriptError::NoWord { name: said }) if said == name), "{refused:?}");
            }
        }
    }
    let named = NeedFigures { name: "a\ntouch harmed\r\nb".to_owned(), ..need };
    for (tool, _) in TOOLS.iter().filter(|(tool, _)| matches!(tool, Script::AwsCli | Script::Terraform)) {
        let text = script(&row, &named, *tool, &catalog).unwrap();
        assert!(text.contains("harmed") && !text.lines().any(|line| line.starts_with("touch")), "{text}");
    }
}

/// Names, each with what may stand with it.
type Listed = BTreeMap<String, BTreeSet<String>>;

/// A list: a name at the start of a line, and below it, set in, what may stand with it.
fn listed(text: &str) -> Listed {
    let mut found = Listed::new();
    let mut name = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(' ') {
            found.entry(name.to_owned()).or_default().extend(line.split_whitespace().map(str::to_owned));
        } else {
            name = line;
        }
    }
    found
}

/// The words of a line of a shell, without quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ' | '(' | ')', None) => words.push(std::mem::take(&mut word)),
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// What a call of a tool has that the list has not.
fn refused_call(words: &[String], listed: &Listed) -> Vec<String> {
    let path: Vec<&str> = words.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).collect();
    let command = (1..=path.len()).rev().map(|count| path[..count].join(" ")).find(|name| listed.contains_key(name));
    let Some(command) = command else { return vec![format!("no command {}", path.join(" "))] };
    let mut refused = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next().filter(|word| *word != "<on-the-machine.sh") {
        let (option, value) =
            word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
        if !option.starts_with("--") {
            continue;
        }
        if !listed[&command].contains(option) {
            refused.push(format!("{command} has no {option}"));
        }
        let value = value.or_else(|| rest.peek().map(|word| word.as_str()));
        let choices = listed.get(&format!("{command} {option}"));
        if let (Some(choices), Some(value)) = (choices, value)
            && !choices.contains(value)
        {
            refused.push(format!("{command} {option} takes no {value}"));
        }
    }
    refused
}

/// The calls of a tool in a script for a shell, those that it prints as the next step included.
fn calls(text: &str, tool: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let outside = joined.split("cat >on-the-machine.sh").next().unwrap().lines();
    let printed = joined.lines().filter(|line| line.starts_with("echo \"Next"));
    let begin = format!("{tool} ");
    let of = |line: &str| {
        let line = line.replace('"', " ");
        let at = line.match_indices(&begin).map(|(at, _)| at).find(|at| *at == 0 || line[..*at].ends_with([' ', '(']));
        at.map(|at| words(&line[at + begin.len()..]))
    };
    outside.filter(|line| !line.trim_start().starts_with('#')).chain(printed).filter_map(of).collect()
}

/// The keys of a text of blocks in braces, each with those around it: `key = value` and `block {` of Terraform, `key: value` and
/// `key: {` of Bicep. What stands in quotes is no key.
fn keys(text: &str, separator: char) -> Vec<String> {
    let (mut around, mut found): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut word, mut last, mut opened) = (String::new(), String::new(), String::new());
    let mut quote: Option<char> = None;
    let path = |around: &[String], last: &str| {
        around.iter().map(String::as_str).chain([last]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
    };
    for c in text.chars() {
        if let Some(open) = quote {
            quote = (c != open).then_some(open);
            continue;
        }
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let follows_word = !word.is_empty();
        if follows_word {
            last = std::mem::take(&mut word);
        }
        match c {
            '"' | '\'' => quote = Some(c),
            '=' if separator == '=' && !last.is_empty() => found.push(path(&around, &std::mem::take(&mut last))),
            ':' if separator == ':' && follows_word => {
                opened = std::mem::take(&mut last);
                found.push(path(&around, &opened));
            }
            '{' if separator == '=' => {
                found.push(path(&around, &last));
                around.push(std::mem::take(&mut last));
            }
            '{' => around.push(std::mem::take(&mut opened)),
            '}' => {
                around.pop();
                last.clear();
            }
            '\n' | ',' => last.clear(),
            _ => {}
        }
    }
    found
}

#[test]
fn keys_stand_with_those_around_them() {
    let terraform = "\n  count = 2\n  name = \"a ${b.c}\"\n  disk {\n    size = 3\n  }\n  zone = \"a\"\n";
    assert_eq!(keys(terraform, '='), ["count", "name", "disk", "disk.size", "zone"]);
    let bicep = "\n  sku: { name: 'x: y' }\n  disks: [for i in range(0, 2): {\n    lun: i\n  }]\n  zone: 'a'\n";
    assert_eq!(keys(bicep, ':'), ["sku", "sku.name", "disks", "disks.lun", "zone"]);
}

/// What a file of blocks has that the list has not. Blocks begin with `begin`, then their type in quotes.
fn refused_blocks(text: &str, begins: &[&str], separator: char, listed: &Listed, general: &[&str]) -> Vec<String> {
    let mut refused = Vec::new();
    let mut seen = 0;
    for block in text.split("\n\n") {
        let Some(begin) = begins.iter().find(|begin| block.starts_with(**begin)) else { continue };
        let Some((head, body)) = block.split_once("{\n") else { continue };
        let quoted = head.split(['"', '\'']).nth(1).unwrap_or_default();
        let kind = quoted.split('@').next().unwrap_or_default();
        let name = if separator == '=' { format!("{begin}{kind}") } else { kind.to_owned() };
        let Some(known) = listed.get(&name) else {
            refused.push(format!("no {name}"));
            continue;
        };
        seen += 1;
        let all = keys(body, separator);
        let bad = all.iter().filter(|key| {
            let first = key.split('.').next().unwrap_or_default();
            !known.contains(*key) && !general.contains(&first)
        });
        refused.extend(bad.map(|key| format!("{name} has no {key}")));
        let required = listed.get(&format!("{name} (required)"));
        let missing = required.into_iter().flatten().filter(|key| !all.contains(key));
        refused.extend(missing.map(|key| format!("{name} wants {key}")));
    }
    assert!(seen > 1, "no blocks in\n{text}");
    refused
}

/// What the cmdlets of a script have that the list has not.
fn refused_cmdlets(text: &str, listed: &Listed) -> Vec<String> {
    let mut refused = Vec::new();
    let lower = |text: &str| text.to_ascii_lowercase();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        for part in line.split('|') {
            let words = words(part);
            let known = |word: &&String| listed.contains_key(word.as_str());
            let Some((name, at)) = words.iter().position(|word| known(&word)).map(|at| (&words[at], at)) else {
                continue;
            };
            let options: BTreeSet<String> = listed[name].iter().map(|option| lower(option)).collect();
            // A cmdlet in parentheses has options of its own.
            let own = words[at + 1..].iter().take_while(|word| !word.starts_with("Get-"));
            let bad = own.filter(|word| word.starts_with('-') && !options.contains(&lower(word)));
            refused.extend(bad.map(|option| format!("{name} has no {option}")));
        }
    }
    refused
}

#[test]
fn every_option_of_a_script_is_one_that_its_tool_lists() {
    let lists = |text: &str| listed(text);
    let azure = lists(include_str!("../options/azure-cli.txt"));
    let aws = lists(include_str!("../options/aws-cli.txt"));
    let gcloud = lists(include_str!("../options/gcloud.txt"));
    let terraform = lists(include_str!("../options/terraform.txt"));
    let bicep = lists(include_str!("../options/bicep.txt"));
    let powershell = lists(include_str!("../options/powershell.txt"));
    let of_calls = |text: &str, tool: &str, listed: &Listed| -> Vec<String> {
        let calls = calls(text, tool);
        assert!(calls.len() >= 4, "{} calls of {tool} in\n{text}", calls.len());
        calls.iter().flat_map(|call| refused_call(call, listed)).collect()
    };
    for (name, tool, text) in scripts() {
        let refused = match tool {
            Script::AzureCli => of_calls(&text, "az", &azure),
            Script::AwsCli => of_calls(&text, "aws", &aws),
            Script::Gcloud => of_calls(&text, "gcloud", &gcloud),
            Script::Terraform => {
                refused_blocks(&text, &["resource ", "data ", "provider "], '=', &terraform, &["count", "lifecycle"])
            }
            Script::Bicep => refused_blocks(&text, &["resource "], ':', &bicep, &[]),
            Script::PowerShell => refused_cmdlets(&text, &powershell),
        };
        assert!(refused.is_empty(), "{name}: {refused:?}");
    }
}

#[test]
fn what_a_tool_does_not_list_is_found() {
    let azure = listed(include_str!("../options/azure-cli.txt"));
    let refused = |line: &str| refused_call(&words(line), &azure);
    assert_eq!(refused("disk create --sku Gold --size-gb 3"), ["disk create --sku takes no Gold"]);
    assert_eq!(refused("disk create --size 3"), ["disk create has no --size"]);
    assert_eq!(refused("disk destroy --name a"), ["no command disk destroy"]);
    let powershell = listed(include_str!("../options/powershell.txt"));
    assert_eq!(refused_cmdlets("$A = New-AzDisk -Disk $D -Size 3", &powershell), ["New-AzDisk has no -Size"]);
    let terraform = listed(include_str!("../options/terraform.txt"));
    let text = "resource \"aws_ebs_volume\" \"a\" {\n  sise = 3\n}\n\nresource \"aws_ebs_volume\" \"b\" {\n  availability_zone = \"a\"\n}\n";
    let refused = refused_blocks(text, &["resource "], '=', &terraform, &[]);
    assert_eq!(refused, ["resource aws_ebs_volume has no sise", "resource aws_ebs_volume wants availability_zone"]);
}
