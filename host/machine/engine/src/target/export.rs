//! An export of an NBD server as a target. The rules are those of what exists: it is written to only when it was named a second
//! time, and not where it carries something, unless that is named too. Whether others use it, only its server knows.

use super::direct::Alignment;
use super::error::TargetError;
use super::signature::signatures_by;
use super::standing::absolute;
use super::{Access, Holding, Need, Volume};
use crate::error::EngineError;
use crate::nbd::{self, NbdExport, Refusal};
use loadline_nbd::uri::{NbdUri, is_nbd_uri};
use loadline_record::{TargetKind, VolumeFacts};
use loadline_units::{Bytes, Ratio};
use loadline_workload::{FlushMethod, LoadSpec};
use std::path::PathBuf;
use std::sync::Arc;

pub(super) fn open(name: &str, target: &str, need: &Need, access: &Access) -> Result<Volume, TargetError> {
    let typed = || target.to_owned();
    let uri = NbdUri::parse(target).map_err(|cause| TargetError::NbdUri { target: typed(), cause })?;
    let writing = need.writes && !access.read_only;
    let named: Vec<String> = access.overwrite.iter().filter(|word| is_same(word, &uri)).cloned().collect();
    if writing && named.is_empty() {
        // Before anybody is asked: some servers end with the first client that leaves.
        return Err(TargetError::NbdNotHandedOver { target: typed() });
    }
    let export = NbdExport::find(uri).map_err(|refusal| match refusal {
        Refusal::NoServer(cause) => TargetError::NbdUnreachable { target: typed(), cause },
        Refusal::Broken(cause) => TargetError::NbdRefused { target: typed(), cause: cause.to_string() },
        Refusal::Refused(cause) => TargetError::NbdRefused { target: typed(), cause },
    })?;
    let mut handed_over = Vec::new();
    if writing {
        if export.facts.read_only {
            return Err(TargetError::NbdReadOnly { target: typed() });
        }
        handed_over.extend(named);
        handed_over.extend(refuse_signed(target, &export, access)?);
    }
    let alignment =
        Alignment { offset: export.facts.block_min.max(Alignment::default().offset), ..Alignment::default() };
    let (file_size, size_reason) = usable_size(target, need.size, export.facts.size, alignment.offset)?;
    let facts = VolumeFacts {
        name: name.to_owned(),
        target: absolute(target),
        kind: TargetKind::Nbd,
        size_bytes: Some(file_size.get()),
        size_reason: size_reason.to_owned(),
        direct: !need.buffered,
        ..VolumeFacts::default()
    };
    let holding = Holding { alignment, handed_over, export: Some(export), ..Holding::default() };
    Ok(Volume { facts, files: Vec::new(), file_size, start: need.start, writable: writing, holding })
}

/// Whether both are the same export, however its name is written.
fn is_same(word: &str, uri: &NbdUri) -> bool {
    NbdUri::parse(word).is_ok_and(|named| nbd::is_same_export(&named, uri))
}

/// Whether two NBD URIs are two spellings of one: the socket by another path, characters as %XX, the usual port left out. `false` for
/// what is none.
#[must_use]
pub fn is_same_export(one: &str, other: &str) -> bool {
    is_nbd_uri(one) && is_nbd_uri(other) && NbdUri::parse(one).is_ok_and(|uri| is_same(other, &uri))
}

/// What two URIs have in common where writing to one is writing to the other.
pub(super) fn overlap(one: &str, other: &str) -> Option<String> {
    let [a, b] = [NbdUri::parse(one).ok()?, NbdUri::parse(other).ok()?];
    if nbd::is_same_export(&a, &b) {
        return Some(format!("both are {one}"));
    }
    nbd::common_address(&a, &b).map(|address| format!("{one} and {other} both lead to {address}"))
}

