//! The catalog against the model: every disk and every virtual machine as sold, simulated, reaches its own published
//! limits and does not pass them; and no product is named in code.

use loadline_catalog::{Catalog, DiskEntry, Figure, ProblemKind, Rule, environments};
use loadline_prediction::{EntryGroup, entry_groups, unreached};
use loadline_tests::sample;
use std::path::Path;

#[test]
fn everything_that_comes_along_reaches_its_published_limits() {
    let catalog = Catalog::builtin();
    let entries = entry_groups(&catalog);
    let all: usize = entries.iter().map(EntryGroup::len).sum();
    assert_eq!(all, catalog.disks().len() + catalog.vms().len() + catalog.caps().len());
    assert!(entries.len() > 400, "{}", entries.len());
    let tried = entries.len().div_ceil(12);
    let entries = sample::some("products of different limits", entries, tried);
    let wrong: Vec<_> = entries.iter().flat_map(|entries| unreached(&catalog, entries)).collect();
    assert_eq!(wrong, []);
}

/// A source that gives IOPS for a size of request is taken by its word, with the throughput beside it: of one disk by simulation (at
/// [`everything_that_comes_along_reaches_its_published_limits`]), of several in sum by arithmetic.
#[test]
fn iops_that_are_of_a_size_of_request_are_reached_with_it() {
    let catalog = Catalog::builtin();
    let of_a_size = catalog.disks().iter().filter(|disk| catalog.disk_family(disk).iops_at.is_some());
    let by_steps = |disk: &&DiskEntry| matches!(&disk.iops, Some(Figure::Apart { read: Rule::Steps(_), .. }));
    let (disks, fixed): (Vec<_>, Vec<_>) = of_a_size.partition(by_steps);
    assert_eq!(
        (disks.len(), fixed.len()),
        (2, 93 + 250),
        "local SSDs by both interfaces, and Azure's and instance store of one size each"
    );
    for disk in fixed {
        let block = catalog.disk_family(disk).iops_at.unwrap().get();
        let (
            Some(Figure::Apart { read: Rule::Fixed(read), write: Rule::Fixed(write) }),
            Some(Figure::Apart { read: Rule::Fixed(read_bytes), write: Rule::Fixed(written_bytes) }),
        ) = (&disk.iops, &disk.throughput)
        else {
            panic!("{}: one figure for each direction", disk.name)
        };
        let let_through = (read_bytes.get() / block, written_bytes.get() / block);
        assert!(let_through.0 >= read.get() && let_through.1 >= write.get(), "{}: {let_through:?}", disk.name);
    }
    let (mut figures, mut within) = (0, 0);
    for disk in disks {
        let block = catalog.disk_family(disk).iops_at.unwrap();
        let (Some(Figure::Apart { read, write }), Some(Figure::Apart { read: read_bytes, write: written_bytes })) =
            (&disk.iops, &disk.throughput)
        else {
            panic!("{}: one figure for each direction", disk.name)
        };
        for (iops, bytes) in [(read, read_bytes), (write, written_bytes)] {
            let (Rule::Steps(iops), Rule::Steps(bytes)) = (iops, bytes) else { panic!("{}: steps", disk.name) };
            for ((size, iops), (same, bytes)) in iops.iter().zip(bytes) {
                assert_eq!(size, same, "{}", disk.name);
                let share = (bytes.get() / block.get()) as f64 / iops.get() as f64;
                // 270 MiB/s for 70,000 IOPS are rounded from 273.
                assert!((0.985..).contains(&share), "{} from {size}: {share}", disk.name);
                figures += 1;
                within += usize::from(share >= 0.99);
            }
        }
    }
    assert_eq!((figures, within), (22, 21), "all but one within 1 %");
}

#[test]
fn a_disk_whose_throughput_lets_fewer_through_than_its_iops_of_that_size_is_named() {
    let text = "schema = 1\nkind = \"disk\"\nprovider = \"own\"\nfamily = \"array\"\ntitle = \"x\"\nsource = \"x\"\n\
                iops_at = \"4 KiB\"\n[latency.read]\nmedian = \"0.1 ms\"\n\
                [disk]\narray = { size = \"1 TiB\", iops = \"17000 IOPS\", throughput = \"66 MB/s\" }\n";
    let found = |text: &str| {
        let catalog = Catalog::default().with(&[("own.toml", text)]).unwrap();
        let held = entry_groups(&catalog);
        let problems = held.iter().flat_map(|entries| unreached(&catalog, entries));
        problems.map(|problem| problem.text).collect::<Vec<_>>()
    };
    assert_eq!(found(&text.replace("MB/s", "MiB/s")), [""; 0]);
    let wrong = found(text);
    assert!(wrong.len() == 1 && wrong[0].contains("reads of 4 KiB come to 16"), "{wrong:?}");
}

