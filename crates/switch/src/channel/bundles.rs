//! Changes that a controller gathers, to be done together or not at all (OF 1.4.1 section 7.3.9).

use std::collections::BTreeMap;

use brimful_openflow::wire::{BundleAdd, BundleControl, HEADER_BYTES, Header, Message, PortMod, Version};
use brimful_openflow::{ErrorCode, ErrorMessage, NO_BUFFER};
use brimful_pipeline::Preparer;

use super::connection::{Heads, RequestHead};
use crate::watch::TableChange;

/// Bundles of one controller.
const MOST_BUNDLES: usize = 16;
/// Messages of all bundles of one controller.
const MOST_MESSAGES: usize = 1 << 20;
/// Bits of a bundle's flags. Changes are always done in their order.
const ATOMIC: u16 = 1;
const ORDERED: u16 = 1 << 1;

/// What happens to a bundle; replies have the next number.
pub(super) mod kind {
    pub(crate) const OPEN: u16 = 0;
    pub(crate) const CLOSE: u16 = 2;
    pub(crate) const COMMIT: u16 = 4;
    pub(crate) const DISCARD: u16 = 6;
}

/// The bundles of one controller.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    open: BTreeMap<u32, Bundle>,
    messages: usize,
}

/// Changes of one bundle.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    flags: u16,
    is_closed: bool,
    /// Changes of tables, and whose.
    pub(super) changes: Vec<TableChange>,
    /// The messages of those changes.
    pub(super) heads: Heads,
    /// Changes of ports.
    pub(super) ports: Vec<(RequestHead, PortMod)>,
}

impl Bundle {
    /// Whether no frame may meet some of its changes without the others.
    pub(super) fn is_atomic(&self) -> bool {
        self.flags & ATOMIC != 0
    }
}

type Done = Result<(), ErrorMessage>;

impl Bundles {
    /// Begins a bundle.
    pub(super) fn open(&mut self, control: &BundleControl) -> Done {
        check_flags(control.flags)?;
        if self.open.contains_key(&control.bundle) {
            self.discard(control.bundle);
            return Err(ErrorCode::BUNDLE_EXISTS.because(format!("bundle {} is open", control.bundle)));
        }
        self.begin(control.bundle, control.flags)
    }

    fn begin(&mut self, number: u32, flags: u16) -> Done {
        if self.open.len() == MOST_BUNDLES {
            return Err(ErrorCode::BUNDLE_TOO_MANY.because(format!("{MOST_BUNDLES} bundles are open")));
        }
        let bundle = Bundle {
            flags,
            ..Bundle::default()
        };
        self.open.insert(number, bundle);
        Ok(())
    }

    /// Puts a message into a bundle, which begins with it where it is not open yet.
    ///
    /// What is wrong with it without asking the tables is an error at once (OF 1.4.1 section 6.8.3).
    pub(super) fn add(&mut self, add: &BundleAdd, transaction: u32, preparer: &Preparer) -> Done {
        if !self.open.contains_key(&add.bundle) {
            check_flags(add.flags)?;
            self.begin(add.bundle, add.flags)?;
        }
        if self.messages == MOST_MESSAGES {
            return Err(ErrorCode::BUNDLE_MESSAGE_TOO_MANY.because(format!("bundles hold {MOST_MESSAGES} messages")));
        }
        let bundle = self.find_open(add.bundle, add.flags)?;
        let message = whole_message(&add.message.0, transaction)?;
        let change = match Message::decode(message, Version::V14)? {
            Message::FlowMod(change) if change.buffer == NO_BUFFER => TableChange::Prepared(preparer.prepare(change)?),
            Message::GroupMod(change) => TableChange::Group(change),
            Message::MeterMod(change) => TableChange::Meter(change),
            Message::PortMod(change) => {
                bundle.ports.push((RequestHead::of(message), change));
                self.messages += 1;
                return Ok(());
            }
            other => {
                let text = format!("message type {} does not go into bundles", other.number());
                return Err(ErrorCode::BUNDLE_MESSAGE_UNSUPPORTED.because(text));
            }
        };
        bundle.changes.extend(std::iter::once_with(|| change));
        bundle.heads.push(message);
        self.messages += 1;
        Ok(())
    }

