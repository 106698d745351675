use std::fmt;
use std::str::FromStr;

use brimful_trial::{Load, Nanoseconds};
use thiserror::Error;

use crate::weather::{Purpose, Stream};
use crate::{DefaultValue, Kind, KindInfo, ParameterInfo, Value};

/// What to simulate: a kind of system and its parameters.
///
/// Written as the kind, then `key=value` pairs, with commas between: `soft-knee,capacity=1Mpps,seed=7`. Shown, it is
/// the shortest such text: parameters in the order of the table, those at their default left out.
///
/// ```
/// use brimful_sim::SystemSpec;
/// let spec: SystemSpec = "soft-knee, seed=7, capacity=1000k, rest=2000ms".parse()?;
/// assert_eq!(spec.to_string(), "soft-knee,capacity=1Mpps,seed=7");
/// let mistake = "soft-knee,capcity=1M".parse::<SystemSpec>().unwrap_err();
/// assert!(mistake.to_string().contains(r#"did you mean "capacity"?"#));
/// # Ok::<(), brimful_sim::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SystemSpec {
    kind: Kind,
    /// In the order of the kind's parameters; `None` where the value is to be derived.
    values: Vec<Option<Value>>,
}

/// A text that is no [`SystemSpec`].
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum SpecError {
    /// The first word names no kind.
    #[error("unknown kind {name:?}{hint}; kinds: {known}")]
    UnknownKind {
        /// The word.
        name: String,
        /// The nearest kind, as a question, or nothing.
        hint: String,
        /// All kinds.
        known: String,
    },
    /// A key names no parameter of the kind.
    #[error("unknown parameter {key:?} of {kind}{hint}; parameters: {known}")]
    UnknownKey {
        /// The kind.
        kind: Kind,
        /// The key.
        key: String,
        /// The nearest parameter, as a question, or nothing.
        hint: String,
        /// All parameters of the kind.
        known: String,
    },
    /// A part without an equals sign.
    #[error("{0:?} is not written key=value")]
    NotKeyValue(String),
    /// A parameter was given twice.
    #[error("{0} is given twice")]
    Repeated(&'static str),
    /// A value that the parameter cannot have.
    #[error("{key}={value:?} is not {allowed}")]
    BadValue {
        /// The parameter.
        key: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: String,
    },
}

/// Where the capacity lies when it is not given, as shares of the link rate.
const CAPACITY_SHARES: (f64, f64) = (1.0 / 3.0, 0.9);
/// The tester's limit when it is not given, as a share of the capacity.
const LIMIT_SHARE: f64 = 0.8;

impl SystemSpec {
    /// A system of this kind with every parameter at its default.
    pub fn new(kind: Kind) -> Self {
        let values = kind.info().parameters().map(default_value).collect();
        Self { kind, values }
    }

    /// Every kind there is, for help texts and documents.
    pub fn kinds() -> &'static [KindInfo] {
        KindInfo::ALL
    }

    /// The same system in other weather, and with another capacity where that is drawn from the seed.
    ///
    /// ```
    /// use brimful_sim::{Kind, SystemSpec};
    /// assert_eq!(SystemSpec::new(Kind::Noisy).with_seed(3).to_string(), "noisy,seed=3");
    /// ```
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        let index = self.index("seed");
        self.values[index] = Some(Value::Whole(seed));
        self
    }

    /// Which kind of system.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What the weather is drawn from.
    pub fn seed(&self) -> u64 {
        self.whole("seed")
    }

    /// The highest load that the system forwards in quiet times: as given, or drawn from the seed.
    ///
    /// # Panics
    /// Never: a link rate is positive.
    pub fn capacity(&self) -> Load {
        let capacity = self.given_rate("capacity").unwrap_or_else(|| {
            let (least, most) = CAPACITY_SHARES;
            let link = self.link().per_second();
            let draw = Stream::new(self.seed(), Purpose::Capacity).at(0);
            let capacity = link * draw.between(least, most);
            if capacity >= 1.0 { capacity.round() } else { capacity }
        });
        Load::new(capacity).expect("a capacity is positive")
    }

    /// The rate of the link: the largest load that a trial should offer.
    ///
    /// # Panics
    /// Never: the parser takes positive rates only.
    pub fn link(&self) -> Load {
        Load::new(self.rate("link")).expect("a link rate is positive")
    }

    /// The largest load that the tester offers, for the kind that has a limit.
    pub(crate) fn limit(&self) -> f64 {
        self.given_rate("limit")
            .unwrap_or_else(|| self.capacity().per_second() * LIMIT_SHARE)
    }

    pub(crate) fn whole(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Whole(number)) => number,
            _ => unreachable!("{name} is a whole number with a default"),
        }
    }

    pub(crate) fn rate(&self, name: &str) -> f64 {
        self.given_rate(name)
            .unwrap_or_else(|| unreachable!("{name} is a rate with a default"))
    }

    pub(crate) fn share(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Share(share)) => share,
            _ => unreachable!("{name} is a share with a default"),
        }
    }

    pub(crate) fn span(&self, name: &str) -> Nanoseconds {
        match self.value(name) {
            Some(Value::Span(span)) => span,
            _ => unreachable!("{name} is a span with a default"),
        }
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.value(name) == Some(Value::YesNo(true))
    }

    fn given_rate(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Some(Value::Rate(rate)) => Some(rate),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.values[self.index(name)]
    }

    fn index(&self, name: &str) -> usize {
        self.position(name)
            .unwrap_or_else(|| unreachable!("{} has a parameter {name}", self.kind))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.kind
            .info()
            .parameters()
            .position(|parameter| parameter.name == name)
    }

    /// Reads one `key=value` and returns the index of the parameter that it set.
    fn set(&mut self, part: &str) -> Result<usize, SpecError> {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| SpecError::NotKeyValue(part.to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        let index = self.position(key).ok_or_else(|| unknown_key(self.kind, key))?;
        let parameter = self.parameter(index);
        let parsed = parameter.quantity.parse(value);
        self.values[index] =
            Some(parsed.ok_or_else(|| bad_value(parameter.name, value, parameter.quantity.allowed()))?);
        Ok(index)
    }

    fn parameter(&self, index: usize) -> &'static ParameterInfo {
        let mut parameters = self.kind.info().parameters();
        parameters.nth(index).expect("every value has a parameter")
    }

    /// Limits that one value puts on another.
    fn check_together(&self) -> Result<(), SpecError> {
        match self.kind {
            Kind::Noisy => {
                self.check_order("dip-least", "dip-most")?;
                self.check_at_least("dip-length", Nanoseconds(1_000_000_000))
            }
            Kind::Stalls => {
                self.check_order("stall-least", "stall-most")?;
                self.check_at_least("stall-every", Nanoseconds(1_000_000_000))?;
                self.check_at_most("stall-most", Nanoseconds(1_000_000_000))
            }
            Kind::Vhost => self.check_at_least("dwell", Nanoseconds(1_000_000_000)),
            Kind::Inversion => self.check_order("band-from", "band-to"),
            _ => Ok(()),
        }
    }

    fn check_order(&self, lower: &'static str, upper: &'static str) -> Result<(), SpecError> {
        let (low, high) = (self.shown(lower), self.shown(upper));
        let in_order = match (self.value(lower), self.value(upper)) {
            (Some(Value::Share(low)), Some(Value::Share(high))) => low <= high,
            (Some(Value::Span(low)), Some(Value::Span(high))) => low <= high,
            _ => unreachable!("{lower} and {upper} are measured alike"),
        };
        if in_order {
            return Ok(());
        }
        Err(bad_value(lower, &low, &format!("at most {upper}, which is {high}")))
    }

    fn check_at_least(&self, name: &'static str, least: Nanoseconds) -> Result<(), SpecError> {
        if self.span(name) >= least {
            return Ok(());
        }
        Err(bad_value(name, &self.shown(name), &format!("{least} or more")))
    }

    fn check_at_most(&self, name: &'static str, most: Nanoseconds) -> Result<(), SpecError> {
        if self.span(name) <= most {
            return Ok(());
        }
        Err(bad_value(name, &self.shown(name), &format!("{most} or less")))
    }

    fn shown(&self, name: &str) -> String {
        self.value(name).map(|value| value.to_string()).unwrap_or_default()
    }
}

