//! The ceilings beside a cell: those that were declared, or else those that the run's figures show.

use super::Case;
use super::caps::{EXCEEDS, explains, request_bytes};
use super::kinds::{alike, sample};
use crate::curves::{iops, paced, sound};
use crate::words::blocks;
use loadline_record::{Binding, Ceiling, CeilingSource, Limit, RateFigure};

impl Case<'_> {
    /// Every ceiling of the cell that is known, lowest first.
    pub(super) fn ceilings(&self, binding: Option<&Binding>) -> Vec<Ceiling> {
        let cell = self.cell();
        let Some(total) = &cell.total else { return Vec::new() };
        let declared = &self.record().ceilings;
        if !declared.is_empty() {
            return declared.clone();
        }
        let mut ceilings: Vec<Ceiling> = Vec::new();
        let mut lowest = |limit, iops: f64, source| match ceilings.iter_mut().find(|c: &&mut Ceiling| c.limit == limit)
        {
            Some(known) if known.iops <= iops => {}
            Some(known) => *known = Ceiling { limit, iops, source },
            None => ceilings.push(Ceiling { limit, iops, source }),
        };
        if let Some(iops) = self.latency_ceiling().filter(|_| sound(cell)) {
            lowest(Limit::Latency, iops, CeilingSource::SingleLatency);
        }
        // The level of such a mix is that of one direction: it has none of its own.
        let of_direction = self.ceiling_of_direction();
        let has_own = of_direction.is_none();
        if let Some((limit, iops, source)) = of_direction {
            lowest(limit, iops, source);
        }
        for (curve, kind) in self.curves.iter().zip(self.kinds) {
            let (Some(plateau), Some(kind)) = (&curve.plateau, kind) else { continue };
            let other = sample(curve, self.cells);
            if !alike(cell, other) || total.iops <= 0.0 || !has_own {
                continue;
            }
            let load = format!("{} {}", other.load.pattern, blocks(other));
            let source = CeilingSource::LevelsOff { load, from_depth: plateau.from };
            match kind.limit {
                Limit::DiskThroughput => {
                    let bytes_per_request = total.throughput_bytes_per_s / total.iops;
                    if bytes_per_request > 0.0 {
                        lowest(Limit::DiskThroughput, plateau.bytes_per_s / bytes_per_request, source);
                    }
                }
                // Larger requests may count as several: what was seen holds up to the size at which it was seen.
                _ if cell.load.block_bytes <= other.load.block_bytes && cell.load.pattern == other.load.pattern => {
                    lowest(kind.limit, plateau.iops, source);
                }
                _ => {}
            }
        }
        if has_own {
            for ceiling in self.ceilings_of_kind() {
                if ceilings.iter().all(|known| known.limit != ceiling.limit) {
                    ceilings.push(ceiling);
                }
            }
        }
        // Larger requests than those that show a limit may run into it all the same.
        let own = binding.filter(|b| matches!(b.limit, Limit::DiskIops | Limit::DiskThroughput));
        let own = own.and_then(|b| Some((b.limit, b.ceiling_iops?)));
        if let Some((limit, iops)) = own.filter(|(limit, _)| ceilings.iter().all(|c| c.limit != *limit)) {
            ceilings.push(Ceiling { limit, iops, source: CeilingSource::Reached });
        }
        ceilings.sort_by(|a, b| a.iops.total_cmp(&b.iops));
        ceilings
    }

    /// The limits of the kind of load as this cell has them, where several sizes of requests tell them: that on bytes for requests of any size,
    /// that on requests for those no larger than what was seen at it.
    fn ceilings_of_kind(&self) -> Vec<Ceiling> {
        let (cell, cells) = (self.cell(), self.cells);
        let Some(caps) = self.caps[self.index].filter(|caps| caps.told) else { return Vec::new() };
        let own = request_bytes(cell);
        let allowed = |limit: Limit, bytes: f64| match limit {
            Limit::DiskThroughput => Some(caps.bytes_per_s? / bytes),
            _ => caps.iops,
        };
        let is_at = |limit: Limit, other: usize| {
            let bytes = request_bytes(&cells[other]);
            let binds = caps.of(bytes).is_some_and(|(of, _)| of == limit);
            let rate = self.seen[other].as_ref().map(|seen| seen.sustained);
            let level = rate.zip(allowed(limit, bytes));
            binds
                && sound(&cells[other])
                && !paced(&cells[other])
                && level.is_some_and(|(rate, at)| explains(rate, at, false))
        };
        let shown_by = |limit: Limit| {
            let of_kind =
                (0..cells.len()).filter(|i| alike(cell, &cells[*i]) && cells[*i].load.pattern == cell.load.pattern);
            of_kind.filter(|i| is_at(limit, *i)).max_by_key(|i| cells[*i].load.block_bytes).map(|i| &cells[i])
        };
        [Limit::DiskIops, Limit::DiskThroughput]
            .into_iter()
            .filter_map(|limit| {
                let (most, shown) = (allowed(limit, own)?, shown_by(limit)?);
                let holds = limit == Limit::DiskThroughput || cell.load.block_bytes <= shown.load.block_bytes;
                let within = iops(cell).is_some_and(|rate| rate <= most * EXCEEDS);
                let level = match limit {
                    Limit::DiskThroughput => RateFigure::BytesPerS(most * own),
                    _ => RateFigure::RateIops(most),
                };
                let source = CeilingSource::LevelOf { load: shown.label.clone(), level };
                (holds && within).then_some(Ceiling { limit, iops: most, source })
            })
            .collect()
    }
}
