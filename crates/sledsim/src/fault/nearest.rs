//! Finds the known word that is most similar to a misspelt one.

/// Returns the word of `known` that is most similar to `given`, if one is close enough, starts like it, or ends with it
/// after a dot. Case is ignored. Words that start with the same word may differ more. Words without a common letter are
/// never similar.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (word, letters) = (given.to_lowercase(), given.chars().count());
    let is_near = |name: &str| {
        let apart = distance(given, name);
        let alike = first_word(given).is_some_and(|first| first_word(name) == Some(first));
        let most = if alike { given.len() / 2 } else { 1 + given.len() / 3 };
        apart <= most && apart < letters.max(name.chars().count())
    };
    let holds = |name: &str| {
        let name = name.to_lowercase();
        name.starts_with(&word) || name.strip_suffix(&word).is_some_and(|rest| rest.ends_with('.'))
    };
    most_like(given, known).into_iter().find(|name| is_near(name) || (letters >= 3 && holds(name)))
}

/// Returns the words of `known`, the most similar to `given` first.
#[must_use]
pub fn most_like<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<&str> = known.into_iter().collect();
    words.sort_by_cached_key(|name| distance(given, name));
    words
}

/// Returns the part of a name before its first blank, underscore or hyphen, if it has one.
fn first_word(name: &str) -> Option<&str> {
    name.split_once([' ', '_', '-']).map(|(first, _)| first)
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between two words.
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
        assert_eq!(nearest("seek-time", ["paper.seek-time", "paper.settle"]), Some("paper.seek-time"));
        assert_eq!(nearest("Block number", ["Bus latency", "Block count"]), Some("Block count"));
        assert_eq!(nearest("Bulk number", ["Bus latency", "Block count"]), None);
        assert_eq!(nearest("x", ["a", "b"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("é", ["a"]), None);
        assert_eq!(nearest("A", ["a"]), Some("a"));
        assert_eq!(nearest("ab", ["a", "c"]), Some("a"));
    }
}