impl FromStr for SystemSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.split(',').map(str::trim);
        let mut spec = Self::new(parse_kind(parts.next().unwrap_or_default())?);
        let mut given = vec![false; spec.values.len()];
        for part in parts {
            let index = spec.set(part)?;
            if given[index] {
                return Err(SpecError::Repeated(spec.parameter(index).name));
            }
            given[index] = true;
        }
        spec.check_together()?;
        Ok(spec)
    }
}

impl fmt::Display for SystemSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.kind)?;
        for (parameter, value) in self.kind.info().parameters().zip(&self.values) {
            match value {
                Some(shown) if *value != default_value(parameter) => {
                    write!(formatter, ",{}={shown}", parameter.name)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn default_value(parameter: &ParameterInfo) -> Option<Value> {
    match parameter.default {
        DefaultValue::Text(text) => parameter.quantity.parse(text),
        DefaultValue::Derived(_) => None,
    }
}

fn parse_kind(name: &str) -> Result<Kind, SpecError> {
    let names = || KindInfo::ALL.iter().map(|info| info.name);
    match KindInfo::ALL.iter().find(|info| info.name == name) {
        Some(info) => Ok(info.kind),
        None => Err(SpecError::UnknownKind {
            name: name.to_owned(),
            hint: hint(name, names()),
            known: join(names()),
        }),
    }
}

fn unknown_key(kind: Kind, key: &str) -> SpecError {
    let names = || kind.info().parameters().map(|parameter| parameter.name);
    SpecError::UnknownKey {
        kind,
        key: key.to_owned(),
        hint: hint(key, names()),
        known: join(names()),
    }
}

fn bad_value(key: &'static str, value: &str, allowed: &str) -> SpecError {
    SpecError::BadValue {
        key,
        value: value.to_owned(),
        allowed: allowed.to_owned(),
    }
}

fn join(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A question about the nearest name, if one is near enough to be meant.
fn hint(word: &str, names: impl Iterator<Item = &'static str>) -> String {
    let nearest = names.map(|name| (edits(word, name), name)).min();
    match nearest {
        Some((edits, name)) if edits <= name.len() / 3 => format!(" (did you mean {name:?}?)"),
        _ => String::new(),
    }
}

/// How many characters must be put in, taken out or changed to turn one word into the other.
fn edits(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, b) in to.chars().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.chars().count()]
}
