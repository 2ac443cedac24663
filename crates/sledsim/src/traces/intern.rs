//! Numbers for names: the hosts and files that some formats write out in every record.

use std::collections::HashMap;

use super::error::{excerpt, FieldFault, Parsed};

/// Names told apart before a trace counts as damaged; bounds the memory.
const MOST_NAMES: u32 = 65_536;

/// Names numbered in the order of their first appearance.
#[derive(Default)]
pub(super) struct Names {
    numbers: HashMap<Box<[u8]>, u32>,
    /// The name asked for last: traces tend to repeat it.
    last: Option<(Box<[u8]>, u32)>,
}

impl Names {
    /// The number of `name`.
    pub fn number(&mut self, field: &'static str, name: &[u8]) -> Parsed<u32> {
        if let Some((last, number)) = &self.last {
            if **last == *name {
                return Ok(*number);
            }
        }
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
                if next >= MOST_NAMES {
                    let found = format!("{} as another", excerpt(name));
                    return Err(FieldFault::new(field, format!("at most {MOST_NAMES} different names"), found));
                }
                self.numbers.insert(name.into(), next);
                next
            }
        };
        self.last = Some((name.into(), number));
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_are_bounded() {
        let mut names = Names::default();
        for index in 0..MOST_NAMES {
            assert_eq!(names.number("host", index.to_string().as_bytes()).unwrap(), index);
        }
        assert_eq!(names.number("host", b"7").unwrap(), 7);
        assert!(names.number("host", b"one more").is_err());
    }
}
