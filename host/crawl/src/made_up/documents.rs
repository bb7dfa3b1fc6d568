//! Made-up documents of every kind, and some that go wrong.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Ends of the names of good documents.
pub(crate) const KINDS: [&str; 7] = ["txt", "md", "1", "pdf", "docx", "xlsx", "pptx"];
/// Names of documents that go wrong.
pub(crate) const BAD: [&str; 5] = ["bomb.docx", "not.docx", "bomb.pdf", "tree.pdf", "huge.pdf"];
/// Numbers of the object that is huge.
const HUGE: usize = 1 << 20;

/// The type that a server states for a name.
pub(crate) fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "txt" => "text/plain",
        "md" => "text/markdown",
        "pdf" => "application/pdf",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        _ => "application/octet-stream",
    }
}

/// A document of a kind; `None`: there is no such kind.
pub(crate) fn document(kind: &str, title: &str, paragraphs: &[&str]) -> Option<Vec<u8>> {
    let joined = paragraphs.join("\n\n");
    Some(match kind {
        "txt" => joined.into_bytes(),
        "md" => format!("# {title}\n\n{joined}\n").into_bytes(),
        "1" => format!(".TH \"{title}\" 1\n.SH NAME\n{}\n", paragraphs.join("\n.PP\n")).into_bytes(),
        "pdf" => pdf(title, paragraphs),
        "docx" | "xlsx" | "pptx" => office(kind, title, paragraphs),
        _ => return None,
    })
}

/// A document that goes wrong; `None`: there is none of that name.
pub(crate) fn bad(name: &str) -> Option<Vec<u8>> {
    Some(match name {
        "bomb.docx" => archive(&[("word/document.xml", vec![b' '; 8 << 20].as_slice())]),
        "not.docx" => b"PK\x03\x04 and nothing else".to_vec(),
        "bomb.pdf" => pdf_bomb(),
        "tree.pdf" => {
            let pages = "<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]>>";
            pdf_of(&["<</Type/Catalog/Pages 2 0 R>>".into(), pages.into()], None)
        }
        "huge.pdf" => {
            let numbers = format!("[{}]", "1 ".repeat(HUGE));
            let pages = "<</Type/Pages/Count 0/Kids[]>>";
            pdf_of(&["<</Type/Catalog/Pages 2 0 R>>".into(), pages.into(), numbers.into()], None)
        }
        _ => return None,
    })
}

fn escaped(text: &str) -> Cow<'_, str> {
    quick_xml::escape::escape(text)
}

/// An archive of these parts.
pub(crate) fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in parts {
        writer.start_file(*name, options).expect("memory takes it");
        writer.write_all(bytes).expect("memory takes it");
    }
    writer.finish().expect("memory takes it").into_inner()
}

/// An Office document of this kind: a paragraph, a row or a slide for each text.
pub(crate) fn office(kind: &str, title: &str, paragraphs: &[&str]) -> Vec<u8> {
    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
    let properties = format!(
        "{HEAD}<cp:coreProperties xmlns:cp=\"cp\" xmlns:dc=\"dc\"><dc:title>{}</dc:title></cp:coreProperties>",
        escaped(title)
    );
    let mut parts: Vec<(String, String)> = vec![("docProps/core.xml".to_owned(), properties)];
    let texts = paragraphs.iter().map(|text| escaped(text));
    match kind {
        "docx" => {
            let mut runs = String::new();
            for text in texts {
                write!(runs, "<w:p><w:r><w:t>{text}</w:t></w:r></w:p>").expect("a text takes more");
            }
            let xml = format!("{HEAD}<w:document xmlns:w=\"w\"><w:body>{runs}</w:body></w:document>");
            parts.push(("word/document.xml".to_owned(), xml));
        }
        "xlsx" => {
            let (mut strings, mut rows) = (String::new(), String::new());
            for (place, text) in texts.enumerate() {
                write!(strings, "<si><t>{text}</t></si>").expect("a text takes more");
                write!(rows, "<row><c t=\"s\"><v>{place}</v></c></row>").expect("a text takes more");
            }
            parts.push(("xl/sharedStrings.xml".to_owned(), format!("{HEAD}<sst>{strings}</sst>")));
            let sheet = format!("{HEAD}<worksheet><sheetData>{rows}</sheetData></worksheet>");
            parts.push(("xl/worksheets/sheet1.xml".to_owned(), sheet));
        }
        _ => {
            for (place, text) in texts.enumerate() {
                let xml = format!("{HEAD}<p:sld xmlns:p=\"p\" xmlns:a=\"a\"><a:p><a:t>{text}</a:t></a:p></p:sld>");
                parts.push((format!("ppt/slides/slide{}.xml", place + 1), xml));
            }
        }
    }
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, xml)| (name.as_str(), xml.as_bytes())).collect();
    archive(&parts)
}

