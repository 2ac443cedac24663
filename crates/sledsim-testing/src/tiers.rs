//! Sizes of tests: reduced sizes by default, full sizes with `SLEDSIM_TESTS=all`.

use std::sync::LazyLock;

use proptest::prelude::ProptestConfig;

/// Returns true if tests run at full size.
///
/// # Panics
/// `SLEDSIM_TESTS` is set, but not to `all`.
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

/// Returns the size of a test: `quick`, or `full` with `SLEDSIM_TESTS=all`.
pub fn size<T>(quick: T, full: T) -> T {
    if all() {
        full
    } else {
        quick
    }
}

/// Returns the configuration of a property test with a number of random cases, which writes no files.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}
