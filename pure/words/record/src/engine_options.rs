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

/// How load threads wait for answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum WaitMode {
    /// By hybrid polling: a thread polls where that brings more answers than sleep.
    #[default]
    Auto,
    /// Asleep until answered, as applications do.
    Asleep,
}

impl From<bool> for WaitMode {
    fn from(sleep: bool) -> Self {
        if sleep { Self::Asleep } else { Self::Auto }
    }
}

impl From<WaitMode> for bool {
    fn from(wait: WaitMode) -> Self {
        wait == WaitMode::Asleep
    }
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
    /// How load threads wait for answers; kept as `sleep`, true or false.
    #[serde(default, rename = "sleep")]
    pub wait: WaitMode,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_were_stored_as_sleep_or_without_it_are_read() {
        let read = |text: &str| serde_json::from_str::<EngineOptions>(text).unwrap();
        let stored = r#"{"engine":"io_uring","sqpoll":false,"iopoll":false,"sleep":true}"#;
        assert_eq!(read(stored).wait, WaitMode::Asleep);
        assert_eq!(serde_json::to_string(&read(stored)).unwrap(), stored);
        assert_eq!(read(r#"{"engine":"aio","sqpoll":false,"iopoll":false}"#).wait, WaitMode::Auto);
    }
}
