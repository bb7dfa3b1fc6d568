//! Errors in a file of results: the place and the remedy.

/// A file without readable results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing in it.
    #[error(
        "{source_name} is empty: it holds no results; the tool may have been stopped, or have written them elsewhere"
    )]
    Empty {
        /// The file.
        source_name: String,
    },
    /// No form that is known.
    #[error(
        "{source_name} holds no results of a form that is known: loadline reads fio (JSON, normal text, terse), diskspd, \
         CrystalDiskMark, KDiskMark, Iometer, elbencho, vdbench, sysbench fileio, pg_test_fsync, ioping, hdparm and dd; a trace goes to `loadline \
         replay`, and what iostat, sar or a cloud's metrics say to `loadline advise`"
    )]
    Unknown {
        /// The file.
        source_name: String,
    },
    /// What a known tool writes, and no result of storage can be read from.
    #[error("{source_name} is {what}: {remedy}")]
    OtherTool {
        /// The file.
        source_name: String,
        /// What it is.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// It is an export of loadline.
    #[error(
        "{source_name} is what loadline exports: a summary, without the trials and histograms that a stored run rests on; take the run \
         from its store"
    )]
    OwnExport {
        /// The file.
        source_name: String,
    },
    /// It ends in the middle.
    #[error(
        "{source_name}:{line}: the results are cut off here: the file ends within them; take the whole file, or run the tool again"
    )]
    CutOff {
        /// The file.
        source_name: String,
        /// From 1.
        line: usize,
    },
    /// No JSON.
    #[error("{source_name}:{line}: is not JSON: {detail}")]
    Syntax {
        /// The file.
        source_name: String,
        /// From 1.
        line: usize,
        /// The parser's message.
        detail: String,
    },
    /// A figure that is missing or cannot be.
    #[error("{source_name}: {place}: {message}")]
    Value {
        /// The file.
        source_name: String,
        /// The place in its document: `jobs[0].read.iops`.
        place: String,
        /// The problem.
        message: String,
    },
}
