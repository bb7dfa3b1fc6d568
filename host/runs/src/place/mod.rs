//! Where trials happen: how full volumes are made first, and models of storage. Open volumes are beside, in `linux`.

pub mod filling;
pub(crate) mod model;
