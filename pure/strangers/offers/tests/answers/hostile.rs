//! What is refused, and why: files that are broken, of other forms, or made to do harm.

use crate::{AZURE_MACHINES, OFFER, TODAY, answer, candidates};
use loadline_catalog::LeftOut;
use loadline_offers::{AmountError, AnswerError, billionths, read};
use std::io::Read;

#[test]
fn amounts_are_exact_and_rounded_at_the_tenth_place() {
    let good = [
        ("0.0000000590", 59),
        ("0.096", 96_000_000),
        ("12", 12_000_000_000),
        ("5E-06", 5_000),
        ("8e-06", 8_000),
        ("1.5e1", 15_000_000_000),
        ("0.0000000005", 1),
        ("0.0000000004", 0),
        ("0", 0),
        ("-0.00", 0),
        ("0.1234567894999999999999999999999999999999", 123_456_789),
        (" 0.1 ", 100_000_000),
    ];
    for (text, amount) in good {
        assert_eq!(billionths(text), Ok(amount), "{text}");
    }
    for (text, error) in [
        ("NaN", AmountError::NotANumber),
        ("inf", AmountError::NotANumber),
        ("0,5", AmountError::NotANumber),
        ("1.", AmountError::NotANumber),
        (".5", AmountError::NotANumber),
        ("", AmountError::NotANumber),
        ("0x10", AmountError::NotANumber),
        ("1e99999", AmountError::NotANumber),
        ("1e308", AmountError::TooLarge),
        ("99999999999999999999", AmountError::TooLarge),
        ("-0.1", AmountError::Negative),
    ] {
        assert_eq!(billionths(text), Err(error), "{text}");
    }
    assert_eq!(billionths(&"1".repeat(101)), Err(AmountError::NotANumber));
}

#[test]
fn a_price_that_is_none_is_refused_with_its_name() {
    for bad in ["NaN", "-0.23", "1e308", "0,23"] {
        let error = answer(&OFFER.replace("0.2300000000", bad)).unwrap_err();
        assert!(
            matches!(&error, AnswerError::Amount { name, text, .. } if name == "m5.xlarge" && text == bad),
            "{error}"
        );
    }
    let error = answer(&AZURE_MACHINES.replace("\"retailPrice\":0.0944", "\"retailPrice\":-0.0944")).unwrap_err();
    assert!(matches!(&error, AnswerError::Amount { name, .. } if name == "b2ms"), "{error}");
}

#[test]
fn an_unknown_unit_is_refused() {
    let error = answer(&OFFER.replace("\"GiBps-mo\"", "\"MBps-mo\"")).unwrap_err();
    assert!(matches!(&error, AnswerError::Unit { unit, .. } if unit == "MBps-mo"), "{error}");
    let error = answer(&AZURE_MACHINES.replace("\"1 Hour\"", "\"100 Hours\"")).unwrap_err();
    assert!(matches!(&error, AnswerError::Unit { unit, .. } if unit == "100 Hours"), "{error}");
}

#[test]
fn terms_before_products_are_refused_with_the_reason() {
    let (products, terms) = (OFFER.find("\"products\"").unwrap(), OFFER.find("\"terms\"").unwrap());
    let end = OFFER.rfind(",\n\"attributesList\"").or_else(|| OFFER.rfind("\"attributesList\"")).unwrap();
    let text = format!(
        "{}{},{}\"x\": 1}}",
        &OFFER[..products],
        OFFER[terms..end].trim_end().trim_end_matches(','),
        &OFFER[products..terms]
    );
    let error = answer(&text).unwrap_err();
    assert!(matches!(error, AnswerError::TermsFirst), "{error}");
}

#[test]
fn reservations_are_not_read() {
    // After the prices on demand the file may be anything.
    let end = OFFER.find("\"Reserved\"").unwrap();
    let text = format!("{}\"Reserved\": nothing that is JSON", &OFFER[..end]);
    assert_eq!(answer(&text).unwrap(), answer(OFFER).unwrap());
}

#[test]
fn a_cut_file_is_refused_wherever_it_is_cut() {
    let end = OFFER.find("\"Reserved\"").unwrap() - 2;
    for cut in (1..end).step_by(97) {
        assert!(read(&OFFER.as_bytes()[..cut], TODAY).is_err(), "cut after {cut} bytes");
    }
    for cut in (1..AZURE_MACHINES.len() - 2).step_by(997) {
        assert!(read(&AZURE_MACHINES.as_bytes()[..cut], TODAY).is_err(), "cut after {cut} bytes");
    }
}

