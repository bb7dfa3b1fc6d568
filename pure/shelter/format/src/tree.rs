//! Trees: the entries of a folder, with everything that a restore needs.

use crate::mode::NodeKind;
use crate::text::{base64_bytes, push_json, push_quoted_name, unquoted};
use crate::{FormatError, ObjectId, Timestamp};
use data_encoding::BASE64;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::io::Write;

/// An extended attribute; access control lists are some of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExtendedAttribute {
    /// Its name, with the namespace: `user.origin`.
    pub name: String,
    /// Its value.
    #[serde(with = "base64_bytes", default)]
    pub value: Vec<u8>,
}

/// An entry of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TreeNode {
    /// Its name, any bytes but `/` and zero.
    #[serde(deserialize_with = "quoted_name")]
    pub name: Vec<u8>,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: NodeKind,
    /// Go's `os.FileMode`; see [`crate::unix_mode`].
    #[serde(default)]
    pub mode: u32,
    /// When the contents changed last.
    #[serde(rename = "mtime", default)]
    pub modified: Timestamp,
    /// When it was read last; saves put the time of the last change here, as restic does.
    #[serde(rename = "atime", default)]
    pub accessed: Timestamp,
    /// When contents or attributes changed last.
    #[serde(rename = "ctime", default)]
    pub changed: Timestamp,
    /// The owner.
    #[serde(default)]
    pub uid: u32,
    /// The group.
    #[serde(default)]
    pub gid: u32,
    /// The owner's name, where it is known.
    #[serde(default)]
    pub user: String,
    /// The group's name, where it is known.
    #[serde(default)]
    pub group: String,
    /// The inode on the disk that it was saved from.
    #[serde(default)]
    pub inode: u64,
    /// The device that it was saved from.
    #[serde(default)]
    pub device_id: u64,
    /// The length of the contents.
    #[serde(default)]
    pub size: u64,
    /// How many names the file had.
    #[serde(default)]
    pub links: u64,
    /// Where a symbolic link leads, any bytes.
    #[serde(rename = "linktarget", default, deserialize_with = "text_bytes")]
    pub link_target: Vec<u8>,
    /// How the format carries a link that is not UTF-8: moved into `link_target` when a tree is decoded, otherwise empty.
    #[serde(rename = "linktarget_raw", default, deserialize_with = "base64_bytes::deserialize")]
    pub raw_link_target: Vec<u8>,
    /// Extended attributes, by name.
    #[serde(rename = "extended_attributes", default)]
    pub attributes: Vec<ExtendedAttribute>,
    /// The number of a device file.
    #[serde(default)]
    pub device: u64,
    /// The blobs of a file's contents, in order; `None` for everything else.
    #[serde(default)]
    pub content: Option<Vec<ObjectId>>,
    /// The blob of a folder's entries.
    #[serde(default)]
    pub subtree: Option<ObjectId>,
}

impl TreeNode {
    /// An entry of this kind and name, all else unset.
    #[must_use]
    pub fn new(name: Vec<u8>, kind: NodeKind) -> Self {
        Self { name, kind, ..Self::default() }
    }

    fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"name\":");
        push_quoted_name(out, &self.name);
        // Writing to memory does not fail.
        let _ = write!(out, ",\"type\":\"{}\"", self.kind.word());
        push_number(out, "mode", u64::from(self.mode));
        let _ = write!(
            out,
            ",\"mtime\":\"{}\",\"atime\":\"{}\",\"ctime\":\"{}\",\"uid\":{},\"gid\":{}",
            self.modified, self.accessed, self.changed, self.uid, self.gid
        );
        for (key, text) in [("user", &self.user), ("group", &self.group)] {
            if !text.is_empty() {
                let _ = write!(out, ",\"{key}\":");
                push_json(out, text);
            }
        }
        push_number(out, "inode", self.inode);
        push_number(out, "device_id", self.device_id);
        push_number(out, "size", self.size);
        push_number(out, "links", self.links);
        if !self.link_target.is_empty() {
            out.extend_from_slice(b",\"linktarget\":");
            push_json(out, &String::from_utf8_lossy(&self.link_target));
            if std::str::from_utf8(&self.link_target).is_err() {
                let _ = write!(out, ",\"linktarget_raw\":\"{}\"", BASE64.encode(&self.link_target));
            }
        }
        if !self.attributes.is_empty() {
            out.extend_from_slice(b",\"extended_attributes\":[");
            for (index, attribute) in self.attributes.iter().enumerate() {
                out.extend_from_slice(if index == 0 { b"{\"name\":" } else { b",{\"name\":" });
                push_json(out, &attribute.name);
                let _ = write!(out, ",\"value\":\"{}\"}}", BASE64.encode(&attribute.value));
            }
            out.push(b']');
        }
        push_number(out, "device", self.device);
        match &self.content {
            None => out.extend_from_slice(b",\"content\":null"),
            Some(blobs) => {
                out.extend_from_slice(b",\"content\":[");
                for (index, blob) in blobs.iter().enumerate() {
                    out.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
                    out.extend_from_slice(&blob.hex());
                    out.push(b'"');
                }
                out.push(b']');
            }
        }
        if let Some(subtree) = self.subtree {
            out.extend_from_slice(b",\"subtree\":\"");
            out.extend_from_slice(&subtree.hex());
            out.push(b'"');
        }
        out.push(b'}');
    }

    /// Whether the name can be one component of a path.
    fn is_sound(&self) -> bool {
        let name = self.name.as_slice();
        !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/') && !name.contains(&0)
    }
}