    /// Ends adding to a bundle.
    pub(super) fn close(&mut self, control: &BundleControl) -> Done {
        self.find_open(control.bundle, control.flags)?.is_closed = true;
        Ok(())
    }

    /// Takes a bundle out, to be done or forgotten.
    pub(super) fn take(&mut self, number: u32) -> Result<Bundle, ErrorMessage> {
        let bundle = self.open.remove(&number).ok_or_else(|| unknown(number))?;
        self.messages -= bundle.changes.len() + bundle.ports.len();
        Ok(bundle)
    }

    /// Takes a bundle out, to be done. Also one with an error is gone then.
    pub(super) fn commit(&mut self, control: &BundleControl) -> Result<Bundle, ErrorMessage> {
        self.find(control.bundle, control.flags)?;
        self.take(control.bundle)
    }

    /// A bundle that takes messages.
    fn find_open(&mut self, number: u32, flags: u16) -> Result<&mut Bundle, ErrorMessage> {
        if self.find(number, flags)?.is_closed {
            self.discard(number);
            return Err(ErrorCode::BUNDLE_CLOSED.because(format!("bundle {number} was closed, and is discarded")));
        }
        self.find(number, flags)
    }

    /// A bundle whose flags are named right. One that is used wrongly is discarded (OF 1.4.1 section 7.3.9).
    fn find(&mut self, number: u32, flags: u16) -> Result<&mut Bundle, ErrorMessage> {
        let has = self.open.get(&number).ok_or_else(|| unknown(number))?.flags;
        if has != flags {
            self.discard(number);
            let text = format!("bundle {number} had flags {has:#x}, not {flags:#x}, and is discarded");
            return Err(ErrorCode::BUNDLE_FLAGS.because(text));
        }
        self.open.get_mut(&number).ok_or_else(|| unknown(number))
    }

    fn discard(&mut self, number: u32) {
        // It may be gone already.
        let _ = self.take(number);
    }
}

fn unknown(number: u32) -> ErrorMessage {
    ErrorCode::BUNDLE_BAD_ID.because(format!("there is no bundle {number}"))
}

fn check_flags(flags: u16) -> Done {
    if flags & !(ATOMIC | ORDERED) != 0 {
        return Err(ErrorCode::BUNDLE_FLAGS.because(format!("flags {flags:#x} are not known")));
    }
    Ok(())
}

