//! Test frames: their layout, the stamp that they carry, how they are made and how they are known again.
//!
//! Where the fields of their headers lie, and which checksums cover them, is said by the table of fields of
//! `brimful_frame`.

mod anatomy;
mod layout;
mod parse;
mod place;
mod stamp;
mod template;

pub use layout::{Content, FrameLayout, HeaderField, TemplateError, Transport};
pub use parse::TestFrame;
pub use place::FieldPlace;
pub use stamp::{SEQUENCE_MASK, Stamp, TIMESTAMP_MASK};
pub use template::TestTemplate;
