//! A table through Arrow's C interface (arrow.apache.org/docs/format/CDataInterface.html): three C structs, whose buffers are the table's own.
//!
//! This is the only file of the crate with unsafe code (`docs/decisions`). Every struct owns what it points to, in `private_data`; its
//! `release` gives that back, once, and marks the struct as released.
#![allow(unsafe_code, reason = "C structs that other libraries read and release")]

use loadline_report::frame::{Frame, FrameValues, Sparse, Words};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A column may have nulls.
const NULLABLE: i64 = 2;
/// The answer of a stream that is used wrongly.
const INVALID: c_int = 22;

/// `struct ArrowSchema`.
#[repr(C)]
pub(crate) struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
pub(crate) struct ArrowStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowStream)>,
    private_data: *mut c_void,
}

// SAFETY: what the pointers lead to belongs to the struct alone, and is a table behind an `Arc` that nobody changes.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowStream {}

/// What a schema owns.
struct SchemaParts {
    format: CString,
    name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

/// What an array owns.
struct ArrayParts {
    /// Most buffers are those of the table.
    _frame: Arc<Frame>,
    /// Those that the table has in another form.
    own: Vec<Box<[u8]>>,
    offsets: Vec<Box<[i32]>>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

/// What a stream owns: the table, until it was taken.
struct StreamParts {
    frame: Arc<Frame>,
    is_taken: bool,
}

impl ArrowSchema {
    fn new(format: &str, name: &str, flags: i64, children: Vec<Self>, dictionary: Option<Self>) -> Self {
        let text = |text: &str| CString::new(text.replace('\0', "")).expect("no zero is left");
        let (format, name) = (text(format), text(name));
        let mut parts = Box::new(SchemaParts {
            children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
            dictionary: dictionary.map_or(null_mut(), |of| Box::into_raw(Box::new(of))),
            format,
            name,
        });
        Self {
            format: parts.format.as_ptr(),
            name: parts.name.as_ptr(),
            metadata: null(),
            flags,
            n_children: parts.children.len().cast_signed() as i64,
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    /// The schema of a table: a struct with a field for each column.
    pub(crate) fn of(frame: &Frame) -> Self {
        let fields = frame.columns().iter().map(|column| match &column.values {
            FrameValues::Text(_) => {
                let words = Self::new("u", "", 0, Vec::new(), None);
                Self::new("i", &column.name, NULLABLE, Vec::new(), Some(words))
            }
            FrameValues::Float(_) => Self::new("g", &column.name, NULLABLE, Vec::new(), None),
            FrameValues::Whole(_) => Self::new("l", &column.name, NULLABLE, Vec::new(), None),
            FrameValues::Flag(_) => Self::new("b", &column.name, NULLABLE, Vec::new(), None),
            FrameValues::Moment(_) => Self::new("tsu:UTC", &column.name, NULLABLE, Vec::new(), None),
        });
        Self::new("+s", "", 0, fields.collect(), None)
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was made by `new` and not released, or `release` would be empty.
            unsafe { release(self) };
        }
    }
}

/// Gives back what a schema owns.
///
/// # Safety
/// The schema was made here and not released.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the caller has a schema that was not released; its private data came from `new`.
    let parts = unsafe {
        (*schema).release = None;
        Box::from_raw((*schema).private_data.cast::<SchemaParts>())
    };
    for child in parts.children.iter().copied().chain((!parts.dictionary.is_null()).then_some(parts.dictionary)) {
        // SAFETY: each came from a box in `new`; one whose contents were moved out has an empty `release`, and is only freed.
        drop(unsafe { Box::from_raw(child) });
    }
}

impl ArrowArray {
    fn new(length: usize, nulls: usize, mut parts: Box<ArrayParts>) -> Self {
        Self {
            length: length.cast_signed() as i64,
            null_count: nulls.cast_signed() as i64,
            offset: 0,
            n_buffers: parts.buffers.len().cast_signed() as i64,
            n_children: parts.children.len().cast_signed() as i64,
            buffers: parts.buffers.as_mut_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    fn of(frame: &Arc<Frame>) -> Self {
        let children: Vec<*mut Self> = frame
            .columns()
            .iter()
            .map(|column| Box::into_raw(Box::new(Self::of_column(frame, &column.values))))
            .collect();
        let parts = ArrayParts { buffers: vec![null()], children, ..ArrayParts::of(frame) };
        Self::new(frame.rows(), 0, Box::new(parts))
    }

    fn of_column(frame: &Arc<Frame>, values: &FrameValues) -> Self {
        let mut parts = ArrayParts::of(frame);
        let (length, nulls) = match values {
            FrameValues::Text(words) => {
                parts.dictionary = Box::into_raw(Box::new(Self::of_words(frame, words)));
                parts.share(words.rows())
            }
            FrameValues::Float(of) => parts.share(of),
            FrameValues::Whole(of) | FrameValues::Moment(of) => parts.share(of),
            FrameValues::Flag(of) => {
                let mut bits = vec![0_u8; of.len().div_ceil(8)];
                for (row, is) in of.values().iter().enumerate() {
                    bits[row / 8] |= u8::from(*is) << (row % 8);
                }
                let bits = bits.into_boxed_slice();
                parts.buffers = vec![present(of), bits.as_ptr().cast()];
                parts.own.push(bits);
                (of.len(), of.missing())
            }
        };
        Self::new(length, nulls, Box::new(parts))
    }

    /// The distinct words, each once.
    fn of_words(frame: &Arc<Frame>, words: &Words) -> Self {
        let mut offsets = vec![0_i32];
        let mut bytes = Vec::new();
        for word in words.distinct() {
            bytes.extend_from_slice(word.as_bytes());
            offsets.push(i32::try_from(bytes.len()).expect("distinct words of less than 2 GiB"));
        }
        let (offsets, bytes) = (offsets.into_boxed_slice(), bytes.into_boxed_slice());
        let mut parts = ArrayParts::of(frame);
        parts.buffers = vec![null(), offsets.as_ptr().cast(), bytes.as_ptr().cast()];
        parts.offsets.push(offsets);
        parts.own.push(bytes);
        Self::new(words.distinct().len(), 0, Box::new(parts))
    }
}

impl ArrayParts {
    fn of(frame: &Arc<Frame>) -> Self {
        Self {
            _frame: Arc::clone(frame),
            own: Vec::new(),
            offsets: Vec::new(),
            buffers: Vec::new(),
            children: Vec::new(),
            dictionary: null_mut(),
        }
    }

    /// The buffers of values as the table has them; gives their length and how many are missing.
    fn share<T: Copy + Default>(&mut self, of: &Sparse<T>) -> (usize, usize) {
        self.buffers = vec![present(of), of.values().as_ptr().cast()];
        (of.len(), of.missing())
    }
}

/// The bits of the values that are present; none if nothing is missing.
fn present<T: Copy + Default>(of: &Sparse<T>) -> *const c_void {
    if of.missing() == 0 { null() } else { of.present().as_ptr().cast() }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was made by `new` and not released, or `release` would be empty.
            unsafe { release(self) };
        }
    }
}

/// Gives back what an array owns.
///
/// # Safety
/// The array was made here and not released.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the caller has an array that was not released; its private data came from `new`.
    let parts = unsafe {
        (*array).release = None;
        Box::from_raw((*array).private_data.cast::<ArrayParts>())
    };
    for child in parts.children.iter().copied().chain((!parts.dictionary.is_null()).then_some(parts.dictionary)) {
        // SAFETY: each came from a box above; one whose contents were moved out has an empty `release`, and is only freed.
        drop(unsafe { Box::from_raw(child) });
    }
}

impl ArrowStream {
    /// A stream of the whole table as one batch.
    pub(crate) fn of(frame: Arc<Frame>) -> Self {
        let parts = Box::new(StreamParts { frame, is_taken: false });
        Self {
            get_schema: Some(stream_schema),
            get_next: Some(stream_next),
            get_last_error: Some(stream_error),
            release: Some(release_stream),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

impl Drop for ArrowStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was made by `of` and not released, or `release` would be empty.
            unsafe { release(self) };
        }
    }
}

/// Writes the schema of a stream.
///
/// # Safety
/// The stream was made here and not released; `out` has room for a schema.
unsafe extern "C" fn stream_schema(stream: *mut ArrowStream, out: *mut ArrowSchema) -> c_int {
    if out.is_null() {
        return INVALID;
    }
    // SAFETY: the caller has a stream that was not released, and memory for a schema, which holds nothing yet.
    unsafe {
        let parts = &*(*stream).private_data.cast::<StreamParts>();
        out.write(ArrowSchema::of(&parts.frame));
    }
    0
}

/// Writes the next batch of a stream, or one that is released already at its end.
///
/// # Safety
/// The stream was made here and not released; `out` has room for an array.
unsafe extern "C" fn stream_next(stream: *mut ArrowStream, out: *mut ArrowArray) -> c_int {
    if out.is_null() {
        return INVALID;
    }
    // SAFETY: the caller has a stream that was not released, and memory for an array, which holds nothing yet.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        if parts.is_taken {
            // The end: an array that is released already.
            out.write(std::mem::zeroed());
        } else {
            parts.is_taken = true;
            out.write(ArrowArray::of(&parts.frame));
        }
    }
    0
}

/// No call of a stream fails in a way that has a text.
///
/// # Safety
/// The stream was made here and not released.
unsafe extern "C" fn stream_error(_: *mut ArrowStream) -> *const c_char {
    null()
}

/// Gives back what a stream owns.
///
/// # Safety
/// The stream was made here and not released.
unsafe extern "C" fn release_stream(stream: *mut ArrowStream) {
    // SAFETY: the caller has a stream that was not released; its private data came from `of`.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<StreamParts>()));
    }
}
