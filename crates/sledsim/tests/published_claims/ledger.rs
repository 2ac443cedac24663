//! The claims, what we find, and the verdict.

use std::collections::BTreeMap;

use toml::Value;

use crate::common::reference;

/// A claim of a paper.
#[derive(Clone, Debug)]
pub struct Claim {
    pub kind: String,
    pub unit: String,
    pub data: String,
    fields: Value,
}

/// What we find.
#[derive(Clone, Debug)]
pub enum Ours {
    /// Figures, and the decimals worth printing.
    Figures(Vec<f64>, usize),
    /// Best first.
    Order(Vec<&'static str>),
    /// `+`, `-`, `~`, or `?` for none of them.
    Trend(char),
}

/// What we find for a claim.
#[derive(Clone, Debug)]
pub struct Finding {
    pub id: &'static str,
    pub ours: Ours,
}

/// One figure.
pub fn figure(id: &'static str, ours: f64, decimals: usize) -> Finding {
    Finding { id, ours: Ours::Figures(vec![ours], decimals) }
}

/// Claims of a paper by their id; `None` without the reference data.
pub fn claims(paper: &str) -> Option<BTreeMap<String, Claim>> {
    let path = reference(&format!("claims/{paper}.toml"))?;
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let document: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text_of = |claim: &Value, key: &str| claim.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = document["claim"].as_array().expect("a list of claims");
    Some(
        list.iter()
            .map(|claim| {
                let [kind, unit, data] = ["kind", "unit", "data"].map(|key| text_of(claim, key));
                (text_of(claim, "id"), Claim { kind, unit, data, fields: claim.clone() })
            })
            .collect(),
    )
}

fn number(value: &Value) -> f64 {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).expect("a number")
}

impl Claim {
    fn numbers(&self, key: &str) -> Vec<f64> {
        match &self.fields[key] {
            Value::Array(list) => list.iter().map(number).collect(),
            one => vec![number(one)],
        }
    }

    /// The claim as the document shows it.
    pub fn shown(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind.as_str() {
            "value" => {
                let figures: Vec<String> = self.numbers("published").iter().map(f64::to_string).collect();
                format!("{}{unit} ± {} %", figures.join(", "), number(&self.fields["tol"]) * 100.0)
            }
            "range" => format!("{} to {}{unit}", number(&self.fields["low"]), number(&self.fields["high"])),
            "order" => self.order().join(", "),
            _ => self.fields["published"].as_str().expect("a trend").to_owned(),
        }
    }

    fn order(&self) -> Vec<String> {
        let list = self.fields["published"].as_array().expect("an order");
        list.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
    }

    /// `reproduced` or `differs`.
    pub fn verdict(&self, ours: &Ours) -> &'static str {
        let holds = match (self.kind.as_str(), ours) {
            ("value", Ours::Figures(figures, _)) => {
                let (published, tolerance) = (self.numbers("published"), number(&self.fields["tol"]));
                assert_eq!(published.len(), figures.len());
                figures.iter().zip(&published).all(|(ours, published)| (ours / published - 1.0).abs() <= tolerance)
            }
            ("range", Ours::Figures(figures, _)) => {
                let allowed = number(&self.fields["low"])..=number(&self.fields["high"]);
                figures.iter().all(|ours| allowed.contains(ours))
            }
            ("order", Ours::Order(names)) => self.order() == *names,
            ("trend", Ours::Trend(sign)) => self.fields["published"].as_str() == Some(sign.to_string().as_str()),
            (kind, ours) => panic!("a claim of kind {kind} can't be compared with {ours:?}"),
        };
        if holds {
            "reproduced"
        } else {
            "differs"
        }
    }
}

impl Ours {
    /// What we find as the document shows it.
    pub fn shown(&self) -> String {
        match self {
            Self::Figures(figures, decimals) => {
                let figures: Vec<String> = figures.iter().map(|figure| format!("{figure:.decimals$}")).collect();
                figures.join(", ")
            }
            Self::Order(names) => names.join(", "),
            Self::Trend(sign) => sign.to_string(),
        }
    }
}
