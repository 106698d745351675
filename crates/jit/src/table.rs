use std::sync::Arc;

use brimful_pipeline::CounterId;

use crate::compile::Code;
use crate::context::{INTERPRETED, MOST_SHAPES, RuleValue};
use crate::functions::Uncompiled;
use crate::shape::{Shape, Shaped};
use crate::version::Version;

/// A table: its rules by the form that frames meet now, and the code of that.
pub(crate) struct Table {
    pub(crate) lookups: CounterId,
    pub(crate) matches: CounterId,
    pub(crate) rules: usize,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) current: Version,
    pub(crate) code: Option<Code>,
}

impl Table {
    pub(crate) fn new((lookups, matches): (CounterId, CounterId)) -> Self {
        Self {
            lookups,
            matches,
            rules: 0,
            shapes: Vec::new(),
            current: Version::empty(),
            code: None,
        }
    }

    pub(crate) fn uncompiled(&self) -> Uncompiled {
        Uncompiled {
            lookups: self.lookups,
            matches: self.matches,
            overlay: Arc::clone(&self.current.cell),
        }
    }

    /// Whether some rules are found by other means than code.
    pub(crate) fn is_behind(&self) -> bool {
        self.current.has_overlay() || self.current.shapes < self.shapes.len()
    }

    /// A rule in one word.
    pub(crate) fn value_of(&mut self, counter: u32, shaped: Option<&Shaped>) -> u64 {
        let known = shaped.and_then(|shaped| self.shapes.iter().position(|shape| *shape == shaped.shape));
        let number = match (known, shaped) {
            (Some(index), _) => index as u8 + 1,
            (None, Some(shaped)) if self.shapes.len() < MOST_SHAPES => {
                self.shapes.push(shaped.shape.clone());
                self.shapes.len() as u8
            }
            _ => INTERPRETED,
        };
        let value = RuleValue {
            shape: number,
            counter,
            port: shaped.map_or(0, |shaped| shaped.port),
        };
        value.pack()
    }
}
