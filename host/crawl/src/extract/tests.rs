//! Contents made to break what reads them: nested as deep as they are long, and larger than they say.

use super::served::serve_with;
use super::{DocumentReader, PageText, ReaderCommand, office, page_text, pdf_reader};
use crate::item::{ContentKind, ItemFailure};
use crate::made_up::documents::{archive, document, pdf_of};
use flate2::{Compress, Compression, FlushCompress};
use loadline_pipeline::CrawlCaps;
use loadline_units::Bytes;
use std::ffi::OsString;
use std::hint::black_box;

/// How deep.
const DEEP: usize = 100_000;
/// The stack of a thread, as small as one that reads may be.
const STACK: usize = 512 << 10;
/// Bytes of a part that is one block again and again.
const BLOCK: usize = 1 << 20;

/// What opens and what closes, again and again, after a beginning.
const BRACKETS: [(&str, &str, &str); 21] = [
    ("", "<a>", "</a>"),
    ("", "<a b=\"c\">", "</a>"),
    ("", "<svg>", "</svg>"),
    ("", "<template><p>", "</p></template>"),
    ("", "<title>", "</title>"),
    ("", "<table><tr><td>", ""),
    ("<p ", "a=", ""),
    ("<p ", "a=\"", "\""),
    ("", "<!--", "-->"),
    ("", "<![CDATA[", "]]>"),
    ("<!DOCTYPE a [", "<!ENTITY a \"&a;\">", "]>"),
    ("<!DOCTYPE a ", "[", "]"),
    ("", "<", ">"),
    ("", "</", ">"),
    ("", "<?a ", "?>"),
    ("", "&amp", ";"),
    ("", "&#x", ";"),
    ("<w:document>", "<w:p><w:r><w:t>x", "</w:t></w:r></w:p>"),
    ("<row>", "<c><v>1", "</v></c>"),
    ("", "<mc:Fallback>", "</mc:Fallback>"),
    (".TH ", "\\f[", "]"),
];

/// Each text whole, and cut off where it is deepest.
fn texts() -> impl Iterator<Item = String> {
    BRACKETS.into_iter().flat_map(|(lead, open, close)| {
        let cut = format!("{lead}{}", open.repeat(DEEP));
        [format!("{cut}end{}", close.repeat(DEEP)), cut]
    })
}

fn on_a_small_stack(read: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(read).unwrap().join().unwrap();
}

#[test]
fn no_nesting_of_a_page_is_too_deep_for_a_small_stack() {
    on_a_small_stack(|| {
        let caps = CrawlCaps::default();
        for text in texts() {
            // What ends the program has been named last.
            println!("{} ... of {} bytes", &text[..text.len().min(40)], text.len());
            for kind in [ContentKind::Html, ContentKind::Man, ContentKind::Text] {
                let page = page_text(kind, text.as_bytes(), None, &caps);
                assert!(page.text.len() as u64 <= caps.text.get() && page.links.len() <= caps.links as usize);
            }
            for part in
                ["word/document.xml", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "ppt/slides/slide1.xml"]
            {
                let parts = [(part, text.as_bytes()), ("docProps/core.xml", text.as_bytes())];
                let _ = black_box(office::of_office(&archive(&parts), &caps));
            }
        }
    });
}

/// PDFs whose objects are nested.
fn nested_pdfs() -> Vec<(&'static str, Vec<u8>)> {
    let object = |open: &str, close: &str| format!("{}{}", open.repeat(DEEP), close.repeat(DEEP)).into_bytes();
    let catalog = || b"<</Type/Catalog/Pages 2 0 R>>".to_vec();
    let with = |pages: Vec<u8>, more: Vec<u8>| pdf_of(&[catalog(), pages, more], None);
    let no_pages = || b"<</Type/Pages/Count 1/Kids[3 0 R]>>".to_vec();
    let contents = |text: Vec<u8>| {
        let page = b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>".to_vec();
        let mut stream = format!("<</Length {}>>\nstream\n", text.len()).into_bytes();
        stream.extend_from_slice(&text);
        stream.extend_from_slice(b"\nendstream");
        pdf_of(&[catalog(), no_pages(), page, stream], None)
    };
    // A tree of pages as deep as it has objects, and one that refers to itself.
    let deep_tree = || {
        let mut objects = vec![catalog()];
        objects.extend((0..DEEP).map(|at| format!("<</Type/Pages/Count 1/Kids[{} 0 R]>>", at + 3).into_bytes()));
        objects.push(b"<</Type/Page>>".to_vec());
        pdf_of(&objects, None)
    };
    vec![
        ("arrays", with(no_pages(), object("[", "]"))),
        ("dictionaries", with(no_pages(), object("<</A ", ">>"))),
        ("literals", with(no_pages(), object("(", ")"))),
        ("arrays of pages", with(format!("<</Type/Pages/Count 1/Kids{}>>", "[".repeat(DEEP)).into_bytes(), vec![])),
        ("arrays in contents", contents(object("[", "]"))),
        ("literals in contents", contents(object("(", ") Tj"))),
        ("dictionaries in contents", contents(object("/A <</B ", ">> BDC"))),
        ("images in contents", contents(object("BI /A [", "] ID x EI"))),
        ("a tree", deep_tree()),
        ("a tree of itself", with(b"<</Type/Pages/Count 1/Kids[2 0 R 2 0 R]>>".to_vec(), vec![])),
        ("references", with(no_pages(), b"3 0 R".to_vec())),
    ]
}

