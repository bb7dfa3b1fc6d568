//! A line of a verdict: what it is about, and what is said of that.

use crate::escaped::Escaped;
use crate::put;
use std::borrow::Cow;

/// One line of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictLine {
    /// What it is about.
    pub about: About,
    /// What is said of that.
    pub text: String,
}

/// Whether an objective is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectiveStanding {
    /// Up to some load.
    Kept,
    /// Not even by the lightest load.
    Broken,
}

/// What a line of a verdict is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// The answer in a sentence.
    Verdict,
    /// What the storage gives to a load.
    Gives,
    /// The same of the best of several.
    BestGives,
    /// Large requests.
    LargeTransfers,
    /// One request at a time.
    OneRequest,
    /// What no load asked for.
    NotMeasured,
    /// The limit.
    HeldBy,
    /// What held the application where its load was recorded.
    Source,
    /// Where latency rises.
    Latency,
    /// What the answer rests on.
    HowSure,
    /// A latency to keep.
    Objective(ObjectiveStanding),
    /// Why the answer should not be taken as it stands.
    Doubt,
    /// What there was no room for.
    More,
    /// What to do next.
    Next,
    /// A command to paste. It is printed in one piece.
    Command,
    /// A command for when the step was taken: did it help? It is printed in one piece.
    Afterwards,
    /// The command that shows more.
    Report,
    /// The best of several sides.
    Best,
    /// A side of a comparison by its letter, against the first.
    Side(String),
    /// Trials that a comparison added.
    Trials,
    /// What more disks bring.
    MoreDisks,
    /// A throttle on a side.
    HeldBack,
    /// What several sides share.
    InCommon,
    /// Settings that raised the rate.
    MovedBy,
    /// Settings that lowered the rate.
    LoweredBy,
    /// What does not hold the load.
    RuledOut,
    /// What bound a source of a crawl.
    Bound,
    /// What slowed stations confirm.
    Confirmed,
    /// How an environment came about, or where it is.
    Environment,
    /// What was looked at.
    LookedAt,
    /// The first of several problems.
    FirstProblem,
    /// How far clocks lie apart.
    Clocks,
    /// The programs whose requests a trace has.
    AskedBy,
    /// Whether a trace is whole.
    Trace,
    /// Requests at the ends of a trace.
    TraceEnds,
    /// Why something ended.
    Ended,
    /// Rows that have figures.
    Predicted,
    /// The least and the most of a rate.
    Rates,
    /// Credits for bursts.
    Bursts,
    /// Needs that are met.
    Advised,
    /// The limits of the advised choice.
    BoundBy,
    /// What to buy.
    Take,
    /// What was asked.
    Need,
    /// What comes nearest, where nothing does.
    Nearest,
    /// What was left out and might do.
    LeftOut,
    /// The first limit of a choice.
    Binds,
    /// The latency of a choice.
    Meets,
    /// What the recorded requests would meet.
    SameRequests,
    /// When a burst ends.
    Burst,
    /// What costs less and just misses.
    Cheaper,
    /// What a little more would cost.
    TenPercentMore,
    /// What half of it would cost.
    ForTests,
    /// How the price stands to a budget.
    Budget,
    /// What has no complete price.
    Unpriced,
    /// What nobody said and was taken as usual.
    Assumed,
    /// Rows without figures.
    Problems,
    /// Where rows went.
    Rows,
    /// What has a name of its own: a load, a volume, a run, a check, a fact of a shelter.
    Subject(Cow<'static, str>),
}

impl About {
    /// A line about this.
    pub fn says(self, text: impl Into<String>) -> VerdictLine {
        VerdictLine { about: self, text: text.into() }
    }

    /// What has this name of its own.
    pub fn subject(name: impl Into<Cow<'static, str>>) -> Self {
        Self::Subject(name.into())
    }

    /// For people.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Verdict => "verdict",
            Self::Gives => "gives",
            Self::BestGives => "it gives",
            Self::LargeTransfers => "large transfers",
            Self::OneRequest => "one request",
            Self::NotMeasured => "not measured",
            Self::HeldBy => "held by",
            Self::Source => "recorded at",
            Self::Latency => "latency",
            Self::HowSure => "how sure",
            Self::Objective(_) => "objective",
            Self::Doubt => "doubt",
            Self::More => "more",
            Self::Next => "next",
            Self::Command => "command",
            Self::Afterwards => "afterwards",
            Self::Report => "report",
            Self::Best => "best",
            Self::Side(letter) => return Cow::Owned(format!("{letter} to A")),
            Self::Trials => "trials",
            Self::MoreDisks => "more disks",
            Self::HeldBack => "held back",
            Self::InCommon => "in common",
            Self::MovedBy => "moved by",
            Self::LoweredBy => "lowered by",
            Self::RuledOut => "ruled out",
            Self::Bound => "bound",
            Self::Confirmed => "confirmed",
            Self::Environment => "environment",
            Self::LookedAt => "looked at",
            Self::FirstProblem => "first",
            Self::Clocks => "clocks",
            Self::AskedBy => "asked by",
            Self::Trace => "trace",
            Self::TraceEnds => "ends",
            Self::Ended => "ended",
            Self::Predicted => "predicted",
            Self::Rates => "rates",
            Self::Bursts => "bursts",
            Self::Advised => "advised",
            Self::BoundBy => "bound by",
            Self::Take => "take",
            Self::Need => "need",
            Self::Nearest => "nearest",
            Self::LeftOut => "left out",
            Self::Binds => "binds",
            Self::Meets => "meets",
            Self::SameRequests => "same requests",
            Self::Burst => "burst",
            Self::Cheaper => "cheaper",
            Self::TenPercentMore => "10 % more",
            Self::ForTests => "for tests",
            Self::Budget => "budget",
            Self::Unpriced => "unpriced",
            Self::Assumed => "assumed",
            Self::Problems => "problems",
            Self::Rows => "rows",
            Self::Subject(name) => name,
        })
    }
}

/// Lines on a page.
pub(crate) fn lines_html(out: &mut String, class: &str, lines: &[&VerdictLine]) {
    put!(out, "<dl class=\"{class}\">");
    for VerdictLine { about, text } in lines {
        let class = match about {
            About::Objective(ObjectiveStanding::Broken) => " class=\"missed\"",
            About::Objective(ObjectiveStanding::Kept) => " class=\"kept\"",
            About::Command | About::Afterwards => " class=\"command\"",
            _ => "",
        };
        put!(out, "<div><dt>{}</dt><dd{class}>{}</dd></div>", Escaped(about.name()), Escaped(text));
    }
    out.push_str("</dl>\n");
}
