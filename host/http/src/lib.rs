//! Pages for programs and people on this machine, over HTTP.
//!
//! [`Server::listen`] takes an address of this machine alone, and answers on one thread of its own. Pages are read and not changed: GET and
//! HEAD. A request must name the server by an address that other machines cannot have given it ([`PageRequest::parse`]), so that no page of
//! another site reads these through a browser (DNS rebinding). A slow client delays nobody.

mod request;
mod server;

pub use request::{HEAD_MAX, Method, PageRequest, RequestRefusal};
pub use server::{CONNECTIONS_MAX, ListenError, Page, Server};