/// Refuses what carries something and was not identified; gives the words that identified it.
fn refuse_signed(target: &str, export: &Arc<NbdExport>, access: &Access) -> Result<Vec<String>, TargetError> {
    let path = || PathBuf::from(target);
    let unknown = |cause| TargetError::ContentsUnknown { path: path(), cause };
    let mut session = export.session().map_err(unknown)?;
    let found = signatures_by(&mut |bytes, at| session.read_exact_at(bytes, at), export.facts.size.get());
    let found = found.map_err(unknown)?;
    let is_named = |word: &&String| found.iter().any(|one| word.trim().eq_ignore_ascii_case(one.identity.trim()));
    let identified: Vec<String> = access.identities.iter().filter(is_named).cloned().collect();
    if found.is_empty() || !identified.is_empty() {
        let _ = export.carried.set(found);
        return Ok(identified);
    }
    Err(TargetError::Signed { target: target.to_owned(), path: path(), signatures: found, serial: None })
}

fn usable_size(
    target: &str,
    asked: Option<Bytes>,
    all: Bytes,
    unit: Bytes,
) -> Result<(Bytes, &'static str), TargetError> {
    let usable = all.round_down(unit);
    let size = asked.unwrap_or(usable).round_down(unit);
    if all == Bytes::ZERO {
        Err(TargetError::Empty { path: PathBuf::from(target) })
    } else if asked.is_some_and(|asked| asked > usable) {
        Err(TargetError::Smaller { path: PathBuf::from(target), asked: asked.unwrap_or_default(), have: usable })
    } else if size == Bytes::ZERO {
        Err(TargetError::Sliver { size: asked.unwrap_or(all), files: 1, unit })
    } else {
        Ok((size, if asked.is_some() { "asked for" } else { "all of the export" }))
    }
}

impl NbdExport {
    /// Whether its server does what `spec` asks for. The connections that this takes are made, and kept for the load.
    ///
    /// # Errors
    /// [`EngineError::Lacking`], with what it does not do; a connection that fails for other reasons.
    pub(crate) fn check(self: &Arc<Self>, spec: &LoadSpec, volume: &str) -> Result<(), EngineError> {
        let facts = &self.facts;
        let lacking = |what: String, remedy| {
            Err(EngineError::Lacking { volume: volume.to_owned(), load: spec.to_string(), what, remedy })
        };
        let flush = spec.flush.map(|flush| flush.how);
        if spec.buffered {
            let what = "this machine's page cache, which an NBD export reached by its server has none of".to_owned();
            return lacking(what, "leave buffered out, or attach the export (nbd-client) and name the device");
        }
        if flush == Some(FlushMethod::Fdatasync) && !facts.flushes {
            return lacking("flushes, which its server does not take".into(), "leave flush out, or serve with flushes");
        }
        if flush == Some(FlushMethod::Fua) && !facts.durable_writes {
            return lacking(
                "durable writes (FUA), which its server does not take".into(),
                "flush by fdatasync instead",
            );
        }
        if spec.trims > Ratio::ZERO && !facts.trims {
            return lacking("trims, which its server does not take".into(), "leave trims out");
        }
        if spec.block_max() > facts.block_max {
            let what = format!("requests of {}, and its server takes {} at most", spec.block_max(), facts.block_max);
            return lacking(what, "use a smaller block");
        }
        let unit = facts.block_min.max(Alignment::default().offset);
        let sizes = [spec.alignment(), spec.start].into_iter().chain(spec.blocks.iter().map(|block| block.size));
        if let Some(odd) = sizes.into_iter().find(|size| !size.get().is_multiple_of(unit.get())) {
            let what = format!("requests in multiples of {odd}, and its server takes multiples of {unit}");
            return lacking(what, "use a larger block, align or start");
        }
        if spec.threads > 1 && spec.writes_any() && !facts.several_connections {
            let what =
                "a connection for each thread, and its server does not promise that several see the same".to_owned();
            return lacking(what, "use threads = 1 with a deeper queue");
        }
        if spec.threads > 1
            && let Err(limit) =
                self.reserve(spec.threads).map_err(|error| EngineError::os("connect to the NBD server", error))?
        {
            let what = format!(
                "a connection for each of its {} threads, and its server has {} and {}",
                spec.threads, limit.taken, limit.how
            );
            return lacking(
                what,
                "use fewer threads with a deeper queue, or have it take more clients at once (qemu-nbd: --shared=8)",
            );
        }
        Ok(())
    }
}
