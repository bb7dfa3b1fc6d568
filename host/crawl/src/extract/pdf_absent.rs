//! PDF in a build without the library that reads it.

use super::PageText;
use crate::item::ItemFailure;
use loadline_pipeline::CrawlCaps;

/// There is no text without the library.
///
/// # Errors
/// Always: how to get a build that reads it.
pub(super) fn of_pdf(_: &[u8], _: &CrawlCaps) -> Result<PageText, ItemFailure> {
    Err(ItemFailure::of("PDF takes a build with the feature pdf"))
}