/// The process that reads documents, as the command starts it.
#[test]
#[ignore = "the tests below start it"]
fn a_reader_of_documents() {
    serve_with(&|kind, body, caps| match kind {
        ContentKind::Pdf => pdf_reader::of_pdf(body, caps),
        _ => office::of_office(body, caps),
    })
    .unwrap();
}

fn reader(caps: CrawlCaps) -> DocumentReader {
    let name = "extract::tests::a_reader_of_documents";
    let arguments = ["--exact", name, "--ignored", "--test-threads=1"].map(OsString::from).to_vec();
    DocumentReader::new(Some(ReaderCommand { program: std::env::current_exe().unwrap(), arguments }), caps)
}

/// What comes of a document; the one after it is read whatever that was.
fn read(reader: &mut DocumentReader, kind: ContentKind, body: &[u8]) -> Result<PageText, ItemFailure> {
    let page = reader.read(kind, body).0;
    let next = reader.read(ContentKind::Office, &document("docx", "title", &["words"]).unwrap()).0.unwrap();
    assert_eq!(next.text, "words");
    page
}

#[test]
fn a_nested_document_costs_itself_alone() {
    let mut reader = reader(CrawlCaps::default());
    for (name, body) in nested_pdfs() {
        let page = read(&mut reader, ContentKind::Pdf, &body);
        println!("{name}: {page:?}");
        assert!(page.is_err_and(|failure| !failure.reason.is_empty()) || cfg!(feature = "pdf"), "{name}");
    }
    for text in texts() {
        let _ = black_box(read(&mut reader, ContentKind::Office, &archive(&[("word/document.xml", text.as_bytes())])));
    }
}

/// Blocks of a document that has many.
const BLOCKS: usize = 256;

/// An archive whose only part becomes so many blocks of blanks, and says that it has `said` bytes.
fn bomb(blocks: usize, said: u32) -> Vec<u8> {
    let blanks = vec![b' '; BLOCK];
    let mut packed = Vec::new();
    let block = |flush: FlushCompress, of: &mut Compress, from: &[u8]| {
        let mut out = Vec::with_capacity(BLOCK);
        of.compress_vec(from, &mut out, flush).unwrap();
        out
    };
    let mut compress = Compress::new(Compression::best(), false);
    // A block that refers to nothing before it can stand there as often as one likes.
    let one = block(FlushCompress::Full, &mut compress, &blanks);
    let last = block(FlushCompress::Finish, &mut Compress::new(Compression::best(), false), b"");
    for _ in 0..blocks {
        packed.extend_from_slice(&one);
    }
    packed.extend_from_slice(&last);
    let name = b"word/document.xml";
    // The fields that both headers have: version, flags, deflated, time, date, checksum, sizes, length of the name, no more.
    let mut fields = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    fields.extend_from_slice(&(packed.len() as u32).to_le_bytes());
    fields.extend_from_slice(&said.to_le_bytes());
    fields.extend_from_slice(&(name.len() as u16).to_le_bytes());
    fields.extend_from_slice(&[0, 0]);
    let mut whole = [b"PK\x03\x04", fields.as_slice(), name, packed.as_slice()].concat();
    let directory = whole.len() as u32;
    let entry = [b"PK\x01\x02\x14\0", fields.as_slice(), &[0; 14], name].concat();
    whole.extend_from_slice(&entry);
    whole.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    whole.extend_from_slice(&(entry.len() as u32).to_le_bytes());
    whole.extend_from_slice(&directory.to_le_bytes());
    whole.extend_from_slice(&[0, 0]);
    whole
}

#[test]
fn a_document_that_grows_without_end_costs_itself_alone() {
    let of =
        |caps: CrawlCaps, body: &[u8]| read(&mut reader(caps), ContentKind::Office, body).map(|page| page.text.len());
    let caps = CrawlCaps { inflated: Bytes::mib(8), ..CrawlCaps::default() };
    // What it says of its size is believed by nobody.
    assert!(!of(caps, &bomb(BLOCKS, 100)).unwrap_err().reason.is_empty());
    let body = bomb(BLOCKS, u32::MAX - 1);
    assert_eq!(of(caps, &body).unwrap_err().reason, "larger than caps.inflated when it is decompressed");
    let caps = CrawlCaps { inflated: Bytes::gib(16), ratio: 10, ..caps };
    assert_eq!(of(caps, &body).unwrap_err().reason, "larger than caps.ratio when it is decompressed");
    // The archive itself is sound: with few blocks it is read.
    assert!(of(CrawlCaps { ratio: u32::MAX, ..CrawlCaps::default() }, &bomb(4, 4 << 20)).is_ok());
}
