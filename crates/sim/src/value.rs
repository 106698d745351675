use std::fmt;

use brimful_trial::Nanoseconds;

/// What a parameter is measured in, which decides how its value is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quantity {
    /// Frames a second, above 0: `1.5Mpps`, `1.5M`, `1500000`.
    Load,
    /// Frames a second, 0 allowed: `1.3pps`.
    Rate,
    /// A span of time: `0.5s`, `500ms`.
    Span,
    /// A share between 0 and 1: `0.5%`, `0.005`.
    Share,
    /// A whole number: `7`.
    Whole,
    /// `yes` or `no`.
    YesNo,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Frames a second.
    Rate(f64),
    /// A span of time.
    Span(Nanoseconds),
    /// A share between 0 and 1.
    Share(f64),
    /// A whole number.
    Whole(u64),
    /// Yes (true) or no.
    YesNo(bool),
}

/// Above any link there is, and far below where whole frames get lost in a float.
const HIGHEST_RATE: f64 = 1e12;
/// Eleven days: spans up to here are exact in seconds as well as in nanoseconds.
const LONGEST_SPAN_S: f64 = 1e6;

impl Quantity {
    /// Reads a value; `None` where the text is not one that [`Quantity::allowed`] describes.
    pub(crate) fn parse(self, text: &str) -> Option<Value> {
        match self {
            Self::Load => parse_rate(text).filter(|rate| *rate > 0.0).map(Value::Rate),
            Self::Rate => parse_rate(text).map(Value::Rate),
            Self::Span => parse_span(text).map(Value::Span),
            Self::Share => parse_share(text).map(Value::Share),
            Self::Whole => text.parse().ok().map(Value::Whole),
            Self::YesNo => parse_yes_no(text).map(Value::YesNo),
        }
    }

    /// What may be written, in words: `a share from 0 to 1 such as 0.5% or 0.005`.
    pub fn allowed(self) -> &'static str {
        match self {
            Self::Load => "a rate above 0 and up to 1e12 such as 1.5Mpps, 1.5M or 1500000",
            Self::Rate => "a rate from 0 to 1e12 such as 1.5Mpps, 1.5M or 1500000",
            Self::Span => "a span of time up to 1e6 s such as 0.5s or 500ms",
            Self::Share => "a share from 0 to 1 such as 0.5% or 0.005",
            Self::Whole => "a whole number from 0 to 18446744073709551615",
            Self::YesNo => "yes or no",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rate(rate) => write_rate(rate, formatter),
            Self::Span(span) => write!(formatter, "{}s", span.as_seconds()),
            Self::Share(share) => write!(formatter, "{share}"),
            Self::Whole(number) => write!(formatter, "{number}"),
            Self::YesNo(true) => formatter.write_str("yes"),
            Self::YesNo(false) => formatter.write_str("no"),
        }
    }
}

/// Letters for thousands, the largest first, with what each stands for and its power of ten.
const LETTERS: [(char, f64, i32); 3] = [('G', 1e9, 9), ('M', 1e6, 6), ('k', 1e3, 3)];

fn parse_rate(text: &str) -> Option<f64> {
    let number = text.strip_suffix("pps").unwrap_or(text);
    let rate = match LETTERS.iter().find(|(letter, ..)| number.ends_with(*letter)) {
        Some((letter, _, power)) => parse_scaled(number.strip_suffix(*letter)?, *power)?,
        None => parse_scaled(number, 0)?,
    };
    (rate <= HIGHEST_RATE).then_some(rate)
}

fn parse_span(text: &str) -> Option<Nanoseconds> {
    let units = [("ns", -9), ("us", -6), ("ms", -3), ("s", 0)];
    let (unit, power) = units.into_iter().find(|(unit, _)| text.ends_with(unit))?;
    let seconds = parse_scaled(text.strip_suffix(unit)?, power)?;
    Nanoseconds::from_seconds(seconds)
        .ok()
        .filter(|_| seconds <= LONGEST_SPAN_S)
}

fn parse_share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(number) => parse_scaled(number, -2)?,
        None => parse_scaled(text, 0)?,
    };
    (share <= 1.0).then_some(share)
}

fn parse_yes_no(text: &str) -> Option<bool> {
    match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// A finite number, not negative, times a power of ten. Scaled as text, so that `14.88M` is 14880000 to the last bit.
fn parse_scaled(number: &str, power: i32) -> Option<f64> {
    if !number.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let scaled = match power {
        0 => number.parse(),
        _ => format!("{number}e{power}").parse(),
    };
    scaled.ok().filter(|value: &f64| value.is_finite())
}

/// The shortest of the forms that read back as the same number.
fn write_rate(rate: f64, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let forms = LETTERS
        .iter()
        .map(|(letter, factor, _)| format!("{}{letter}pps", rate / factor))
        .filter(|form| parse_rate(form) == Some(rate));
    let plain = format!("{rate}pps");
    let shortest = std::iter::once(plain.clone()).chain(forms).min_by_key(String::len);
    formatter.write_str(&shortest.unwrap_or(plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(quantity: Quantity, text: &str, value: Value, canonical: &str) {
        assert_eq!(quantity.parse(text), Some(value), "{text}");
        assert_eq!(value.to_string(), canonical);
    }

    #[test]
    fn reads_and_writes_each_quantity() {
        check(Quantity::Load, "14.88Mpps", Value::Rate(14_880_000.0), "14.88Mpps");
        check(Quantity::Load, "1500k", Value::Rate(1.5e6), "1.5Mpps");
        check(Quantity::Load, "9001", Value::Rate(9001.0), "9001pps");
        check(Quantity::Load, "1e6", Value::Rate(1e6), "1Mpps");
        check(Quantity::Rate, "0", Value::Rate(0.0), "0pps");
        check(Quantity::Span, "500ms", Value::Span(Nanoseconds(500_000_000)), "0.5s");
        check(Quantity::Span, "2s", Value::Span(Nanoseconds(2_000_000_000)), "2s");
        check(Quantity::Share, "0.5%", Value::Share(0.005), "0.005");
        check(Quantity::Share, "1", Value::Share(1.0), "1");
        check(Quantity::Whole, "7", Value::Whole(7), "7");
        check(Quantity::YesNo, "yes", Value::YesNo(true), "yes");
    }

    #[test]
    fn refuses_what_is_no_value() {
        for (quantity, texts) in [
            (
                Quantity::Load,
                ["", "0", "-1", "1Mbps", "inf", "M", "1e13", "1 M"].as_slice(),
            ),
            (Quantity::Rate, &["-0.1", "nan", "+1"]),
            (Quantity::Span, &["1", "ms", "-1s", "1h", "1e7s", "infs"]),
            (Quantity::Share, &["101%", "1.1", "%", "-1%", "half"]),
            (Quantity::Whole, &["1.5", "-1", "18446744073709551616"]),
            (Quantity::YesNo, &["true", "1", ""]),
        ] {
            for text in texts {
                assert_eq!(quantity.parse(text), None, "{quantity:?} {text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(rate in 0.0..1e12_f64, span in 0..1_000_000_000_000_000_u64, share in 0.0..=1.0_f64) {
            for (quantity, value) in [
                (Quantity::Rate, Value::Rate(rate)),
                (Quantity::Rate, Value::Rate(rate.round())),
                (Quantity::Span, Value::Span(Nanoseconds(span))),
                (Quantity::Share, Value::Share(share)),
            ] {
                prop_assert_eq!(quantity.parse(&value.to_string()), Some(value));
            }
        }
    }
}
