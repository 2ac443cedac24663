//! The word that was perhaps meant.

/// The word of `known` that a reader may have meant by `given`, if one is near: upper and lower case alike.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = given.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&lower, &name.to_lowercase());
    let (found, name) = known.into_iter().map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance)?;
    (found <= 1 + given.len() / 3).then_some(name)
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
    }
}
