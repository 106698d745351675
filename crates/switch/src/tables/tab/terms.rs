//! Erlang terms as `file:consult` reads them: each ended by a full stop, with `%` comments.

use crate::tables::place::Flaw;

/// Terms in terms at most; the reader calls itself for each.
const DEEPEST: u32 = 64;

/// A term and the text that says it.
#[derive(Clone, Debug)]
pub(crate) struct Term<'t> {
    pub(crate) part: &'t str,
    pub(crate) value: Value<'t>,
}

#[derive(Clone, Debug)]
pub(crate) enum Value<'t> {
    Integer(u128),
    Float(f64),
    Atom(&'t str),
    Tuple(Vec<Term<'t>>),
    List(Vec<Term<'t>>),
    /// Bits in network order.
    Bits(u128),
}

impl<'t> Term<'t> {
    /// The elements of a tuple of which the first is an atom, which is given apart.
    pub(crate) fn tagged(&self) -> Option<(&'t str, &[Term<'t>])> {
        let Value::Tuple(elements) = &self.value else {
            return None;
        };
        let (first, rest) = elements.split_first()?;
        Some((first.atom()?, rest))
    }

    pub(crate) fn atom(&self) -> Option<&'t str> {
        match self.value {
            Value::Atom(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Term<'t>]> {
        match &self.value {
            Value::List(terms) => Some(terms),
            _ => None,
        }
    }

    /// A whole number, or bits as one.
    pub(crate) fn number(&self) -> Option<u128> {
        match self.value {
            Value::Integer(number) | Value::Bits(number) => Some(number),
            _ => None,
        }
    }

    /// A whole number that fits.
    pub(crate) fn number_as<T: TryFrom<u128>>(&self, what: &str) -> Result<T, Flaw<'t>> {
        let number = self.number().and_then(|number| T::try_from(number).ok());
        let bits = size_of::<T>() * 8;
        number.ok_or_else(|| self.flaw(format!("{what} must be a whole number of at most {bits} bits")))
    }

    pub(crate) fn flaw(&self, detail: impl Into<String>) -> Flaw<'t> {
        Flaw::syntax(self.part, detail)
    }
}

/// Reads terms one after another.
#[derive(Debug)]
pub(crate) struct Terms<'t> {
    rest: &'t str,
}

impl<'t> Terms<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// The next term with its full stop.
    pub(crate) fn next(&mut self) -> Result<Option<Term<'t>>, Flaw<'t>> {
        self.skip();
        if self.rest.is_empty() {
            return Ok(None);
        }
        let term = self.term(0)?;
        self.expect(".")?;
        Ok(Some(term))
    }

    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('%') {
                return;
            }
            self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip();
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, sign: &str) -> Result<(), Flaw<'t>> {
        if self.takes(sign) {
            return Ok(());
        }
        let found = self
            .rest
            .chars()
            .next()
            .map_or_else(|| "the end".to_owned(), |letter| format!("{letter:?}"));
        Err(Flaw::syntax(self.rest, format!("expected {sign:?}, found {found}")))
    }

    fn term(&mut self, depth: u32) -> Result<Term<'t>, Flaw<'t>> {
        self.skip();
        let start = self.rest;
        if depth > DEEPEST {
            return Err(Flaw::syntax(start, format!("terms are nested deeper than {DEEPEST}")));
        }
        let value = if self.takes("{") {
            Value::Tuple(self.elements("}", depth)?)
        } else if self.takes("[") {
            Value::List(self.elements("]", depth)?)
        } else if self.takes("<<") {
            self.bits()?
        } else if start.starts_with(|letter: char| letter.is_ascii_digit()) {
            self.number()?
        } else {
            Value::Atom(self.atom()?)
        };
        let part = &start[..start.len() - self.rest.len()];
        Ok(Term { part, value })
    }

    fn elements(&mut self, end: &str, depth: u32) -> Result<Vec<Term<'t>>, Flaw<'t>> {
        let mut elements = Vec::new();
        if self.takes(end) {
            return Ok(elements);
        }
        loop {
            elements.push(self.term(depth + 1)?);
            if self.takes(end) {
                return Ok(elements);
            }
            self.expect(",")?;
        }
    }

    fn atom(&mut self) -> Result<&'t str, Flaw<'t>> {
        let start = self.rest;
        if let Some(quoted) = start.strip_prefix('\'') {
            let end = quoted
                .find('\'')
                .ok_or_else(|| Flaw::syntax(start, "a quoted atom does not end"))?;
            self.rest = &quoted[end + 1..];
            return Ok(&quoted[..end]);
        }
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_@".contains(letter);
        let end = start.find(|letter| !is_letter(letter)).unwrap_or(start.len());
        if end == 0 || !start.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            return Err(Flaw::syntax(
                start,
                "expected a term: a number, an atom, {...}, [...] or <<...>>",
            ));
        }
        self.rest = &start[end..];
        Ok(&start[..end])
    }

    fn digits(&mut self) -> &'t str {
        let end = self
            .rest
            .find(|letter: char| !letter.is_ascii_alphanumeric())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }

    fn number(&mut self) -> Result<Value<'t>, Flaw<'t>> {
        let start = self.rest;
        let whole = self.digits();
        let read = if let Some(rest) = self.rest.strip_prefix('#') {
            self.rest = rest;
            let digits = self.digits();
            let radix = whole.parse().ok().filter(|radix| (2..=36).contains(radix));
            radix
                .and_then(|radix| u128::from_str_radix(digits, radix).ok())
                .map(Value::Integer)
        } else if self.rest.starts_with('.') && self.rest[1..].starts_with(|next: char| next.is_ascii_digit()) {
            self.rest = &self.rest[1..];
            self.digits();
            start[..start.len() - self.rest.len()].parse().ok().map(Value::Float)
        } else {
            whole.parse().ok().map(Value::Integer)
        };
        read.ok_or_else(|| Flaw::syntax(start, "not a number, or one of more than 128 bits"))
    }

    /// Segments such as `10`, `29:6` and `0:128`, 8 bits each where they do not say.
    fn bits(&mut self) -> Result<Value<'t>, Flaw<'t>> {
        let start = self.rest;
        let (mut value, mut length) = (0_u128, 0_u32);
        if self.takes(">>") {
            return Ok(Value::Bits(0));
        }
        loop {
            self.skip();
            let Value::Integer(segment) = self.number()? else {
                return Err(Flaw::syntax(start, "bits are whole numbers"));
            };
            let bits = if self.takes(":") {
                self.digits().parse().ok()
            } else {
                Some(8)
            };
            let bits = bits.filter(|bits| (1..=128).contains(bits) && length + bits <= 128);
            let bits = bits.ok_or_else(|| Flaw::syntax(start, "more than 128 bits, or not a number of them"))?;
            let segment = segment & u128::MAX >> (128 - bits);
            value = value.checked_shl(bits).unwrap_or(0) | segment;
            length += bits;
            if self.takes(">>") {
                return Ok(Value::Bits(value));
            }
            self.expect(",")?;
        }
    }
}
