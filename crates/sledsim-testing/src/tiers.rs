//! How much the tests do: each behaviour once at a size that finds every planted bug, or, with `SLEDSIM_TESTS=all`, at the sizes
//! that published statements rest on.

use std::sync::LazyLock;

use proptest::prelude::ProptestConfig;

/// Whether the tests do all they can.
///
/// # Panics
/// If `SLEDSIM_TESTS` is something other than `all`.
pub fn all() -> bool {
    static ALL: LazyLock<bool> = LazyLock::new(|| match std::env::var("SLEDSIM_TESTS") {
        Ok(value) => {
            assert_eq!(value, "all", "SLEDSIM_TESTS is all, or not set");
            true
        }
        Err(_) => false,
    });
    *ALL
}

/// How many of something: a few, or so many where the tests do all they can.
pub fn size<T>(few: T, many: T) -> T {
    if all() {
        many
    } else {
        few
    }
}

/// A property test with so many random cases, which leaves nothing behind on the disk.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}
