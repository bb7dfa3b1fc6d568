//! How it shows that a volume is lost.

use crate::Remedy;

/// How it shows that a volume cannot be used any more.
#[derive(Debug, Clone)]
pub struct Loss {
    /// What happened.
    pub how: String,
    /// What would have let it go on, where that is known.
    pub remedy: Option<Remedy>,
}

impl From<String> for Loss {
    fn from(how: String) -> Self {
        Self { how, remedy: None }
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.how)
    }
}
