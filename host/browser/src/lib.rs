//! The explorer page's session as a WebAssembly module: a text in, a text out.
//!
//! The page asks for [`room`], writes the bytes of a text there, calls [`open`] once and then [`answer`] for each question, and reads as
//! many bytes as they return at [`place`]. Nothing else is shared, and nothing here reads through a pointer.
#![allow(unsafe_code, reason = "a function that a page calls keeps its name")]

use loadline_explorer::{CatalogBundle, Session};
use std::cell::RefCell;

#[derive(Default)]
struct Shared {
    text: Vec<u8>,
    answer: String,
    session: Option<Session>,
}

impl Shared {
    fn put(&mut self, answer: String) -> usize {
        self.answer = answer;
        self.answer.len()
    }
}

thread_local! {
    static SHARED: RefCell<Shared> = RefCell::default();
}

/// Room for a text of so many bytes: its place in the module's memory.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    SHARED.with_borrow_mut(|shared| {
        shared.text = vec![0; bytes];
        shared.text.as_mut_ptr()
    })
}

/// Opens the session with the catalog that was written; the length of the answer, an object with problems if there are any.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> usize {
    SHARED.with_borrow_mut(|shared| {
        let text = std::mem::take(&mut shared.text);
        let bundle = serde_json::from_slice::<CatalogBundle>(&text).map_err(|error| error.to_string());
        let opened = bundle.and_then(|bundle| Session::open(&bundle).map_err(|error| error.to_string()));
        match opened {
            Ok(session) => {
                shared.session = Some(session);
                shared.put("{}".to_owned())
            }
            Err(text) => shared.put(serde_json::json!({ "problems": [{ "field": "", "text": text }] }).to_string()),
        }
    })
}

/// Answers the question that was written; the length of the answer.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    SHARED.with_borrow_mut(|shared| {
        let text = std::mem::take(&mut shared.text);
        let question = String::from_utf8_lossy(&text);
        let answer = shared.session.as_mut().map_or_else(String::new, |session| session.answer(&question));
        shared.put(answer)
    })
}

/// The place of the answer.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    SHARED.with_borrow(|shared| shared.answer.as_ptr())
}
