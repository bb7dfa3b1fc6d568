//! A watch as it is now, once a second, judged as the run that would be stored of its last minute.

use super::sampler::SampledDevice;
use super::{WatchSettings, WatchTarget, record};
use crate::Error;
use crate::wall_clock::{unix_ms, unix_s};
use loadline_analysis::{LiveFrame, LiveLimit, LiveMark, LiveVolume};
use loadline_kernel::facts::{BlockDevice, KernelView};
use loadline_record::{RunHeader, RunRecord, RunStatus, VolumeFacts};

/// Marks that a watch keeps.
const MARKS_MAX: usize = 256;

/// The frames of a watch.
#[derive(Debug)]
pub(super) struct LiveWatch<'a> {
    pub(super) target: &'a WatchTarget,
    /// Devices, each with the declared volume that lies on it.
    pub(super) declared: &'a [(String, String)],
    pub(super) settings: &'a WatchSettings,
    header: RunHeader,
    /// Of each device, as it was when the watch began.
    volumes: Vec<(String, VolumeFacts)>,
    /// What the user marked.
    pub(super) marks: Vec<LiveMark>,
    /// The last one that was judged.
    judged: Option<LiveFrame>,
}

impl<'a> LiveWatch<'a> {
    pub(super) fn begin(
        target: &'a WatchTarget,
        declared: &'a [(String, String)],
        settings: &'a WatchSettings,
        header: RunHeader,
    ) -> Self {
        let view = KernelView::live();
        let volume = |device: &BlockDevice| (device.name.clone(), target.volume(&view, device));
        let volumes = target.block_devices().iter().map(volume).collect();
        Self { target, declared, settings, header, volumes, marks: Vec::new(), judged: None }
    }

    /// Keeps what the user marked now.
    pub(super) fn mark(&mut self, notes: Vec<String>, elapsed_ns: u64) {
        let room = MARKS_MAX.saturating_sub(self.marks.len());
        self.marks.extend(notes.into_iter().take(room).map(|note| LiveMark { elapsed_ns, note }));
    }

    /// A frame of these volumes. `past` is what the last seconds showed of each device; without it they are judged as the frame before.
    ///
    /// # Errors
    /// The declared storage does not serve such requests.
    pub(super) fn frame(
        &mut self,
        volumes: Vec<LiveVolume>,
        past: Option<Vec<SampledDevice>>,
    ) -> Result<LiveFrame, Error> {
        let RunHeader { id, verb, name, .. } = &self.header;
        let mut frame = LiveFrame::new(id.clone(), verb.name().to_owned(), name.clone());
        frame.at_unix_ms = unix_ms();
        (frame.volumes, frame.marks) = (volumes, self.marks.clone());
        let Some(past) = past else {
            if let Some(before) = &self.judged {
                frame.judged_ns = before.judged_ns;
                frame.volumes.iter_mut().zip(&before.volumes).for_each(|(own, before)| own.judged_as(before));
            }
            return Ok(frame);
        };
        let facts = |device: &BlockDevice| {
            let found = self.volumes.iter().find(|(name, _)| *name == device.name);
            found.map_or_else(|| self.target.volume(&KernelView::live(), device), |(_, facts)| facts.clone())
        };
        let (cells, volumes) = record::cells(self.target, self.declared, self.settings, past, unix_s(), &facts)?;
        let past =
            RunRecord { header: RunHeader { volumes, ..self.header.clone() }, status: RunStatus::Finished, cells };
        frame.judge(&past);
        for volume in &mut frame.volumes {
            let declared = past.cells.iter().filter(|cell| cell.volume == volume.name).flat_map(|cell| &cell.ceilings);
            let iops = volume.iops;
            volume.limits.extend(declared.map(|ceiling| LiveLimit::Declared {
                limit: ceiling.limit,
                iops: ceiling.iops,
                asked_share: iops.map(|iops| iops / ceiling.iops.max(1e-9)),
            }));
        }
        self.judged = Some(frame.clone());
        Ok(frame)
    }
}
