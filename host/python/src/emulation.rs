//! An emulated disk as a context manager: served over NBD on a socket until the block ends.

use crate::calls::{refuse_fork, short};
use crate::errors::{Error, Refused, failed};
use crate::run::PythonRun;
use loadline_catalog::{Catalog, Environment};
use loadline_nbd::export_uri::{ClientEncryption, ListenAddress};
use loadline_runs::Observer;
use loadline_runs::emulation::{EmulationOptions, EmulationRun};
use loadline_runs::wall_clock::fresh_seed;
use loadline_units::Bytes;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The most memory that contents may take, if nothing is said.
const MEMORY_DEFAULT: Bytes = Bytes::gib(1);

/// An environment that is served while the `with` block runs.
#[pyclass(frozen, name = "Emulation", module = "loadline")]
pub(crate) struct PythonEmulation {
    environment: Environment,
    seed: u64,
    memory: Bytes,
    socket: Option<PathBuf>,
    served: Mutex<Option<Served>>,
    ended: Mutex<Option<Py<PythonRun>>>,
}

/// An emulation that clients can reach.
struct Served {
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    /// Has the socket, if none was named, and the store with the record.
    folder: tempfile::TempDir,
    run: String,
}

struct Stopper(Arc<AtomicBool>);

impl Observer for Stopper {
    fn wants_an_end(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PythonEmulation {
    fn begin(&self) -> PyResult<Served> {
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        let socket = self.socket.clone().unwrap_or_else(|| folder.path().join("disk.sock"));
        let store = folder.path().join("runs.db");
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, reached) = sync_channel(1);
        let (environment, seed, memory) = (self.environment.clone(), self.seed, self.memory);
        let (flag, place) = (Arc::clone(&stop), socket.clone());
        let thread = std::thread::spawn(move || {
            let begun = EmulationRun::begin(&environment, EmulationOptions::in_memory(seed, memory))
                .map_err(|error| failed(&error))
                .and_then(|mut run| {
                    run.keep_in(&store).map_err(|error| failed(&error))?;
                    run.emulation_mut().listen_unix(&place).map_err(|error| failed(&error))?;
                    Ok(run)
                });
            match begun {
                Ok(mut run) => {
                    let _ = ready.send(Ok(run.id().to_owned()));
                    run.serve(None, &mut Stopper(flag));
                    // What could not be stored shows when the run is loaded.
                    let _ = run.end();
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        });
        let run = reached.recv().map_err(|_| Error::new_err("the emulation ended before it began"))??;
        Ok(Served { socket, stop, thread, folder, run })
    }
}

#[pymethods]
impl PythonEmulation {
    /// Of the environment with this text. `memory_bytes` bounds its contents, which are kept in memory.
    #[new]
    #[pyo3(signature = (text, name, seed = None, memory_bytes = None, socket = None))]
    fn new(
        text: &str,
        name: &str,
        seed: Option<u64>,
        memory_bytes: Option<u64>,
        socket: Option<PathBuf>,
    ) -> PyResult<Self> {
        refuse_fork()?;
        let environment =
            Environment::parse(text, name, &Catalog::builtin()).map_err(|error| Refused::new_err(error.to_string()))?;
        Ok(Self {
            environment,
            seed: seed.unwrap_or_else(fresh_seed),
            memory: memory_bytes.map_or(MEMORY_DEFAULT, Bytes::new),
            socket,
            served: Mutex::new(None),
            ended: Mutex::new(None),
        })
    }
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let py = slf.py();
        let this = slf.get();
        let served = short(py, || this.begin())?;
        *this.served.lock().expect("no holder panics") = Some(served);
        Ok(slf)
    }
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(served) = self.served.lock().expect("no holder panics").take() else { return Ok(false) };
        let record = short(py, move || {
            served.stop.store(true, Ordering::Relaxed);
            served.thread.join().map_err(|_| Error::new_err("the emulation's thread panicked"))?;
            let store =
                loadline_store::Store::open(&served.folder.path().join("runs.db")).map_err(|error| failed(&error))?;
            // Nothing is stored if nobody asked for anything.
            Ok(store.load(&served.run).ok())
        })?;
        let run = record.map(|record| Py::new(py, PythonRun::of(record))).transpose()?;
        *self.ended.lock().expect("no holder panics") = run;
        Ok(false)
    }
    /// The socket, while it is served.
    #[getter]
    fn socket(&self) -> PyResult<PathBuf> {
        let served = self.served.lock().expect("no holder panics");
        let served =
            served.as_ref().ok_or_else(|| Error::new_err("the emulation is served within its `with` block only"))?;
        Ok(served.socket.clone())
    }
    /// The NBD URI of a volume, while it is served.
    #[pyo3(signature = (volume = "data"))]
    fn uri(&self, volume: &str) -> PyResult<String> {
        Ok(ListenAddress::Unix(self.socket()?).uri(volume, ClientEncryption::None))
    }
    /// What clients did, after the block; None if they asked for nothing.
    #[getter]
    fn run(&self, py: Python<'_>) -> Option<Py<PythonRun>> {
        self.ended.lock().expect("no holder panics").as_ref().map(|run| run.clone_ref(py))
    }
    fn __repr__(&self) -> String {
        format!("<loadline.Emulation of {:?}>", self.environment.name)
    }
}
