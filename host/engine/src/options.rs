//! What the user may ask of the engine.

/// Which way to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// The best that this machine and target allow.
    #[default]
    Auto,
    /// `io_uring`.
    IoUring,
    /// Linux AIO (`io_submit`).
    Aio,
    /// One thread for each outstanding request (`pread`, `pwrite`).
    Threads,
}

/// How the engine is to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct EngineOptions {
    /// Which way to the device.
    pub engine: EngineChoice,
    /// A kernel thread submits (`IORING_SETUP_SQPOLL`).
    pub sqpoll: bool,
    /// Completions are polled for (`IORING_SETUP_IOPOLL`).
    pub iopoll: bool,
    /// Load threads sleep until they are answered, as applications do, also where waiting awake would bring more answers.
    #[serde(default)]
    pub sleep: bool,
}