/// The message within an addition; properties may follow it.
fn whole_message(bytes: &[u8], transaction: u32) -> Result<&[u8], ErrorMessage> {
    let too_short = || ErrorCode::BUNDLE_MESSAGE_LENGTH.because(format!("a message in {} bytes", bytes.len()));
    let header = Header::parse(bytes).ok_or_else(too_short)?;
    let length = usize::from(header.length);
    let message = bytes
        .get(..length)
        .filter(|_| length >= HEADER_BYTES)
        .ok_or_else(too_short)?;
    if header.transaction != transaction {
        let text = format!("transaction {} in {transaction}", header.transaction);
        return Err(ErrorCode::BUNDLE_MESSAGE_TRANSACTION.because(text));
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use brimful_openflow::wire::Data;
    use brimful_openflow::{FlowMod, Match};
    use brimful_pipeline::{Limits, Pipeline};

    use super::*;

    fn control(flags: u16) -> BundleControl {
        BundleControl {
            bundle: 5,
            kind: kind::OPEN,
            flags,
            properties: Data::default(),
        }
    }

    fn addition(message: &Message, flags: u16) -> BundleAdd {
        BundleAdd {
            bundle: 5,
            flags,
            message: Data(message.encode(9, Version::V14)),
        }
    }

    fn preparer() -> Preparer {
        Pipeline::new(Limits::default()).preparer()
    }

    fn code(done: Done) -> Option<ErrorCode> {
        done.err().map(|error| ErrorCode(error.kind, error.code))
    }

    fn flow() -> Message {
        Message::FlowMod(FlowMod::add(0, 1, Match::default(), Vec::new()))
    }

    #[test]
    fn a_bundle_is_opened_filled_closed_and_taken() {
        let mut bundles = Bundles::default();
        let add = |bundles: &mut Bundles, addition: &BundleAdd| code(bundles.add(addition, 9, &preparer()));
        assert_eq!(code(bundles.open(&control(8))), Some(ErrorCode::BUNDLE_FLAGS));
        assert_eq!(code(bundles.open(&control(3))), None);
        let other = BundleAdd {
            message: Data(flow().encode(8, Version::V14)),
            ..addition(&flow(), 3)
        };
        assert_eq!(add(&mut bundles, &other), Some(ErrorCode::BUNDLE_MESSAGE_TRANSACTION));
        let barrier = addition(&Message::BarrierRequest, 3);
        assert_eq!(add(&mut bundles, &barrier), Some(ErrorCode::BUNDLE_MESSAGE_UNSUPPORTED));
        let mut cut = addition(&flow(), 3);
        cut.message.0.truncate(20);
        assert_eq!(add(&mut bundles, &cut), Some(ErrorCode::BUNDLE_MESSAGE_LENGTH));
        let elsewhere = Message::FlowMod(FlowMod::add(255, 1, Match::default(), Vec::new()));
        assert_eq!(add(&mut bundles, &addition(&elsewhere, 3)), Some(ErrorCode::FLOW_TABLE));
        assert_eq!(add(&mut bundles, &addition(&flow(), 3)), None);
        assert_eq!(code(bundles.close(&control(3))), None);
        assert_eq!(bundles.commit(&control(3)).unwrap().changes.len(), 1);
        assert_eq!(bundles.messages, 0);
        assert_eq!(code(bundles.close(&control(3))), Some(ErrorCode::BUNDLE_BAD_ID));
    }

    #[test]
    fn a_bundle_that_is_used_wrongly_is_discarded() {
        type Use = fn(&mut Bundles) -> Done;
        let uses: [(Use, ErrorCode, bool); 7] = [
            (|bundles| bundles.open(&control(3)), ErrorCode::BUNDLE_EXISTS, false),
            (
                |bundles| bundles.add(&addition(&flow(), 1), 9, &preparer()),
                ErrorCode::BUNDLE_FLAGS,
                false,
            ),
            (
                |bundles| bundles.add(&addition(&flow(), 3), 9, &preparer()),
                ErrorCode::BUNDLE_CLOSED,
                true,
            ),
            (|bundles| bundles.close(&control(2)), ErrorCode::BUNDLE_FLAGS, false),
            (|bundles| bundles.close(&control(3)), ErrorCode::BUNDLE_CLOSED, true),
            (
                |bundles| bundles.commit(&control(1)).map(|_| ()),
                ErrorCode::BUNDLE_FLAGS,
                false,
            ),
            (
                |bundles| bundles.commit(&control(1)).map(|_| ()),
                ErrorCode::BUNDLE_FLAGS,
                true,
            ),
        ];
        for (wrong, expected, is_closed) in uses {
            let mut bundles = Bundles::default();
            bundles.open(&control(3)).unwrap();
            bundles.add(&addition(&flow(), 3), 9, &preparer()).unwrap();
            if is_closed {
                bundles.close(&control(3)).unwrap();
            }
            assert_eq!(code(wrong(&mut bundles)), Some(expected));
            assert_eq!(
                code(bundles.commit(&control(3)).map(|_| ())),
                Some(ErrorCode::BUNDLE_BAD_ID)
            );
            assert_eq!(bundles.messages, 0);
        }
    }

    #[test]
    fn a_message_opens_its_bundle_and_bundles_are_bounded() {
        let mut bundles = Bundles::default();
        assert_eq!(code(bundles.add(&addition(&flow(), 0), 9, &preparer())), None);
        for bundle in 6..6 + MOST_BUNDLES as u32 - 1 {
            let control = BundleControl { bundle, ..control(0) };
            assert_eq!(code(bundles.open(&control)), None);
        }
        let control = BundleControl {
            bundle: 99,
            ..control(0)
        };
        assert_eq!(code(bundles.open(&control)), Some(ErrorCode::BUNDLE_TOO_MANY));
    }
}
