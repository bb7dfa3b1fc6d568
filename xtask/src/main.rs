//! The project's own chores: `cargo xtask test` is the whole gate, every other word runs one step of it.

mod arm;
mod dist;
mod gate;
mod peers;
mod prices;
mod release;
mod step;
mod suite;
mod tidy;
mod tools;
mod ublk;
mod windows;
mod wine;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test             the whole gate
cargo xtask test --quick     without what needs the network or only matters before a merge
cargo xtask test --long      with all that the gate samples, and tests on ARM and Windows: for a change that these touch
cargo xtask windows          the command on Windows, tried under Wine; compiled for macOS
cargo xtask arm              tests of what touches no device, on ARM by an emulator of the processor
cargo xtask ublk --kernel DIR   that step, on the kernel of an unpacked linux-image package
cargo xtask release          target/release/shipped: the command stripped, and its debug information beside it
cargo xtask dist [PART...]   target/dist: what people install (x86_64, aarch64, windows, wheel, page), each tried
cargo xtask prices FOLDER   the catalog's price lists of all regions, from lists saved there
cargo xtask STEP...          single steps, in the order given:
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = root();
    let wanted: Result<Vec<&gate::Step>, String> = match words.as_slice() {
        [] | ["-h" | "--help" | "help", ..] => {
            print!("{HELP}");
            for step in gate::STEPS {
                println!("  {:<14} {}", step.name, step.purpose);
            }
            return ExitCode::SUCCESS;
        }
        ["test"] => Ok(gate::STEPS.iter().collect()),
        ["test", "--quick"] => return gate::run(&root, &gate::STEPS.iter().collect::<Vec<_>>(), gate::Depth::Quick),
        ["test", "--long"] => {
            step::choose_long();
            Ok(gate::STEPS.iter().chain([&gate::ARM, &gate::WINDOWS]).collect())
        }
        ["arm"] => Ok(vec![&gate::ARM]),
        ["windows"] => Ok(vec![&gate::WINDOWS]),
        ["release"] => Ok(vec![&gate::RELEASE]),
        ["dist"] => Ok(vec![&gate::DIST]),
        ["dist", parts @ ..] => dist::choose(parts).map(|()| vec![&gate::DIST]),
        ["prices", folder] => {
            return match prices::write(&root, Path::new(folder)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: {error:#}");
                    ExitCode::FAILURE
                }
            };
        }
        ["ublk", "--kernel", folder] => {
            ublk::choose(folder);
            Ok(gate::STEPS.iter().filter(|step| step.name == "ublk").collect())
        }
        ["test", other, ..] => Err(format!("`cargo xtask test` takes --quick, --long or nothing, not {other:?}")),
        names => names
            .iter()
            .map(|name| {
                let known = gate::STEPS.iter().find(|step| step.name == *name);
                known.ok_or_else(|| format!("there is no step {name:?}; `cargo xtask help` lists them"))
            })
            .collect(),
    };
    match wanted {
        Ok(steps) => gate::run(&root, &steps, gate::Depth::Full),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// The workspace's root, whatever directory the command was given in.
fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}
