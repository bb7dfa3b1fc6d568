//! `export`: runs for other programs.

use crate::arguments::Format;
use crate::arguments::export::{ExportArguments, ExportForm, ExportRows};
use crate::failure::{Outcome, Usage};
use crate::recommendations::summarized;
use crate::{columnar, output, output_file, printing, stored};
use loadline_exported::Improvement;
use loadline_record::RunRecord;
use loadline_report::frame::{self, Frame};
use loadline_runs::record_text;
use loadline_store::{Filter, Store};
use std::path::Path;

/// Writes the runs in the form that was asked for.
pub(crate) fn export(arguments: &ExportArguments, store: &Store) -> anyhow::Result<Outcome> {
    let is_table = matches!(arguments.form, ExportForm::Csv | ExportForm::Parquet);
    if arguments.rows != ExportRows::Cells && !is_table {
        return Err(Usage("--rows chooses the rows of a table: of --as csv and --as parquet".to_owned()).into());
    }
    let bytes_alone = match arguments.form {
        ExportForm::Parquet => Some("Parquet is no text: say where it goes, with -o FILE.parquet"),
        ExportForm::Perfetto => Some("a timeline is no text: say where it goes, with -o FILE.perfetto"),
        _ => None,
    };
    if let Some(what) = bytes_alone.filter(|_| arguments.output.is_none()) {
        return Err(Usage(what.to_owned()).into());
    }
    if let (ExportForm::Fio, Some(folder)) =
        (arguments.form, arguments.output.as_deref().filter(|path| is_folder(path)))
    {
        return fio_folder(arguments, folder, store);
    }
    let file = arguments.output.as_deref().map(|file| output_file::result(file, arguments.force)).transpose()?;
    let contents = if is_table {
        let frame = frame_of(arguments, store)?;
        match arguments.form {
            ExportForm::Parquet => columnar::parquet(&frame, name_of(arguments.rows))?,
            _ => loadline_report::frame_csv(&frame).into_bytes(),
        }
    } else if arguments.form == ExportForm::Perfetto {
        let record = only_run(arguments, store)?;
        loadline_exported::perfetto::run(&record, &summarized(&record))
    } else {
        text_of(arguments.form, &only_run(arguments, store)?, store)?.into_bytes()
    };
    match &file {
        Some(file) => output_file::write(file, contents)?,
        None => output::print(&String::from_utf8(contents).expect("what is printed is text"))?,
    }
    Ok(Outcome::Done)
}

/// Whether a place means a folder: it is one, or says so by its end.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// fio's results, a file for each job. No file is written if one of them may not be.
fn fio_folder(arguments: &ExportArguments, folder: &Path, store: &Store) -> anyhow::Result<Outcome> {
    let record = only_run(arguments, store)?;
    let summary = summarized(&record);
    let mut claimed = Vec::new();
    for (name, text) in loadline_exported::fio::fio_files(&record, &summary) {
        let path = folder.join(name);
        let within = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(within).map_err(|error| {
            anyhow::Error::new(error).context(format!("cannot make the folder {}", within.display()))
        })?;
        claimed.push((output_file::result(&path, arguments.force)?, text));
    }
    for (file, text) in &claimed {
        output_file::write(file, text)?;
    }
    output::tell(&format!("{} files in {}", claimed.len(), folder.display()));
    Ok(Outcome::Done)
}

/// The run, where a form has room for one only.
fn only_run(arguments: &ExportArguments, store: &Store) -> anyhow::Result<RunRecord> {
    let [run] = &arguments.runs[..] else {
        return Err(Usage("this form has one run: several go into --as csv and --as parquet".to_owned()).into());
    };
    stored::load(store, run)
}

fn text_of(form: ExportForm, record: &RunRecord, store: &Store) -> anyhow::Result<String> {
    let summary = || summarized(record);
    Ok(match form {
        ExportForm::Json => printing::summary(&stored::summary_in(store, record)?, Format::Json),
        ExportForm::Csv | ExportForm::Parquet | ExportForm::Perfetto => unreachable!("these are made elsewhere"),
        ExportForm::Fio => loadline_exported::fio::fio(record, &summary()),
        ExportForm::OpenMetrics => {
            let began = record.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.started_unix_s).min();
            loadline_exported::openmetrics(&summary(), began)
        }
        ExportForm::Record => record_text(record),
        ExportForm::BiggerIsBetter => loadline_exported::benchmarks(&summary(), Improvement::Bigger),
        ExportForm::SmallerIsBetter => loadline_exported::benchmarks(&summary(), Improvement::Smaller),
    })
}

/// The rows of all runs that were asked for, one run at a time.
fn frame_of(arguments: &ExportArguments, store: &Store) -> anyhow::Result<Frame> {
    let ids = if arguments.all {
        let mut runs = store.list(&Filter::default())?;
        runs.reverse();
        runs.into_iter().map(|run| run.id).collect()
    } else {
        let mut ids: Vec<String> = Vec::new();
        for typed in &arguments.runs {
            let id = store.resolve(typed)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    };
    let mut all = Frame::default();
    for id in ids {
        let record = store.load(&id)?;
        all.append(match arguments.rows {
            ExportRows::Cells => frame::cells(&summarized(&record)),
            ExportRows::Trials => frame::trials(&record),
            ExportRows::Seconds => frame::seconds(&record),
        });
    }
    Ok(all)
}

const fn name_of(rows: ExportRows) -> &'static str {
    match rows {
        ExportRows::Cells => "cells",
        ExportRows::Trials => "trials",
        ExportRows::Seconds => "seconds",
    }
}
