use std::fmt;

use brimful_openflow::{ErrorCode, ErrorMessage};
use thiserror::Error;

/// Where something stands in a file, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Something that a file says, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Placed<T> {
    /// Where.
    pub place: Place,
    /// What.
    pub value: T,
}

/// What is wrong with a file of tables.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub struct TableError {
    /// The file.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong there.
    pub detail: String,
    /// The error that a controller would get for it; none where it cannot even be said in a message.
    pub code: Option<ErrorCode>,
}

/// What is wrong with a part of a text.
#[derive(Debug)]
pub(crate) struct Flaw<'t> {
    pub(crate) part: &'t str,
    pub(crate) detail: String,
    pub(crate) code: Option<ErrorCode>,
}

/// The text of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl fmt::Display for TableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(formatter, "{}:{line}:{column}: {}", self.file, self.detail)?;
        match self.code {
            Some(ErrorCode(kind, code)) => write!(formatter, " (OpenFlow error {kind}/{code})"),
            None => Ok(()),
        }
    }
}

impl TableError {
    /// That a switch refused what stands there.
    pub fn refused(file: &str, place: Place, error: &ErrorMessage) -> Self {
        Self {
            file: file.to_owned(),
            place,
            detail: error.detail.clone(),
            code: Some(ErrorCode(error.kind, error.code)),
        }
    }
}

impl<'t> Flaw<'t> {
    /// A flaw that no message could have.
    pub(crate) fn syntax(part: &'t str, detail: impl Into<String>) -> Self {
        Self {
            part,
            detail: detail.into(),
            code: None,
        }
    }

    /// A flaw for which a controller would get an error.
    pub(crate) fn coded(part: &'t str, code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            part,
            detail: detail.into(),
            code: Some(code),
        }
    }
}

impl<'t> Text<'t> {
    /// Where a part of this text begins.
    pub(crate) fn place(self, part: &str) -> Place {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        Place {
            line: count(before.bytes().filter(|&byte| byte == b'\n').count()).saturating_add(1),
            column: count(before[line_start..].chars().count()).saturating_add(1),
        }
    }

    pub(crate) fn error(self, flaw: Flaw<'t>) -> TableError {
        TableError {
            file: self.file.to_owned(),
            place: self.place(flaw.part),
            detail: flaw.detail,
            code: flaw.code,
        }
    }
}
