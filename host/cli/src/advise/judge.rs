//! The advice on a need, with what nobody said assumed.

use super::need::{need_of, refuse_latency};
use crate::arguments::advise::AdviseArguments;
use crate::catalog;
use crate::failure::Usage;
use crate::shell::in_shell;
use loadline_advise::{Advice, AdviceOptions, AdviseError, Need, advise as advise_need};
use loadline_catalog::Catalog;
use loadline_runs::advice::{
    AssumedPart, Assumption, NeedError, assume_latency, assume_size, assume_usual_latency, withdraw,
};
use loadline_runs::wall_clock;
use loadline_units::Bytes;
use std::path::PathBuf;

fn advice_on(arguments: &AdviseArguments, need: &Need, catalog: &Catalog) -> Result<Advice, Usage> {
    let options = AdviceOptions {
        rows: arguments.rows,
        seed: arguments.seed,
        simulate: !arguments.limits_only,
        today: Some(wall_clock::now().to_string()),
    };
    advise_need(need, catalog, &options).map_err(|error| Usage(refused(&error, arguments.provider.first())))
}

/// Why there is no advice, and what to do.
fn refused(error: &AdviseError, provider: Option<&String>) -> String {
    match error {
        AdviseError::NoRegion { region, near, .. } => {
            let provider = provider.map_or("NAME", String::as_str);
            let end = if near.is_some() { "" } else { "." };
            format!(
                "{error}{end} `loadline catalog update --provider {provider} --region {}` shows how to get them. Another region stands in for \
                 it only if you name that one",
                in_shell(region)
            )
        }
        AdviseError::TwoCurrencies { first, second, .. } => {
            format!("{error}; take one: --currency {first} or --currency {second}, or one provider: --provider NAME")
        }
        AdviseError::NothingAsked | AdviseError::NoPrices { .. } => error.to_string(),
    }
}

/// The catalog with what is paid. A commitment that is known of none of the providers is not kept without a word.
pub(super) fn priced_catalog(arguments: &AdviseArguments) -> anyhow::Result<Catalog> {
    let catalog = catalog::paid(arguments.own.catalog.as_deref(), &arguments.priced, &arguments.paying)?;
    let known = catalog.committed_providers();
    let asked = &arguments.provider;
    if arguments.paying.commit.is_some() && !asked.is_empty() && !asked.iter().any(|name| known.contains(name)) {
        let text = format!(
            "--commit: what a commitment costs is known of {} and not of {}: leave it out, or bring a file of the kind \"commitments\" \
             (--catalog DIR)",
            known.join(", "),
            asked.join(", ")
        );
        return Err(Usage(text).into());
    }
    Ok(catalog)
}

/// The advice that was asked for and what was assumed, for a caller that prints it itself.
pub(crate) fn advised(
    arguments: &AdviseArguments,
    store: &impl Fn() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<(Advice, Vec<String>)> {
    refuse_latency(arguments)?;
    let catalog = priced_catalog(arguments)?;
    let (need, mut notes) = need_of(arguments, store)?;
    let (advice, assumed) = advice_on_trace(arguments, need, &catalog)?;
    notes.extend(assumed.iter().map(assumed_words));
    Ok((advice, notes))
}

/// Advice on a need that its trace completes. Where nothing keeps the latency that was assumed, the usual rule is taken instead: nobody asked
/// for more.
pub(super) fn advice_on_trace(
    arguments: &AdviseArguments,
    mut need: Need,
    catalog: &Catalog,
) -> anyhow::Result<(Advice, Vec<Assumption>)> {
    let mut assumed: Vec<Assumption> = assume_size(&mut need).into_iter().collect();
    if need.size == Bytes::ZERO {
        return Err(Usage(format!("{}: --size 500GiB", NeedError::NoSize)).into());
    }
    if !arguments.limits_only {
        assumed.extend(assume_latency(&mut need));
    }
    let mut advice = advice_on(arguments, &need, catalog)?;
    let is_met = |advice: &Advice| advice.winner().is_some() || advice.unpriced.iter().any(|row| row.meets);
    if assumed.iter().any(|found| found.part == AssumedPart::Latency) && !is_met(&advice) {
        let limit = need.objective.map(|found| found.limit.human()).unwrap_or_default();
        let (kept, dropped) = assumed.into_iter().partition(|found| found.part != AssumedPart::Latency);
        assumed = kept;
        withdraw(&mut need, &dropped);
        assumed.push(assume_usual_latency(
            &mut need,
            &format!("nothing that is sold keeps the trace's own p99 ({limit})"),
        ));
        advice = advice_on(arguments, &need, catalog)?;
    }
    Ok((advice, assumed))
}

/// What was assumed, and the option that says otherwise.
pub(super) fn assumed_words(assumption: &Assumption) -> String {
    let option = match assumption.part {
        AssumedPart::Size => "--size",
        AssumedPart::Latency | AssumedPart::UsualLatency | AssumedPart::Objective => "--p99",
    };
    format!("{} ({option} sets another)", assumption.text)
}
