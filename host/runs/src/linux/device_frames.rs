//! Frames of what goes on on real devices and in emulations.

use crate::RunFrames;
use crate::trials::frames::left_of;
use loadline_analysis::{LiveExport, LiveFault, LiveFrame, LivePhase, LiveStep, LiveVolume};
use loadline_emulator::{ContentsState, ExportView, NumberedFault, View};
use loadline_engine::{Phase, Progress};
use loadline_units::Duration;

impl RunFrames {
    /// A frame of an emulation.
    pub(crate) fn emulated(&mut self, view: &View) -> LiveFrame {
        // A disk is shown where it is used by itself.
        let is_shown = |of: &&ExportView| !of.export.contains('/') || of.iops > 0.0 || of.queue > 0.0;
        let shown = || view.exports.iter().filter(is_shown);
        self.frame.volumes = shown().map(volume_of).collect();
        let emulation = self.frame.emulation.get_or_insert_default();
        emulation.clients = view.clients;
        let clears = &self.clears;
        let fault = |fault: &NumberedFault| LiveFault {
            number: fault.number,
            text: fault.text.clone(),
            command: clears.as_ref().map(|clears| format!("{clears} {}", fault.number)),
        };
        emulation.faults = view.faults.iter().map(fault).collect();
        emulation.exports = shown().map(export_of).collect();
        self.frame.judged_ns = view.elapsed_ns;
        self.made(Duration::ZERO)
    }

    /// A frame of a step that has come so far.
    pub(crate) fn advanced(&mut self, progress: &Progress) -> LiveFrame {
        let Some((step, began)) = &self.step else { return self.made(Duration::ZERO) };
        let left = left_of(step, Duration::from_ns(began.elapsed().as_nanos() as u64), progress.done);
        self.frame.step = Some(LiveStep {
            place: step.place.clone(),
            label: step.label.clone(),
            phase: phase(progress.phase),
            elapsed_ns: progress.elapsed.as_ns(),
            planned_ns: progress.expected.map(Duration::as_ns),
            done_share: progress.done,
        });
        // Several volumes that are loaded at the same time have one figure.
        let name = step.volumes.join(", ");
        for volume in &mut self.frame.volumes {
            *volume = LiveVolume {
                name: std::mem::take(&mut volume.name),
                judged: volume.judged.take(),
                ..LiveVolume::default()
            };
        }
        let place = self.frame.volumes.iter().position(|volume| volume.name == name);
        let place = place.unwrap_or_else(|| {
            self.frame.volumes.push(LiveVolume { name, ..LiveVolume::default() });
            self.frame.volumes.len() - 1
        });
        let volume = &mut self.frame.volumes[place];
        let ns = |of: Option<Duration>| of.map(Duration::as_ns);
        volume.iops = progress.iops;
        volume.throughput_bytes_per_s = progress.bytes_per_s;
        (volume.latency_ns, volume.p50_ns, volume.p99_ns) = (ns(progress.latency), ns(progress.p50), ns(progress.p99));
        volume.outstanding = progress.outstanding;
        self.made(left)
    }
}

fn volume_of(of: &ExportView) -> LiveVolume {
    LiveVolume {
        name: of.export.clone(),
        iops: Some(of.iops),
        throughput_bytes_per_s: Some(of.bytes_per_s),
        p50_ns: of.p50_ns,
        p99_ns: of.p99_ns,
        outstanding: Some(of.queue),
        ..LiveVolume::default()
    }
}

fn export_of(of: &ExportView) -> LiveExport {
    LiveExport {
        state: (of.state != ContentsState::Present).then(|| of.state.name().to_owned()),
        faults: of.faults.clone(),
        held: of.held.clone(),
        throttled: of.throttled,
        credits: of.credits,
        cache_hits: of.cache_hits,
    }
}

const fn phase(of: Phase) -> LivePhase {
    match of {
        Phase::Waiting => LivePhase::Waiting,
        Phase::Filling => LivePhase::Filling,
        Phase::WarmUp => LivePhase::WarmUp,
        Phase::Measuring => LivePhase::Measuring,
        Phase::CoolDown => LivePhase::CoolDown,
        Phase::Verifying => LivePhase::Verifying,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activity, Advance, Event};
    use loadline_record::RunVerb;

    fn step() -> Activity {
        let (place, label) = ("3 of 12".into(), "random read 4 KiB, depth 32".into());
        Activity { place, label, volumes: vec!["data".into()], planned: Duration::from_s(30), is_guessed: false }
    }

    #[test]
    fn a_frame_has_the_step_its_volume_and_the_time_that_is_left() {
        let mut frames = RunFrames::new(&RunVerb::Run, loadline_analysis::summarize);
        let progress = Progress {
            phase: Phase::Measuring,
            elapsed: Duration::from_s(12),
            expected: Some(Duration::from_s(30)),
            iops: Some(40_000.0),
            outstanding: Some(32.0),
            p99: Some(Duration::from_ms(2)),
            ..Progress::default()
        };
        assert_eq!(frames.take(&Event::Advances(Advance::Device(&progress))), None);
        assert_eq!(frames.take(&Event::Planned(Duration::from_s(90))), None);
        assert_eq!(frames.take(&Event::Begins(&step())), None);
        let frame = frames.take(&Event::Advances(Advance::Device(&progress))).unwrap();
        let planned_s = frame.planned_ns.unwrap() as f64 / 1e9;
        assert!((89.0..91.0).contains(&planned_s), "{planned_s}");
        let LiveStep { place, phase, elapsed_ns, .. } = frame.step.unwrap();
        assert_eq!((place.as_str(), phase, elapsed_ns), ("3 of 12", LivePhase::Measuring, 12_000_000_000));
        let volume = &frame.volumes[0];
        assert_eq!((volume.name.as_str(), volume.p99_ns, volume.outstanding), ("data", Some(2_000_000), Some(32.0)));
        assert_eq!(frames.take(&Event::Advances(Advance::Device(&progress))), None, "a second has not gone by");
    }
}
