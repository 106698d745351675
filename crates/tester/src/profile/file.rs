//! The profile file as it is written, before anything in it is held against anything else.

use serde_json::Value;

use super::keys::Keys;

/// A traffic profile as it stands in a file: every key known and of the right type, nothing else checked.
#[derive(Clone, Debug, Default)]
pub struct ProfileFile {
    pub(super) keys: Keys,
    content: Value,
}

impl ProfileFile {
    /// Reads TOML.
    ///
    /// # Errors
    /// One line that begins with the place: `line 3, column 1: unknown field`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let at_place = |error: &toml::de::Error| {
            let message = error.message().trim().replace('\n', ", ");
            match error.span() {
                Some(span) => format!("{}: {message}", place(text, span.start)),
                None => message,
            }
        };
        Ok(Self {
            keys: toml::from_str(text).map_err(|error| at_place(&error))?,
            content: toml::from_str(text).map_err(|error| at_place(&error))?,
        })
    }

    /// Everything in it, for the record.
    pub fn content(&self) -> &Value {
        &self.content
    }
}

/// Where an offset is, as editors count.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&letter| letter != '\n').count() + 1;
    format!("line {line}, column {column}")
}
