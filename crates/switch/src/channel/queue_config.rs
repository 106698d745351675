//! The queues of ports and their rates, as each version has them.

use std::sync::Arc;

use brimful_openflow::wire::{
    LongRate, Message, PacketQueue, QueueConfiguration, QueueDescription, QueueDescriptionProperties,
    QueueDescriptionProperty, QueueProperties, QueueProperty, QueueSelector, ShortRate, WithLength,
};
use brimful_openflow::{ErrorCode, ErrorMessage, port};

use crate::control::Switch;
use crate::ports::SwitchPort;

/// All queues of a port.
pub(super) const QUEUE_ALL: u32 = 0xffff_ffff;
/// Numbers of the properties for the least and the most rate.
const LEAST: u16 = 1;
const MOST: u16 = 2;
/// The largest rate that means something.
const WHOLE: u16 = 1000;

/// A port, or all of them.
pub(super) fn ports(switch: &Switch, number: u32) -> Result<impl Iterator<Item = Arc<SwitchPort>>, ErrorMessage> {
    if number != port::ANY && switch.ports.get(number).is_none() {
        return Err(ErrorCode::BAD_PORT.because(format!("there is no port {number}")));
    }
    Ok(switch
        .ports
        .all()
        .into_iter()
        .filter(move |port| number == port::ANY || port.number == number))
}

/// Queues with the rates that they have: number of the property, thousandths of the port's speed.
fn queues(port: &SwitchPort) -> impl Iterator<Item = (u32, Vec<(u16, u16)>)> + use<> {
    let rates = port.queue_rates();
    port.queue_counts().into_iter().map(move |counts| {
        let of = rates.iter().find(|rates| rates.queue == counts.queue);
        let rates = of.map_or(Vec::new(), |of| vec![(LEAST, of.min_rate), (MOST, of.max_rate)]);
        let rates = rates.into_iter().filter(|(_, rate)| *rate <= WHOLE);
        (counts.queue, rates.collect())
    })
}

fn ports_with_queues(switch: &Switch, number: u32) -> Result<impl Iterator<Item = Arc<SwitchPort>>, ErrorMessage> {
    ports(switch, number).map_err(|error| ErrorCode::QUEUE_PORT.because(error.detail))
}

/// The queues of a port (1.3).
pub(super) fn configuration(switch: &Switch, number: u32) -> Result<Message, ErrorMessage> {
    let queues = ports_with_queues(switch, number)?.flat_map(|port| {
        queues(&port).map(move |(queue, rates)| {
            let rate = |(number, rate)| QueueProperty::Rate(number, LongRate { rate });
            let properties = rates.into_iter().map(rate).collect();
            PacketQueue {
                queue,
                port: port.number,
                rest: WithLength(QueueProperties { properties }),
            }
        })
    });
    Ok(Message::QueueGetConfigReply(QueueConfiguration {
        port: number,
        queues: queues.collect(),
    }))
}

/// The queues of ports (1.4).
pub(super) fn descriptions(switch: &Switch, wanted: &QueueSelector) -> Result<Vec<QueueDescription>, ErrorMessage> {
    let all = ports_with_queues(switch, wanted.port)?.flat_map(|port| {
        queues(&port).map(move |(queue, rates)| {
            let rate = |(number, rate)| QueueDescriptionProperty::Rate(number, ShortRate { rate });
            let properties = rates.into_iter().map(rate).collect();
            QueueDescription {
                port: port.number,
                queue,
                rest: WithLength(QueueDescriptionProperties { properties }),
            }
        })
    });
    let found: Vec<_> = all
        .filter(|description| wanted.queue == QUEUE_ALL || description.queue == wanted.queue)
        .collect();
    if found.is_empty() && wanted.queue != QUEUE_ALL {
        return Err(ErrorCode::QUEUE_UNKNOWN.because(format!("there is no queue {}", wanted.queue)));
    }
    Ok(found)
}
