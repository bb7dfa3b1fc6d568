//! The request to an emulation that the command line asks for.

use crate::arguments::fault::{ErrorName, FaultArguments};
use crate::environments;
use crate::failure::Usage;
use loadline_block::{ErrorKind, Operation};
use loadline_catalog::Draw;
use loadline_emulation::{Change, Fault, FaultKind, FaultSelection};
use loadline_emulator::ControlRequest;
use loadline_runs::{catalog_with, wall_clock};
use loadline_units::Ratio;

/// The request that the command line asks for.
pub(super) fn request(arguments: &FaultArguments) -> anyhow::Result<ControlRequest> {
    let narrowed =
        !arguments.on.is_empty() || arguments.from.is_some() || arguments.until.is_some() || arguments.share.is_some();
    if narrowed && kind(arguments).is_none_or(|kind| matches!(kind, FaultKind::Lost | FaultKind::Detached)) {
        return Err(
            Usage("--on, --from, --until and --share narrow --error, --delay, --stall and --hang".into()).into()
        );
    }
    // The group of what is done lets `requires` pass.
    if arguments.every.is_some() && arguments.stall.is_none() {
        return Err(
            Usage("--every says how often a --stall comes; other faults last until they are cleared".into()).into()
        );
    }
    if arguments.seed.is_some() && !arguments.power_cut {
        return Err(Usage("--seed decides what a --power-cut takes; nothing else here is left to chance".into()).into());
    }
    let volume = arguments.volume.clone();
    let whole = |change: Change| match &volume {
        None => Ok(ControlRequest::Change(change)),
        Some(volume) => Err(Usage(format!("this concerns the whole machine: leave {volume} out"))),
    };
    Ok(if arguments.list {
        ControlRequest::Faults
    } else if arguments.status {
        ControlRequest::Status
    } else if let Some(kind) = kind(arguments) {
        let on = volume.ok_or_else(|| Usage("name the volume (data) or disk (data/0) after the socket".into()))?;
        ControlRequest::Change(Change::Begin(Fault {
            on,
            kind,
            operations: arguments.on.iter().map(|name| Operation::from(*name)).collect(),
            from: arguments.from.unwrap_or_default(),
            until: arguments.until,
            share: arguments.share.unwrap_or(Ratio::ONE),
        }))
    } else if let Some(number) = arguments.clear {
        let which = match (number, volume) {
            (Some(number), None) => FaultSelection::Number(number),
            (None, Some(volume)) => FaultSelection::On(volume),
            _ => return Err(Usage("--clear NUMBER, or VOLUME --clear; --clear-all for all".into()).into()),
        };
        ControlRequest::Change(Change::Clear(which))
    } else if arguments.clear_all {
        whole(Change::Clear(FaultSelection::All))?
    } else if arguments.drop_caches {
        ControlRequest::Change(Change::DropCaches(volume))
    } else if arguments.spend_credits {
        ControlRequest::Change(Change::SpendCredits(volume))
    } else if let Some(typed) = &arguments.environment {
        let environment = environments::read(typed, &catalog_with(arguments.own.catalog.as_deref())?)?;
        whole(Change::Environment(Box::new(environment.spec(&Draw::MIDDLE))))?
    } else if arguments.redeploy {
        whole(Change::Redeploy)?
    } else {
        whole(Change::PowerCut { seed: arguments.seed.unwrap_or_else(wall_clock::fresh_seed) })?
    })
}

fn kind(arguments: &FaultArguments) -> Option<FaultKind> {
    let FaultArguments { error, delay, stall, every, hang, lose, detach, .. } = arguments;
    if let Some(error) = error {
        let error = if *error == ErrorName::Io { ErrorKind::Io } else { ErrorKind::NoSpace };
        return Some(FaultKind::Error(error));
    }
    match (delay, stall) {
        (Some(delay), _) => Some(FaultKind::Delay(*delay)),
        (None, Some(lasting)) => Some(FaultKind::Stall { lasting: *lasting, every: *every }),
        (None, None) if *hang => Some(FaultKind::Hang),
        (None, None) if *lose => Some(FaultKind::Lost),
        (None, None) => detach.then_some(FaultKind::Detached),
    }
}
