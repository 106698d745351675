//! Makes changes, one by one or in a bundle.

use brimful_openflow::wire::{BundleAdd, BundleControl, Data, Message, Version};

use super::connection::Connection;
use super::lines::Planned;
use super::{Done, OfctlError};

/// Bytes of changes between two barriers: what the kernel keeps for a connection. A switch that cannot send its errors
/// stops reading, and both sides would wait for each other.
const BATCH_BYTES: usize = 32 << 10;
const BUNDLE: u32 = 1;
/// All or none, and in their order.
const ATOMIC_AND_ORDERED: u16 = 3;
/// What happens to a bundle.
const OPEN: u16 = 0;
const CLOSE: u16 = 2;
const COMMIT: u16 = 4;
const DISCARD: u16 = 6;

/// Makes changes, and waits until the switch has done them. Those after a refused one may not be made.
pub(super) fn make(switch: &mut Connection, changes: &[Planned]) -> Done {
    send(switch, changes, |planned, _| planned.message.clone()).map(|_| ())
}

/// Makes all of them at one moment, or none.
pub(super) fn make_together(switch: &mut Connection, changes: &[Planned]) -> Done {
    switch.ask(&control(OPEN))?;
    let add = |planned: &Planned, transaction| {
        Message::BundleAdd(BundleAdd {
            bundle: BUNDLE,
            flags: ATOMIC_AND_ORDERED,
            // It has the transaction of what it is in.
            message: Data(planned.message.encode(transaction, Version::V14)),
        })
    };
    let transactions = match send(switch, changes, add) {
        Ok(transactions) => transactions,
        Err(error) => {
            switch.send(&control(DISCARD))?;
            return Err(error);
        }
    };
    switch.ask(&control(CLOSE))?;
    switch.send(&control(COMMIT))?;
    // Errors of the commit are about one of the messages.
    let first = transactions.first().copied().unwrap_or_default();
    let Some((refused, error)) = switch.settle(first)? else {
        return Ok(());
    };
    let index = transactions.iter().position(|transaction| *transaction == refused);
    Err(told(index.map_or("", |index| &changes[index].origin), &error))
}

/// Sends changes in the form of messages that take their transactions, which are given.
fn send(
    switch: &mut Connection,
    changes: &[Planned],
    form: impl Fn(&Planned, u32) -> Message,
) -> Result<Vec<u32>, OfctlError> {
    let mut transactions = Vec::with_capacity(changes.len());
    let mut first = switch.next_transaction();
    for (index, planned) in changes.iter().enumerate() {
        let message = form(planned, switch.next_transaction());
        transactions.push(switch.queue(&message));
        if switch.queued_bytes() < BATCH_BYTES && index + 1 < changes.len() {
            continue;
        }
        switch.send(&Message::BarrierRequest)?;
        if let Some((refused, error)) = switch.settle(first)? {
            let index = transactions.iter().position(|transaction| *transaction == refused);
            return Err(told(index.map_or("", |index| &changes[index].origin), &error));
        }
        first = switch.next_transaction();
    }
    Ok(transactions)
}

fn control(kind: u16) -> Message {
    Message::BundleControl(BundleControl {
        bundle: BUNDLE,
        kind,
        flags: ATOMIC_AND_ORDERED,
        properties: Data::default(),
    })
}

fn told(origin: &str, error: &str) -> OfctlError {
    OfctlError::Failed(format!("{origin}{error}"))
}
