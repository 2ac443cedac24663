//! The word that was perhaps meant.

/// The word of `known` that a reader may have meant by `given`, if one is near or begins like it: upper and lower case alike.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let begins = |name: &str| given.len() >= 3 && name.to_lowercase().starts_with(&given.to_lowercase());
    most_like(given, known).into_iter().find(|name| distance(given, name) <= 1 + given.len() / 3 || begins(name))
}

/// The words of `known`, those most like `given` first.
#[must_use]
pub fn most_like<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<&str> = known.into_iter().collect();
    words.sort_by_cached_key(|name| distance(given, name));
    words
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(one: &str, other: &str) -> usize {
    strsim::osa_distance(&one.to_lowercase(), &other.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_names_are_suggested() {
        assert_eq!(nearest("sptff", ["fcfs", "sptf"]), Some("sptf"));
        assert_eq!(nearest("spft", ["fcfs", "sptf"]), Some("sptf"));
        assert_eq!(nearest("raid", ["fcfs", "sptf"]), None);
        assert_eq!(nearest("raid", []), None);
        assert_eq!(nearest("snake", ["cello-like", "snake-like"]), Some("snake-like"));
    }
}
