//! dev only
use sledsim::scenario::*;
use std::io::BufRead;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "schema" {
        println!("{}", serde_json::json!([user_schema(), document_schema()]));
        return;
    }
    // each line: JSON {text, format, sets}
    let catalog = Catalog::new(vec![args[2].clone().into()]);
    let stdin = std::io::stdin();
    for line in stdin.lock().lines() {
        let v: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let sets: Vec<String> = serde_json::from_value(v["sets"].clone()).unwrap();
        let notation = Notation::named(v["format"].as_str().unwrap()).unwrap();
        let out = Draft::read(v["text"].as_str().unwrap(), notation, "doc", std::path::Path::new("."))
            .map_err(sledsim::fault::Faults::from)
            .and_then(|d| d.set(&sets).resolve(&catalog, std::path::Path::new(".")));
        match out {
            Ok(r) => println!(
                "{}",
                serde_json::json!(["ok", canonical(serde_json::to_value(r.scenario()).unwrap()), r.citations()])
            ),
            Err(f) => println!("{}", serde_json::json!(["bad", f.to_string()])),
        }
    }
}
