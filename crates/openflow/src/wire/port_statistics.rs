//! Statistics of ports. Versions differ in order and in properties.

use std::fmt;

use super::describe::{properties, structure};
use super::{Reader, Version, Wire, WithLength, Writer};
use crate::ErrorMessage;

structure! {
    /// Frames and bytes of a port; all ones where it does not count something.
    PortCounts {
        received_packets: u64;
        sent_packets: u64;
        received_bytes: u64;
        sent_bytes: u64;
        receive_drops: u64;
        send_drops: u64;
        receive_errors: u64;
        send_errors: u64;
    }
}

structure! {
    /// What an Ethernet port counts besides.
    EthernetCounts {
        frame_errors: u64;
        overruns: u64;
        checksum_errors: u64;
        collisions: u64;
    }
}

structure! {
    /// How long something has been there.
    Age {
        seconds: u32;
        nanoseconds: u32;
    }
}

/// The statistics of a port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PortStatistics {
    /// Which port.
    pub port: u32,
    /// What every port counts.
    pub counts: PortCounts,
    /// What Ethernet counts; always there in 1.3.
    pub ethernet: Option<EthernetCounts>,
    /// How long it has been there.
    pub age: Age,
}

structure! {
    PortStatisticsOf13 {
        port: u32, pad 4;
        counts: PortCounts;
        ethernet: EthernetCounts;
        age: Age;
    }
}

structure! {
    EthernetCountsProperty {
        [pad 4]
        counts: EthernetCounts;
    }
}

properties! {
    PortStatisticsProperty {
        Ethernet(EthernetCountsProperty) = 0,
    }
}

structure! {
    PortStatisticsOf14 {
        [pad 2]
        port: u32;
        age: Age;
        counts: PortCounts;
        properties: Vec<PortStatisticsProperty>;
    }
}

impl Wire for PortStatistics {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        if reader.version == Version::V13 {
            let all = PortStatisticsOf13::decode(reader)?;
            return Ok(Self {
                port: all.port,
                counts: all.counts,
                ethernet: Some(all.ethernet),
                age: all.age,
            });
        }
        let WithLength::<0, PortStatisticsOf14>(all) = Wire::decode(reader)?;
        let ethernet = all.properties.into_iter().find_map(|property| match property {
            PortStatisticsProperty::Ethernet(_, given) => Some(given.counts),
            PortStatisticsProperty::Other(..) => None,
        });
        Ok(Self {
            port: all.port,
            counts: all.counts,
            ethernet,
            age: all.age,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        let Self {
            port,
            counts,
            ethernet,
            age,
        } = self.clone();
        if writer.version == Version::V13 {
            let ethernet = ethernet.unwrap_or(NOT_COUNTED);
            return PortStatisticsOf13 {
                port,
                counts,
                ethernet,
                age,
            }
            .encode(writer);
        }
        let property = |counts| PortStatisticsProperty::Ethernet(0, EthernetCountsProperty { counts });
        let properties = ethernet.map(property).into_iter().collect();
        WithLength::<0, _>(PortStatisticsOf14 {
            port,
            age,
            counts,
            properties,
        })
        .encode(writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "port {}: ", self.port)?;
        self.counts.text(formatter)
    }
}

const NOT_COUNTED: EthernetCounts = EthernetCounts {
    frame_errors: u64::MAX,
    overruns: u64::MAX,
    checksum_errors: u64::MAX,
    collisions: u64::MAX,
};
