//! Claims of two papers that follow from published parameters alone: computed, and compared with what docs/validation.md says.
//!
//! `cargo test --test published_claims -- --nocapture` prints the tables and the curves behind them.

#[path = "../common/mod.rs"]
mod common;
mod experiments;
mod ledger;
#[path = "../scenario_runs/mod.rs"]
mod scenario_runs;
mod schlosser2000;
mod schlosser2000_energy;
mod schlosser2004;

use ledger::{claims, Finding};

/// Computes a paper's findings; each must have the verdict that is expected, and stand in docs/validation.md as it is.
fn check(paper: &str, findings: fn() -> Vec<Finding>, differing: &[&str]) {
    let Some(claims) = claims(paper) else { return };
    let findings = findings();
    let mut rows = Vec::new();
    for finding in &findings {
        let claim = claims.get(finding.id).unwrap_or_else(|| panic!("{paper} has no claim {}", finding.id));
        let verdict = claim.verdict(&finding.ours);
        rows.push(vec![finding.id.to_owned(), claim.shown(), finding.ours.shown(), verdict.to_owned()]);
    }
    let table: Vec<String> = rows.iter().map(|cells| format!("| {} |", cells.join(" | "))).collect();
    println!("{}", table.join("\n"));
    for (id, claim) in claims.iter().filter(|(_, claim)| claim.data == "model") {
        let found = findings.iter().any(|finding| finding.id == id);
        assert!(found, "{paper}.{id} ({}) has no finding", claim.kind);
    }
    let differ: Vec<&str> = rows.iter().filter(|row| row[3] == "differs").map(|row| row[0].as_str()).collect();
    assert_eq!(differ, differing, "claims of {paper} that differ");
    let documented = scenario_runs::documented(paper);
    let figures: Vec<Vec<String>> = documented.iter().map(|cells| cells[..4].to_vec()).collect();
    assert_eq!(figures, rows, "\n{}\n", table.join("\n"));
    for cells in documented.iter().filter(|cells| claims[&cells[0]].data == "stand-in") {
        assert!(cells[4].contains("stand-in"), "{paper}.{} is made with a stand-in, and does not say so", cells[0]);
    }
}

#[test]
fn schlosser2000() {
    check("schlosser2000", schlosser2000::findings, &["rewrite-turnaround", "superdisk-speedup", "energy-netscape"]);
}

#[test]
fn schlosser2004() {
    check("schlosser2004", schlosser2004::findings, &["g2-access"]);
}