/// A PDF with a page for each text.
pub(crate) fn pdf(title: &str, pages: &[&str]) -> Vec<u8> {
    let literal = |text: &str| {
        let letters = text.chars().map(|letter| if letter.is_ascii() { letter } else { '?' });
        letters.fold(String::from("("), |mut literal, letter| {
            if matches!(letter, '(' | ')' | '\\') {
                literal.push('\\');
            }
            literal.push(letter);
            literal
        }) + ")"
    };
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 5 + 2 * page)).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        "<</Type/Catalog/Pages 2 0 R>>".into(),
        format!("<</Type/Pages/Count {}/Kids[{}]>>", pages.len(), kids.join(" ")).into(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".into(),
        format!("<</Title {}>>", literal(title)).into(),
    ];
    for (page, text) in pages.iter().enumerate() {
        let contents = 6 + 2 * page;
        objects.push(
            format!("<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 3 0 R>>>>/Contents {contents} 0 R>>").into(),
        );
        let show = format!("BT /F1 12 Tf 72 720 Td {} Tj ET", literal(text));
        objects.push(format!("<</Length {}>>\nstream\n{show}\nendstream", show.len()).into());
    }
    pdf_of(&objects, Some(4))
}

/// A PDF whose page becomes 96 MiB when it is decompressed.
pub(crate) fn pdf_bomb() -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..96 {
        encoder.write_all(&blanks).expect("memory takes it");
    }
    let packed = encoder.finish().expect("memory takes it");
    let mut contents = format!("<</Filter/FlateDecode/Length {}>>\nstream\n", packed.len()).into_bytes();
    contents.extend_from_slice(&packed);
    contents.extend_from_slice(b"\nendstream");
    let objects: [Vec<u8>; 4] = [
        "<</Type/Catalog/Pages 2 0 R>>".into(),
        "<</Type/Pages/Count 1/Kids[3 0 R]>>".into(),
        "<</Type/Page/Parent 2 0 R/Contents 4 0 R>>".into(),
        contents,
    ];
    pdf_of(&objects, None)
}

/// A PDF of these objects, the first of them the catalog. `info` numbers the one with its title.
pub(crate) fn pdf_of(objects: &[Vec<u8>], info: Option<usize>) -> Vec<u8> {
    let mut whole = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (place, object) in objects.iter().enumerate() {
        places.push(whole.len());
        whole.extend_from_slice(format!("{} 0 obj\n", place + 1).as_bytes());
        whole.extend_from_slice(object);
        whole.extend_from_slice(b"\nendobj\n");
    }
    let table = whole.len();
    let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        writeln!(end, "{place:010} 00000 n ").expect("a text takes more");
    }
    let info = info.map(|number| format!("/Info {number} 0 R")).unwrap_or_default();
    write!(end, "trailer\n<</Size {}/Root 1 0 R{info}>>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1)
        .expect("a text takes more");
    whole.extend_from_slice(end.as_bytes());
    whole
}
