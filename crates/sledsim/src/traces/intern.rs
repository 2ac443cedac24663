//! Numbers for names, such as hosts and files, which some formats have in every record.

use std::collections::HashMap;

use super::error::{excerpt, FieldFault, Parsed};

/// The most names, to bound memory.
const MAX_NAMES: u32 = 65_536;

/// Names numbered in the order of their first appearance.
#[derive(Default)]
pub(super) struct Names {
    numbers: HashMap<Box<[u8]>, u32>,
    /// The last name, which the next record often repeats.
    last: Option<(Box<[u8]>, u32)>,
}

impl Names {
    /// The number of `name`. A new name gets the next number.
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
                if next >= MAX_NAMES {
                    let found = format!("{} as one more", excerpt(name));
                    return Err(FieldFault::new(field, format!("at most {MAX_NAMES} different names"), found));
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
        for index in 0..MAX_NAMES {
            assert_eq!(names.number("host", index.to_string().as_bytes()).unwrap(), index);
        }
        assert_eq!(names.number("host", b"7").unwrap(), 7);
        assert!(names.number("host", b"one more").is_err());
    }
}
