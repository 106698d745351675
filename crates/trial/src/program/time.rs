use crate::Nanoseconds;

/// Reads `2s`, `500ms`, `100us`, `64ns`; a bare number is seconds.
///
/// # Errors
/// When the text is none of these.
pub fn parse_time(text: &str) -> Result<Nanoseconds, String> {
    let error = || format!("`{text}` is no time like 2s or 500ms");
    let (number, scale) = [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0)]
        .into_iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .unwrap_or((text, 1.0));
    let number: f64 = number.trim().parse().map_err(|_| error())?;
    Nanoseconds::from_seconds(number * scale).map_err(|_| error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("2s"), Ok(Nanoseconds(2_000_000_000)));
        assert_eq!(parse_time("1.5 ms"), Ok(Nanoseconds(1_500_000)));
        assert_eq!(parse_time("64ns"), Ok(Nanoseconds(64)));
        assert_eq!(parse_time("0.25"), Ok(Nanoseconds(250_000_000)));
        for wrong in ["", "s", "-1s", "2h", "NaN"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