#[test]
fn a_disk_that_cannot_reach_what_it_publishes_is_named() {
    let text = "schema = 1\nkind = \"disk\"\nprovider = \"own\"\nfamily = \"array\"\ntitle = \"x\"\nsource = \"x\"\n\
                [latency.read]\nmedian = \"5 ms\"\n\
                [disk]\narray = { size = \"1 TiB\", iops = \"5000 IOPS\", parallelism = { requests = 4 } }\n\
                good = { size = \"2 TiB\", iops = \"5000 IOPS\" }\n";
    let catalog = Catalog::default().with(&[("own.toml", text)]).unwrap();
    let problems: Vec<_> = entry_groups(&catalog).iter().flat_map(|entries| unreached(&catalog, entries)).collect();
    assert!(problems.iter().all(|problem| problem.kind == ProblemKind::Unreached && problem.name == "own/array"));
    // Four at a time in 5 ms each.
    assert!(problems[0].text.contains("reads of 512 B come to 800"), "{problems:?}");
}

/// Disks of different machines, as local ones are.
#[test]
fn of_disks_that_are_alike_each_is_named() {
    let text = "schema = 1\nkind = \"disk\"\nprovider = \"own\"\nfamily = \"array\"\ntitle = \"x\"\nsource = \"x\"\n\
                [latency.read]\nmedian = \"5 ms\"\n[disk]\n\
                first = { size = \"1 TiB\", iops = \"5000 IOPS\", parallelism = { requests = 4 } }\n\
                second = { size = \"1 TiB\", iops = \"5000 IOPS\", parallelism = { requests = 4 }, note = \"x\" }\n\
                larger = { size = \"2 TiB\", iops = \"5000 IOPS\", parallelism = { requests = 4 } }\n";
    let catalog = Catalog::default().with(&[("own.toml", text)]).unwrap();
    let held = entry_groups(&catalog);
    assert_eq!(held.iter().map(EntryGroup::len).collect::<Vec<_>>(), [2, 1]);
    let mut named: Vec<_> = held.iter().flat_map(|entries| unreached(&catalog, entries)).map(|p| p.name).collect();
    named.dedup();
    assert_eq!(named, ["own/first", "own/second", "own/larger"]);
}

/// Machines with the same limits are simulated once, and each is named.
#[test]
fn of_machines_that_are_alike_each_is_named() {
    let text = "schema = 1\nkind = \"vm\"\nprovider = \"own\"\nfamily = \"hosts\"\ntitle = \"x\"\nsource = \"x\"\n\
                [mechanism]\ncounted_size = \"4 KiB\"\nenforcement = { window = \"5 s\" }\n\
                [vm]\nsmall = { vcpus = 2, uncached = { iops = \"1000 IOPS\" } }\n\
                large = { vcpus = 4, uncached = { iops = \"1000 IOPS\" } }\n\
                other = { uncached = { iops = \"1001 IOPS\" } }\n";
    let catalog = Catalog::default().with(&[("own.toml", text)]).unwrap();
    let held = entry_groups(&catalog);
    assert_eq!(held.iter().map(EntryGroup::len).collect::<Vec<_>>(), [2, 1]);
    let problems: Vec<_> = held.iter().flat_map(|entries| unreached(&catalog, entries)).collect();
    let of = |name: &str| {
        let texts = problems.iter().filter(|problem| problem.name == name).map(|problem| problem.text.as_str());
        texts.collect::<Vec<_>>()
    };
    assert!(!of("own/small").is_empty(), "{problems:?}");
    assert_eq!(of("own/small"), of("own/large"));
}

#[test]
fn no_product_is_named_in_code() {
    let catalog = Catalog::builtin();
    let names: Vec<String> = (catalog.disks().iter().map(|disk| disk.name.clone()))
        .chain(catalog.vms().iter().map(|vm| vm.name.clone()))
        .collect();
    let mut providers: Vec<&str> = names.iter().map(|name| &name[..=name.find('/').unwrap()]).collect();
    providers.sort_unstable();
    providers.dedup();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![root.join("pure"), root.join("host")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_code = path.extension().is_some_and(|extension| extension == "rs")
                && !path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs");
            // The list of embedded files names files, which are families; examples of the help are what people type.
            if !is_code || path.ends_with("catalog/src/builtin.rs") || path.ends_with("cli/src/examples.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            // Every name begins with a provider.
            if !providers.iter().any(|provider| code.contains(provider)) {
                continue;
            }
            found.extend(
                names.iter().filter(|name| code.contains(*name)).map(|name| format!("{}: {name}", path.display())),
            );
        }
    }
    assert_eq!(found, [""; 0]);
}

/// The files of a folder at the root of the tree.
fn files_of(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn every_file_of_the_catalog_and_every_environment_comes_along() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let providers = files_of(&root.join("catalog"));
    let in_folder = |provider: &String| {
        let files = files_of(&root.join("catalog").join(provider));
        files.into_iter().map(|file| format!("{provider}/{file}")).collect::<Vec<_>>()
    };
    let files: Vec<String> = providers.iter().flat_map(in_folder).collect();
    assert_eq!(Catalog::builtin_files().collect::<Vec<_>>(), files);
    let mut embedded: Vec<String> = environments().iter().map(|(name, _)| format!("{name}.toml")).collect();
    embedded.sort();
    assert_eq!(embedded, files_of(&root.join("environments")));
}
