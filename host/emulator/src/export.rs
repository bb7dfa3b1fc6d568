//! What clients may ask for by name.

use crate::contents::Contents;
use crate::driver::Place;
use crate::meter::Meter;
use crate::protocol::negotiation::ExportInfo;

/// A volume, or one disk of one.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) info: ExportInfo,
    pub(crate) place: Place,
    pub(crate) contents: Contents,
    pub(crate) meter: Meter,
}