fn push_number(out: &mut Vec<u8>, key: &str, value: u64) {
    if value > 0 {
        let _ = write!(out, ",\"{key}\":{value}");
    }
}

fn quoted_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    unquoted(&text).ok_or_else(|| serde::de::Error::custom("this name is not quoted as Go does"))
}

fn text_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    Ok(Cow::<'de, str>::deserialize(deserializer)?.into_owned().into_bytes())
}

#[derive(Deserialize)]
struct TreeJson {
    nodes: Option<Vec<TreeNode>>,
}

/// The blob of a folder's entries, which stand in the order of their names.
#[must_use]
pub fn encode_tree<'a>(nodes: impl IntoIterator<Item = &'a TreeNode>) -> Vec<u8> {
    let mut out = b"{\"nodes\":[".to_vec();
    for (index, node) in nodes.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        node.push(&mut out);
    }
    out.extend_from_slice(b"]}\n");
    out
}

/// The entries of a folder, each name once and fit for a path.
///
/// # Errors
/// The blob does not make sense, or has names that would lead out of the folder.
pub fn decode_tree(plain: &[u8]) -> Result<Vec<TreeNode>, FormatError> {
    let tree: TreeJson = serde_json::from_slice(plain).map_err(|error| FormatError::json("a tree", &error))?;
    let mut nodes = tree.nodes.unwrap_or_default();
    for node in &mut nodes {
        if !node.is_sound() {
            let name = String::from_utf8_lossy(&node.name).into_owned();
            return Err(FormatError::invalid("a tree", format!("{name:?} is no name of an entry")));
        }
        let raw = std::mem::take(&mut node.raw_link_target);
        if !raw.is_empty() {
            node.link_target = raw;
        }
        if node.link_target.contains(&0) {
            return Err(FormatError::invalid("a tree", "a symbolic link leads to a name with a zero byte"));
        }
    }
    if !nodes.is_sorted_by(|a, b| a.name < b.name) {
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        if !nodes.is_sorted_by(|a, b| a.name < b.name) {
            return Err(FormatError::invalid("a tree", "a name stands there twice"));
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full() -> TreeNode {
        TreeNode {
            mode: 0o755,
            modified: Timestamp::new(1, 2),
            accessed: Timestamp::new(1, 2),
            changed: Timestamp::new(3, 0),
            uid: 1000,
            gid: 1001,
            user: "a<b".to_owned(),
            group: "g".to_owned(),
            inode: 5,
            device_id: 6,
            size: 7,
            links: 2,
            attributes: vec![ExtendedAttribute { name: "user.a".to_owned(), value: vec![0, 255] }],
            device: 9,
            content: Some(vec![ObjectId::of(b"x")]),
            ..TreeNode::new(b"na\"me\xff".to_vec(), NodeKind::File)
        }
    }

    #[test]
    fn everything_about_an_entry_comes_back() {
        let folder =
            TreeNode { subtree: Some(ObjectId::of(b"sub")), ..TreeNode::new(b"folder".to_vec(), NodeKind::Folder) };
        let link = TreeNode { link_target: b"../\xfe".to_vec(), ..TreeNode::new(b"link".to_vec(), NodeKind::Symlink) };
        let nodes = vec![folder, link, full()];
        assert_eq!(decode_tree(&encode_tree(&nodes)), Ok(nodes));
    }

    #[test]
    fn the_text_is_that_of_restic() {
        let node = TreeNode { content: Some(vec![]), ..TreeNode::new(b"a".to_vec(), NodeKind::File) };
        let text = r#"{"nodes":[{"name":"a","type":"file","mtime":"1970-01-01T00:00:00Z","atime":"1970-01-01T00:00:00Z","ctime":"1970-01-01T00:00:00Z","uid":0,"gid":0,"content":[]}]}"#;
        assert_eq!(encode_tree([&node]), format!("{text}\n").into_bytes());
        assert_eq!(decode_tree(b"{\"nodes\":null}"), Ok(vec![]));
    }

    #[test]
    fn names_that_would_lead_elsewhere_are_refused() {
        for name in ["", ".", "..", "a/b", "\\x00", "\\x2f"] {
            let text = format!("{{\"nodes\":[{{\"name\":{},\"type\":\"file\"}}]}}", serde_json::json!(name));
            assert!(decode_tree(text.as_bytes()).is_err(), "{name}");
        }
        let twice = r#"{"nodes":[{"name":"a","type":"file"},{"name":"a","type":"dir"}]}"#;
        assert!(decode_tree(twice.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode_tree(&bytes);
        }
    }
}
