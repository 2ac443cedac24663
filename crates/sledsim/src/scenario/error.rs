//! What is wrong with a scenario, and where.

/// A scenario that can't be used. The message names the file, the key, the value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {message}")]
pub struct ScenarioError {
    /// The file, or what stands for it.
    pub source_name: String,
    /// The rest.
    pub message: String,
}

impl ScenarioError {
    /// An error in `source_name`.
    pub fn new(source_name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { source_name: source_name.into(), message: message.into() }
    }
}

/// The names in `known` that a reader may have meant by `given`, as a hint to end an error message with.
#[must_use]
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known.iter().min_by_key(|name| edit_distance(given, name));
    match nearest {
        Some(name) if edit_distance(given, name) <= 1 + given.len() / 3 => {
            format!("did you mean {name:?}? (known: {})", known.join(", "))
        }
        _ => format!("known: {}", known.join(", ")),
    }
}

/// Number of insertions, deletions, replacements and swaps of neighbours between two words (upper and lower case alike).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_are_suggested() {
        assert_eq!(edit_distance("spft", "sptf"), 1);
        assert!(did_you_mean("sptff", ["fcfs", "sptf"]).starts_with("did you mean \"sptf\"?"));
        assert_eq!(did_you_mean("raid", ["fcfs", "sptf"]), "known: fcfs, sptf");
    }
}
