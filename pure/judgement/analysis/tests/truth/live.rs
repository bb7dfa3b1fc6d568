//! Drawn watches seen second by second: what is said while they go on is what their stored run says.

use crate::drawn::{held, watched};
use loadline_analysis::{LIVE_WINDOW_MIN_S, LIVE_WINDOW_S, LiveFrame, LiveVerdict, LiveVolume, summarize};
use loadline_record::{CellRecord, Load, LoadFigures, OthersLoad, RunRecord, WatchRecord};
use std::collections::BTreeMap;

/// The run that is stored of a watch.
fn stored(like: &RunRecord, watch: WatchRecord) -> RunRecord {
    let own = &like.cells[0];
    let trial = watch.into_trial(&BTreeMap::new(), &own.volume, 0);
    let figures = LoadFigures::of_watched(&trial);
    let load = Load::Application(OthersLoad { volume: own.volume.clone(), by: None, figures });
    RunRecord { cells: vec![CellRecord { load, trials: vec![trial], ..own.clone() }], ..like.clone() }
}

/// The frame of a watch so far, as those who attach read it.
fn live(like: &RunRecord, watch: &WatchRecord, to: usize) -> LiveVolume {
    let past = stored(like, watch.part(to.saturating_sub(LIVE_WINDOW_S)..to));
    let volume = LiveVolume { name: past.cells[0].volume.clone(), ..LiveVolume::default() };
    let mut frame = LiveFrame { volumes: vec![volume], ..LiveFrame::new("1".into(), "watch".into(), "drawn".into()) };
    frame.judge(&past);
    let read: LiveFrame = serde_json::from_str(&serde_json::to_string(&frame).unwrap()).unwrap();
    read.volumes.into_iter().next().unwrap()
}

/// What the stored run says of its only volume.
fn said(run: &RunRecord) -> (LiveVerdict, Vec<loadline_record::WatchCause>) {
    let summary = summarize(run);
    let causes = summary.cells[0].watch.as_ref().unwrap().causes.iter().map(|of| of.cause.clone()).collect();
    (summary.verdict.unwrap().volumes.remove(0).into(), causes)
}

#[test]
fn what_is_said_live_at_the_end_is_what_the_stored_run_says() {
    held("watches seen as they went on", |draw| {
        let drawn = watched(draw);
        let mut watch = (**drawn.cells[0].trials[0].watched.as_ref().unwrap()).clone();
        // Some are longer than what a frame is judged by: it then says what the run of the last minute says.
        if draw.one_in(4) {
            let again = watch.clone();
            for _ in 0..LIVE_WINDOW_S / watch.seconds.len() {
                watch.ticks.extend(&again.ticks);
                watch.seconds.extend(again.seconds.iter().cloned());
                let asked = watch.throttles.iter_mut().zip(&again.throttles);
                asked.for_each(|(all, more)| all.asked.as_mut().unwrap().extend(more.asked.as_ref().unwrap()));
                let seconds = watch.programs.iter_mut().zip(&again.programs);
                seconds.for_each(|(all, more)| all.seconds.extend(&more.seconds));
            }
        }
        let end = watch.seconds.len();
        let run = stored(&drawn, watch.part(end.saturating_sub(LIVE_WINDOW_S)..end));
        let (verdict, causes) = said(&run);
        let seen = live(&drawn, &watch, end);
        let live_causes: Vec<_> = seen.causes.iter().map(|of| of.cause.clone()).collect();
        let seconds: f64 = seen.causes.iter().map(|of| of.seconds).sum();
        let mut broken = Vec::new();
        if seen.judged.as_ref() != Some(&verdict) {
            broken.push(format!("live {:?}, stored {verdict:?}", seen.judged));
        }
        if live_causes != causes || seen.cause_now.is_none() {
            broken.push(format!("live {live_causes:?}, stored {causes:?}"));
        }
        if (seconds - run.cells[0].trials[0].measured_ns as f64 / 1e9).abs() > 0.01 {
            broken.push(format!("the causes have {seconds} s"));
        }
        let early = LIVE_WINDOW_MIN_S as usize;
        if live(&drawn, &watch, early - 1).judged.is_some() || live(&drawn, &watch, early).judged.is_none() {
            broken.push("it is judged from the fourth second on".to_owned());
        }
        broken
    });
}
