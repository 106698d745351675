//! Cuts a line into `key`, `key=value`, `key:value` and `key(value)`.

use crate::tables::place::Flaw;

/// A word of a line; its value is empty where it has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'t> {
    pub(crate) key: &'t str,
    pub(crate) value: &'t str,
    /// Key and value.
    pub(crate) whole: &'t str,
}

/// The words of a text, parted by commas and blanks outside parentheses.
#[derive(Debug)]
pub(crate) struct Words<'t> {
    rest: &'t str,
}

impl<'t> Words<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// The next word.
    pub(crate) fn next(&mut self) -> Result<Option<Word<'t>>, Flaw<'t>> {
        let rest = self.rest.trim_start_matches(is_gap);
        if rest.is_empty() {
            return Ok(None);
        }
        let key_len = rest
            .find(|letter| is_gap(letter) || ":=()".contains(letter))
            .unwrap_or(rest.len());
        let len = word_len(rest, key_len)?;
        let (whole, after) = rest.split_at(len);
        self.rest = after;
        let (key, tail) = whole.split_at(key_len);
        let value = match tail.as_bytes().first() {
            Some(b'(') => tail[1..].strip_suffix(')').unwrap_or(&tail[1..]),
            Some(_) => &tail[1..],
            None => tail,
        };
        Ok(Some(Word { key, value, whole }))
    }
}

impl<'t> Word<'t> {
    /// That it should have a value.
    pub(crate) fn need_value(&self) -> Result<&'t str, Flaw<'t>> {
        if self.value.is_empty() {
            return Err(Flaw::syntax(self.whole, format!("{} needs a value", self.key)));
        }
        Ok(self.value)
    }
}

fn is_gap(letter: char) -> bool {
    letter == ',' || letter.is_ascii_whitespace()
}

/// How long the word is at the beginning of a text, whose key has that length.
fn word_len(text: &str, key_len: usize) -> Result<usize, Flaw<'_>> {
    let mut depth = 0_u32;
    for (at, letter) in text.bytes().enumerate().skip(key_len) {
        match letter {
            b'(' => depth += 1,
            b')' if depth == 0 => return Err(Flaw::syntax(&text[at..], "a parenthesis closes that was not opened")),
            b')' => depth -= 1,
            _ if depth == 0 && is_gap(char::from(letter)) => return Ok(at),
            _ => {}
        }
    }
    match depth {
        0 => Ok(text.len()),
        _ => Err(Flaw::syntax(text, "a parenthesis is not closed")),
    }
}
