//! Where the load of a job lies: target, size, files, and where each clone begins.

use super::super::units;
use super::super::{Purpose, Setting, base};
use super::{Job, times};
use loadline_load::{Distribution, LoadSpec, Pattern, Staggered};
use loadline_units::{Bytes, Ratio};
use std::collections::BTreeSet;

impl Job<'_> {
    /// Where the load lies: target, size, files, offset.
    pub(super) fn place(&mut self, spec: &mut LoadSpec, random: bool) {
        let base = base(&self.section.settings);
        let (filename, directory) = (self.get("filename"), self.get("directory"));
        let is_run = self.purpose == Purpose::Run;
        if let Some(setting) = directory.filter(|setting| is_run && setting.value.contains(':')) {
            let message = format!(
                "directory={}: fio takes turns between them, in a job and in its global sections; name one, and run once for each",
                setting.value
            );
            self.problem(setting.line, message);
        }
        let several = filename.filter(|setting| is_run && setting.value.contains(':'));
        self.target = match (directory, filename) {
            (Some(folder), Some(file)) => Some(format!("{}/{}", folder.value.trim_end_matches('/'), file.value)),
            (folder, file) => folder.or(file).map(|s| s.value.clone()),
        };
        let named = match several {
            Some(names) => self.several_files(names, directory.map(|setting| setting.value.as_str())),
            None => u32::from(filename.is_some()),
        };
        self.files(spec, named, random);
        let is_done = self.purpose == Purpose::Reported;
        let size = self.value("size", "a size, such as 1g, or 100%", |text| match text {
            // Batch files write a percent sign twice.
            "100%" | "100%%" => Some(None),
            // What it was a share of is not reported.
            text if is_done && text.ends_with('%') => Some(None),
            text if text.ends_with('%') => share_of(text).map(|_| None),
            text => units::bytes(text, base).map(|size| Some(size).filter(|size| *size > Bytes::ZERO)),
        });
        let share = self.section.settings.get("size").and_then(|setting| share_of(&setting.value));
        spec.size_share = share.filter(|share| is_run && *share != Ratio::ONE);
        if spec.size_share.is_some() && (filename.is_none() || named > 1) {
            self.refuse(
                "size",
                "is a share of a file or device that is there: name one with filename, or write a size",
            );
        }
        if self.section.settings.get("filesize").is_some_and(|setting| setting.value.contains('-')) {
            let _ = self.get("filesize");
            self.refuse(
                "filesize",
                "in fio the size of each file is drawn between them; files are alike here: write one size",
            );
        }
        let file_size = if self.taken.contains(&"filesize") { None } else { self.bytes("filesize") };
        let file_size = file_size.filter(|size| *size > Bytes::ZERO);
        let size = match (size, file_size) {
            (None | Some(None), Some(file)) => Some(Some(file)),
            (Some(Some(size)), Some(file)) if file != size => {
                self.refuse("filesize", "and size differ: fio asks a part of each file; write size alone, and offset");
                Some(Some(size))
            }
            (size, _) => size,
        };
        let increment = self.place_of("offset_increment");
        spec.start = self.place_of("offset").unwrap_or(Bytes::ZERO);
        let shared = filename.is_some();
        let several = spec.threads > 1;
        // Each of them keeps its own map of what it asked.
        let has_map = matches!(spec.pattern, Pattern::Random(Distribution::Covering | Distribution::Permutation));
        spec.overlap = several && shared && has_map && is_run && !spec.verify;
        if several && shared && !random && increment.is_none() && is_run {
            spec.overlap = true;
            self.note(format!(
                "the {} clones go through the same blocks of one file at the same time, as in fio: caches may answer all but the first",
                spec.threads
            ));
        }
        let mut size = size.flatten();
        if let Some(all) = size.as_mut().filter(|_| is_run && spec.files > 1) {
            // fio has whole blocks in each of its files.
            let of_clone = if named > 1 { spec.files } else { (spec.files / spec.threads).max(1) };
            let each = Bytes::new(all.get() / u64::from(of_clone)).round_down(spec.block_min());
            *all = each * u64::from(of_clone);
            let of_turn = spec.block_max().get().saturating_mul(u64::from(spec.in_turn.unwrap_or(1)));
            if !each.get().is_multiple_of(of_turn) && spec.in_turn.is_some_and(|turn| turn > 1) {
                self.refuse(
                    "file_service_type",
                    "the last turn of each file would be a short one: write a size whose files have a multiple of so many blocks",
                );
            }
        } else if size.is_none() && spec.in_turn.is_some_and(|turn| turn > 1) {
            self.refuse(
                "file_service_type",
                "nothing says how large the files are, nor whether the last turn is a whole one: write size",
            );
        }
        if named > 1 && is_run && size.is_none() {
            self.refuse(
                "filename",
                "test files take the place of these, and nothing says how large they are: write size",
            );
        }
        // Sequential clones lie side by side by themselves.
        let step = increment.filter(|step| (random || Some(*step) != size) && *step > Bytes::ZERO);
        if let (true, true, true, Some(step)) = (several, is_run, shared, step) {
            self.staggered(spec, step, size, file_size);
            return;
        }
        if let (true, true, Some(step)) = (several, is_run, step) {
            let line = self.section.settings.get("offset_increment").map_or(self.section.line, |setting| setting.line);
            let message = format!(
                "offset_increment={step}: the clones' stretches lie side by side here, without gaps or overlap: write size={0} \
                 as well, or leave it out",
                step.get()
            );
            self.problem(line, message);
        }
        let own = !shared || increment.is_some();
        spec.size = size.map(|size| if own { times(size, spec.threads) } else { size });
        self.moved = size.map(|size| times(size, spec.threads));
        if several && !shared {
            self.note("the files of a job's clones are one file here, of their size together");
        }
    }

    /// A place in the target. fio takes a share of it as well.
    fn place_of(&mut self, key: &'static str) -> Option<Bytes> {
        if self.section.settings.get(key).is_some_and(|setting| setting.value.ends_with('%')) {
            let _ = self.get(key);
            let why = "in fio it is that share of the file as it is found, and the job goes on from its end at its begin: write a size";
            self.refuse(key, why);
            return None;
        }
        self.bytes(key)
    }

    /// Clones on one file that begin apart. `size` is that of each clone, unless it is that of the file.
    fn staggered(&mut self, spec: &mut LoadSpec, step: Bytes, size: Option<Bytes>, file_size: Option<Bytes>) {
        let clones = u64::from(spec.threads);
        let length = size.filter(|_| file_size.is_none());
        let range = length.map_or(size, |each| Some(step * (clones - 1) + each));
        spec.staggered = Some(Staggered { step, length });
        spec.overlap = false;
        spec.size = range;
        let to_the_end = |range: Bytes| (0..clones).map(|clone| range.saturating_sub(step * clone).get()).sum();
        self.moved = match (length, range) {
            (Some(each), _) => Some(times(each, spec.threads)),
            (None, Some(range)) => Some(Bytes::new(to_the_end(range))),
            (None, None) => None,
        };
        let is_timed = self.section.settings.get("time_based").is_some_and(|setting| setting.value != "0");
        if self.moved.is_none() && !is_timed {
            self.refuse(
                "offset_increment",
                "each clone goes to the end of the target, whose size is not known here: write size, or time_based and runtime",
            );
        }
        self.note(format!(
            "offset_increment={step}: each clone begins so far behind the one before it, and their stretches may overlap, as in fio"
        ));
    }

    /// How many files a list of names has. Test files in their folder take their place.
    fn several_files(&mut self, setting: &Setting, directory: Option<&str>) -> u32 {
        let names: Vec<&str> = setting.value.split(':').collect();
        let folder = |name: &&str| name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let folders: BTreeSet<String> = names.iter().map(folder).collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        let why = if names.iter().any(|name| name.starts_with("/dev/")) {
            Some(
                "fio takes turns between these devices with one queue; a load has one volume here: write a job for each, without stonewall, \
                 and with a part of the iodepth",
            )
        } else if setting.value.contains('\\') || distinct.len() < names.len() || distinct.contains("") {
            Some("these are no names of different files: write each once")
        } else if folders.len() > 1 {
            Some(
                "fio takes turns between files of several folders; a load has one volume here: name files of one folder",
            )
        } else {
            None
        };
        if let Some(why) = why {
            self.problem(setting.line, format!("filename={}: {why}", setting.value));
            return 1;
        }
        let own = folders.first().map_or("", String::as_str);
        let at = match (directory.map(|folder| folder.trim_end_matches('/')), own) {
            (Some(folder), "") => folder.to_owned(),
            (Some(folder), own) => format!("{folder}/{own}"),
            (None, "") if setting.value.starts_with('/') => "/".to_owned(),
            (None, "") => ".".to_owned(),
            (None, own) => own.to_owned(),
        };
        self.note(format!(
            "filename={}: {} test files in {at} take the place of these, and are removed at the end",
            setting.value,
            names.len()
        ));
        self.target = Some(at);
        self.file_names = Some(setting.value.clone());
        u32::try_from(names.len()).unwrap_or(u32::MAX)
    }

    /// Into how many files the load goes, and in which order. So many have names.
    fn files(&mut self, spec: &mut LoadSpec, named: u32, random: bool) {
        let count = self.number("nrfiles").unwrap_or(1);
        let (service, format) = (self.get("file_service_type"), self.get("filename_format"));
        let open = self.number("openfiles").filter(|open| *open > 0);
        if named == 1 {
            // fio's file is then the one that is named.
            return;
        }
        let clones = u64::from(spec.threads);
        let is_named = named > 1;
        let count = if is_named { u64::from(named) } else { count };
        let each_own = count > 1 && !is_named;
        spec.files = u32::try_from(if each_own { count.saturating_mul(clones) } else { count }).unwrap_or(u32::MAX);
        let names_apart =
            |format: &str| (clones == 1 || format.contains("$jobnum")) && (count == 1 || format.contains("$filenum"));
        if let Some(format) = format.filter(|format| !is_named && !names_apart(&format.value)) {
            let message = format!(
                "filename_format={}: gives several clones or files one name: write filename=NAME for one file, or leave it out",
                format.value
            );
            self.problem(format.line, message);
        }
        if count <= 1 || self.purpose == Purpose::Reported {
            return;
        }
        if !is_named && self.section.settings.contains_key("filesize") {
            self.refuse(
                "filesize",
                "and nrfiles: fio gives each file that size, and asks a part of each; write size alone",
            );
        }
        let by_chance = service.is_some_and(|service| service.value.starts_with("random"));
        if random && by_chance && self.section.settings.contains_key("offset") {
            self.refuse(
                "offset",
                "and files by chance: fio draws each file's blocks from its begin on; leave one of them out",
            );
        }
        if self.section.settings.get("random_distribution").is_some_and(|of| of.value.starts_with("zoned_abs")) {
            self.refuse(
                "random_distribution",
                "and several files: fio has such zones in each of them; leave one of them out",
            );
        }
        if open.is_some_and(|open| open < count) {
            self.refuse(
                "openfiles",
                "fio goes on with these files until they are done; all are open here: leave it out",
            );
        }
        let (order, turn) = service.map_or(("roundrobin", Some(1)), |setting| {
            let (order, turn) = setting.value.split_once(':').unwrap_or((&setting.value, "1"));
            (order, turn.parse::<u32>().ok().filter(|turn| *turn > 0))
        });
        let line = service.or(self.section.settings.get("nrfiles")).map_or(self.section.line, |s| s.line);
        match (order, turn, random) {
            ("roundrobin", Some(turn), _) => {
                let has_map = !random || matches!(spec.pattern, Pattern::Random(Distribution::Covering));
                if has_map && spec.blocks.len() > 1 {
                    let why = "with several sizes of blocks fio's files end one before the other: write one size, or norandommap";
                    self.problem(line, format!("nrfiles={count}: {why}"));
                }
                spec.in_turn = Some(turn);
            }
            ("sequential", _, false) | ("random", Some(1), true) => {}
            (other, _, _) => self.problem(
                line,
                format!(
                    "file_service_type={other}: with several files loadline has roundrobin, sequential where rw is, and random (without \
                     a number) where rw is random: write one of these"
                ),
            ),
        }
    }
}

/// A share in percent, above none and up to all.
fn share_of(text: &str) -> Option<Ratio> {
    let percent = text.trim_end_matches('%');
    let is_share = percent.len() < text.len();
    let percent = percent.parse::<u32>().ok().filter(|share| is_share && (1..=100).contains(share))?;
    Some(Ratio::percent(percent))
}
