//! Words of records that are known by name, each a type: verbs, engines, where requests fall and when they come.
//!
//! A store may hold a word of another version or of another tool. It is kept as it is, as `Other`.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! names {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$of])* $word,)*
            /// One that this version does not know.
            Other(String),
        }

        impl $name {
            /// Every one that this version knows.
            pub const KNOWN: &'static [Self] = &[$(Self::$word),*];

            /// As it is stored and printed.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$word => $text,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                match name {
                    $($text => Self::$word,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self::from(name.as_str())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.name().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

names! {
    /// The verb of the command that made a run.
    RunVerb {
        /// A quick look at a target, without a plan.
        Quick = "quick",
        /// A plan, measured.
        Run = "run",
        /// The most load that keeps an objective.
        Search = "search",
        /// A plan on a model.
        Predict = "predict",
        /// What stops a load, by variations of it.
        Hunt = "hunt",
        /// Results of another tool.
        Import = "import",
        /// A model served as a disk.
        Emulate = "emulate",
        /// A recorded trace on a model.
        Replay = "replay",
        /// What others asked of a device, seen while they did.
        Watch = "watch",
        /// A crawl: an application's load.
        Crawl = "crawl",
        /// Runs of several hosts as one.
        Merge = "merge",
    }
}

names! {
    /// The way to a device, by the name of its interface; of imported results the name that the other tool has for it.
    EngineName {
        /// io_uring.
        IoUring = "io_uring",
        /// Linux native AIO.
        Aio = "aio",
        /// Threads that block.
        Threads = "threads",
        /// Nothing: requests are answered at once.
        Null = "null",
        /// A disk over the network.
        Nbd = "nbd",
        /// The model in virtual time.
        Simulator = "simulator",
        /// The model in real time.
        Emulator = "emulator",
        /// The model, asked by a recorded trace.
        Replay = "replay",
        /// None of loadline's: others asked, and the kernel counted.
        Kernel = "kernel",
        /// The load could not be run at all.
        Nothing = "none",
    }
}

names! {
    /// Where requests fall.
    Access {
        /// Anywhere.
        Random = "random",
        /// One after another.
        Sequential = "sequential",
        /// Where a recorded trace has them.
        Recorded = "recorded",
        /// Where an application has them.
        Application = "application",
    }
}

names! {
    /// When requests come.
    ArrivalKind {
        /// Each takes the place of one that completed.
        Closed = "closed",
        /// At equal distances, whatever the answers.
        Constant = "constant",
        /// Independently of one another, at a mean rate.
        Poisson = "poisson",
        /// When a recorded trace has them.
        Recorded = "recorded",
        /// When an application makes them.
        Application = "application",
    }
}

impl ArrivalKind {
    /// Whether requests that arrive so were made by others. Then how many come is theirs at every moment. A rate that falls, or
    /// stays below another, shows nothing of the storage, and no more can be offered.
    #[must_use]
    pub const fn is_of_others(&self) -> bool {
        matches!(self, Self::Recorded | Self::Application)
    }
}
