//! HTTP/1.1 over connections that are kept: one request at a time on each, over rustls with the certificates that the system trusts.
//!
//! Bodies stream, as they were sent: gzip is asked for, and unpacked by the caller. No proxy is asked, and no redirect followed.

mod body;
mod client;
mod error;

pub use body::Body;
pub use client::{Deadline, Head, Rest, Slot, WebClient, WebRequest, WebResponse};
pub use error::WebError;
pub use url::Url;
