//! Contents made to break what reads them: nested as deep as they are long.

use super::served::serve_with;
use super::{DocumentReader, PageText, ReaderCommand, office, page_text, pdf_reader};
use crate::item::{ContentKind, ItemFailure};
use crate::made_up::documents::{archive, document, pdf_of};
use loadline_pipeline::CrawlCaps;
use std::ffi::OsString;
use std::hint::black_box;

/// How deep.
const DEEP: usize = 100_000;
/// The stack of a thread, as small as one that reads may be.
const STACK: usize = 512 << 10;

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
