//! Whole numbers on the command line.

use std::ops::RangeInclusive;

/// Reads a whole number in `range`, all of which is in `T`. The error names both ends.
pub(super) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse::<u64>().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            match *most >= u64::from(u32::MAX) {
                true => format!("expected a whole number of at least {least}"),
                false => format!("expected a whole number from {least} to {most}"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_number_is_whole_and_in_its_range() {
        let number = whole::<u16>(1..=16);
        assert_eq!(number("1"), Ok(1));
        assert_eq!(number("16"), Ok(16));
        for wrong in ["0", "17", "-1", "1.5", "inf", "", "99999999999999999999"] {
            assert_eq!(number(wrong).unwrap_err(), "expected a whole number from 1 to 16");
        }
        assert_eq!(
            whole::<u64>(1..=u64::MAX)("x").unwrap_err(),
            "expected a whole number of at least 1"
        );
        assert_eq!(
            whole::<u32>(0..=u64::from(u32::MAX))("4294967296").unwrap_err(),
            "expected a whole number of at least 0"
        );
    }
}
