//! The advice in the form that was asked for, with the next step.

use super::ENVIRONMENT_DEFAULT;
use super::judge::assumed_words;
use crate::arguments::Format;
use crate::{printing, recommendations, typed_words};
use loadline_advise::Advice;
use loadline_report::words::advice::{
    AdviceNext, advice_lines, advice_next, advice_rows, advice_sections, advice_table, give_way,
};
use loadline_report::{About, Draft, Noun, VERDICT_LINES_MAX, VerdictLine, Weight};
use loadline_runs::advice::Assumption;
use std::fmt::Write as _;
use std::path::Path;

/// Rows, what just misses, and the verdict last.
pub(super) fn in_words(advice: &Advice, assumed: &[Assumption], format: Format, written: Option<&Path>) -> String {
    if format == Format::Csv {
        return printing::part(&advice_table(&advice.candidates), format);
    }
    let mut text = Draft::default();
    match format {
        Format::Table => advice_rows(text.heading(), &advice.candidates, &printing::terminal_options()),
        format => text.push_str(&printing::part(&advice_table(&advice.candidates), format)),
    }
    let (heading, gap, mark) = if format == Format::Markdown { ("## ", "\n", "- ") } else { ("", "", "  ") };
    for (title, lines) in advice_sections(advice) {
        let _ = write!(text.heading(), "\n{heading}{title}\n{gap}");
        for line in lines {
            // Names and texts of a catalog are anybody's.
            let line = if format == Format::Markdown { loadline_report::escape(&line) } else { line };
            let _ = writeln!(text.item(Noun::Line, Weight::Beside), "{mark}{line}");
        }
    }
    let verdict = printing::verdict(&concluded(advice, assumed, written), format);
    let _ = write!(text.frame(), "\n{verdict}");
    if format == Format::Table { printing::on_screen(&text, &printing::shown_again()) } else { text.whole() }
}

/// The command that makes an environment's disks block devices of this machine, without credits for bursts: so are its figures.
fn emulated_as_said(environment: &Path) -> String {
    let folder = recommendations::unused("disks", "");
    let file = crate::shell::in_shell(&environment.display().to_string());
    format!("loadline emulate {file} --bursts empty --attach {}", folder.display())
}

/// Lines of the verdict that give way to the next step, the first of them first.
const GIVE_WAY: [About; 5] = [About::ForTests, About::TenPercentMore, About::Unpriced, About::Cheaper, About::Binds];

/// The verdict with the next step. `written` is the file that has the environment of a row by now.
fn concluded(advice: &Advice, assumed: &[Assumption], written: Option<&Path>) -> Vec<VerdictLine> {
    let mut lines = advice_lines(advice);
    let said: Vec<String> = assumed.iter().map(assumed_words).collect();
    if !said.is_empty() {
        lines.push(About::Assumed.says(said.join("; ")));
    }
    let (next, command) = match (advice.winner(), written) {
        (Some(_), Some(file)) if advice.recorded.is_some() => (AdviceNext::Emulate, Some(emulated_as_said(file))),
        (Some(_), None) if advice.recorded.is_some() => (
            AdviceNext::WriteToEmulate,
            typed_words::again(&format!("--write-env {}", recommendations::unused("advised", "toml").display())),
        ),
        (Some(_), Some(file)) => (AdviceNext::LoadMore, Some(recommendations::predicted(&file.display().to_string()))),
        (Some(_), None) if advice.need.vcpus.is_none() && advice.need.memory_bytes.is_none() => {
            (AdviceNext::NameMachine, typed_words::again("--vcpus 4 --memory 16GiB"))
        }
        (Some(_), None) => (AdviceNext::Write, typed_words::again(&format!("--write-env {ENVIRONMENT_DEFAULT}"))),
        (None, _) => (
            AdviceNext::LookAtOthers,
            typed_words::again_without(&["--p99", "--objective"], "--limits-only")
                .or_else(|| Some("loadline catalog list --kind disk --sort iops".to_owned())),
        ),
    };
    give_way(&mut lines, &GIVE_WAY, VERDICT_LINES_MAX - 2);
    lines.extend(advice_next(next, command));
    lines
}
