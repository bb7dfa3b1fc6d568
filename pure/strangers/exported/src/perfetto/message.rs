//! Protocol buffers as bytes: the three kinds of fields that Perfetto's messages here are made of.

/// A message that is being written.
#[derive(Debug, Default, Clone)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

impl Message {
    fn tag(&mut self, field: u32, kind: u32) {
        push_varint(&mut self.bytes, u64::from(field << 3 | kind));
    }
    /// A whole number, or one of an enumeration.
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.tag(field, VARINT);
        push_varint(&mut self.bytes, value);
        self
    }
    /// Eight bytes that stand for themselves.
    pub(super) fn fixed(mut self, field: u32, value: u64) -> Self {
        self.tag(field, FIXED64);
        self.bytes.extend(value.to_le_bytes());
        self
    }
    /// A figure with a fraction.
    pub(super) fn real(self, field: u32, value: f64) -> Self {
        self.fixed(field, value.to_bits())
    }
    /// A text.
    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.length_and(field, text.as_bytes())
    }
    /// A message within it.
    pub(super) fn message(self, field: u32, inner: &Self) -> Self {
        self.length_and(field, &inner.bytes)
    }
    fn length_and(mut self, field: u32, bytes: &[u8]) -> Self {
        self.tag(field, LENGTH);
        push_varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend(bytes);
        self
    }
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