#[test]
fn a_product_that_is_there_twice_is_refused() {
    let row = OFFER.lines().find(|line| line.contains("\"M2\"")).unwrap();
    let error = answer(&OFFER.replacen(row, &format!("{row}\n{row}"), 1)).unwrap_err();
    assert!(matches!(&error, AnswerError::Twice { sku } if sku == "M2"), "{error}");
}

#[test]
fn a_price_that_begins_tomorrow_does_not_count_yet() {
    let found = answer(&OFFER.replace("2026-11-01T", "2026-11-29T")).unwrap();
    assert_eq!(found.left_out[&LeftOut::NotYet], 14);
    assert!(found.quotes.is_empty());
}

#[test]
fn other_files_are_told_by_their_content() {
    let error = |text: &str| answer(text).unwrap_err();
    assert!(matches!(error(""), AnswerError::Empty));
    assert!(matches!(error(" \n"), AnswerError::Empty));
    assert!(matches!(error("<html>"), AnswerError::Unknown { begins } if begins == "<html>"));
    assert!(matches!(error("about:\n  copyright: x\n"), AnswerError::Yaml));
    assert!(matches!(error("{}"), AnswerError::NoPrices));
    assert!(matches!(error("[]"), AnswerError::NoPrices));
    let index = r#"{"formatVersion":"v1.0","regions":{"eu-central-1":{"regionCode":"eu-central-1","currentVersionUrl":"/offers/x"}}}"#;
    assert!(matches!(error(index), AnswerError::Index));
    assert!(matches!(error(r#"{"offerCode":"AmazonRDS"}"#), AnswerError::OtherOffer { offer } if offer == "AmazonRDS"));
    assert!(
        matches!(error(r#"{"manifest":{"serviceId":"rds"}}"#), AnswerError::OtherOffer { offer } if offer == "rds")
    );
    let denied = r#"{"error":{"code":403,"message":"The request is\u001b[31m missing a valid API key.","status":"PERMISSION_DENIED"}}"#;
    assert!(
        matches!(error(denied), AnswerError::Refused { message } if message == "The request is[31m missing a valid API key.")
    );
    assert!(matches!(error("\"FormatVersion\",\"v1.0\"\n"), AnswerError::Line { .. }));
    assert!(
        matches!(error("\"FormatVersion\",\"v1.0\n"), AnswerError::Line { problem, .. } if problem.contains("quoted"))
    );
}

#[test]
fn depth_does_not_end_the_process() {
    assert!(answer(&"[".repeat(10_000)).is_err());
    assert!(answer(&format!("{{\"x\":{}", "[".repeat(10_000))).is_err());
}

#[test]
fn a_text_of_a_gibibyte_is_refused_before_it_is_kept() {
    for opening in ["{\"Items\":[{\"meterName\":\"", "{\"Items\":[{\"retailPrice\":1"] {
        let text = opening.as_bytes().chain(std::io::repeat(b'1').take(1 << 30));
        let error = read(std::io::BufReader::new(text), TODAY).unwrap_err();
        assert!(error.to_string().contains("longer than 64 KiB"), "{error}");
    }
}

#[test]
fn names_that_would_be_folders_or_escape_codes_are_left_out() {
    for bad in ["../..", "eu central", "\\u001b[31m", "eu\\nx", "/etc", ""] {
        let text = AZURE_MACHINES.replace("\"francecentral\"", &format!("\"{bad}\""));
        assert!(candidates(&[&text]).is_empty(), "{bad:?}");
    }
    let text = OFFER.replace("\"m5.large\"", "\"m5\\nlarge\"");
    assert!(!answer(&text).unwrap().quotes.iter().any(|quote| format!("{:?}", quote.item).contains("m5\\nlarge")));
}

#[test]
fn rows_may_come_in_any_order_and_twice() {
    let text = AZURE_MACHINES;
    let begin = text.find("[{").unwrap() + 1;
    let end = text.rfind("}]").unwrap() + 1;
    let rows: Vec<&str> = text[begin..end].split(",\n").collect();
    let whole = candidates(&[text]);
    // Every third first, and all of them once more.
    let mut order: Vec<&str> = (0..3).flat_map(|first| rows.iter().copied().skip(first).step_by(3)).collect();
    order.extend(rows.iter().rev());
    let mixed = format!("{{\"Items\":[{}]}}", order.join(","));
    assert_eq!(candidates(&[&mixed])[0].list.prices, whole[0].list.prices);
}
