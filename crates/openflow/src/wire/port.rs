//! Ports: their description and changes of them. Versions differ in order and in properties.

use std::fmt;

use super::describe::{properties, structure};
use super::{Data, EthernetAddress, Name, Reader, Version, Wire, WithLength, Writer};
use crate::ErrorMessage;

structure! {
    /// What an Ethernet port can do (bits of `OFPPF`), and its speeds in kbit/s.
    EthernetFeatures {
        /// What is in force.
        current: u32;
        /// What it offers.
        advertised: u32;
        /// What it could.
        supported: u32;
        /// What the other end offers.
        peer: u32;
        /// Speed now.
        current_speed: u32;
        /// Largest speed.
        maximum_speed: u32;
    }
}

structure! {
    /// The same with the zeroes of the property of 1.4.
    EthernetDescription {
        [pad 4]
        /// What it can do.
        features: EthernetFeatures;
    }
}

structure! {
    /// What an optical port can do (1.4).
    OpticalDescription {
        [pad 4]
        /// Bits of `OFPOPF`.
        supported: u32;
        /// Smallest, largest and grid of the transmitter's frequency or wavelength, smallest of the receiver's.
        transmitter: [u32; 4];
        /// Largest of the receiver's.
        receiver_maximum: u32;
        /// Grid of the receiver's.
        receiver_grid: u32;
        /// Smallest power of the transmitter.
        power_minimum: u16;
        /// Largest power of the transmitter.
        power_maximum: u16;
    }
}

properties! {
    /// What kind of port it is.
    PortProperty {
        /// Ethernet.
        Ethernet(EthernetDescription) = 0,
        /// Optical.
        Optical(OpticalDescription) = 1,
    }
}

/// A port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Port {
    /// Its number.
    pub number: u32,
    /// Its address.
    pub address: EthernetAddress,
    /// Its name.
    pub name: Name<16>,
    /// Bits of [`port_config`].
    pub config: u32,
    /// Bits of [`port_state`].
    pub state: u32,
    /// What kind of port it is: exactly one Ethernet in 1.3.
    pub properties: Vec<PortProperty>,
}

/// Bits of [`Port::config`].
pub mod port_config {
    /// It is down by order of a controller.
    pub const PORT_DOWN: u32 = 1;
    /// What comes in is dropped.
    pub const NO_RECEIVE: u32 = 1 << 2;
    /// What should go out is dropped.
    pub const NO_FORWARD: u32 = 1 << 5;
    /// What comes in never goes to controllers.
    pub const NO_PACKET_IN: u32 = 1 << 6;
}

/// Bits of [`Port::state`].
pub mod port_state {
    /// There is no link.
    pub const LINK_DOWN: u32 = 1;
    /// It is blocked.
    pub const BLOCKED: u32 = 2;
    /// Fast failover may use it.
    pub const LIVE: u32 = 4;
}

structure! {
    /// What follows number and length in a port of 1.4.
    PortRest {
        [pad 2]
        address: EthernetAddress, pad 2;
        name: Name<16>;
        config: u32;
        state: u32;
        properties: Vec<PortProperty>;
    }
}

structure! {
    /// A port of 1.3.
    PortOf13 {
        number: u32, pad 4;
        address: EthernetAddress, pad 2;
        name: Name<16>;
        config: u32;
        state: u32;
        features: EthernetFeatures;
    }
}

impl Port {
    /// What it says of Ethernet.
    pub fn ethernet(&self) -> Option<&EthernetFeatures> {
        self.properties.iter().find_map(|property| match property {
            PortProperty::Ethernet(_, description) => Some(&description.features),
            _ => None,
        })
    }
}

impl Wire for Port {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        if reader.version == Version::V13 {
            let PortOf13 {
                number,
                address,
                name,
                config,
                state,
                features,
            } = Wire::decode(reader)?;
            let properties = vec![PortProperty::Ethernet(0, EthernetDescription { features })];
            return Ok(Self {
                number,
                address,
                name,
                config,
                state,
                properties,
            });
        }
        let number = u32::decode(reader)?;
        let WithLength::<4, PortRest>(rest) = Wire::decode(reader)?;
        let PortRest {
            address,
            name,
            config,
            state,
            properties,
        } = rest;
        Ok(Self {
            number,
            address,
            name,
            config,
            state,
            properties,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        let &Self {
            number,
            address,
            name,
            config,
            state,
            ..
        } = self;
        if writer.version == Version::V13 {
            let features = self.ethernet().cloned().unwrap_or(NO_FEATURES);
            return PortOf13 {
                number,
                address,
                name,
                config,
                state,
                features,
            }
            .encode(writer);
        }
        let properties = self.properties.clone();
        number.encode(writer);
        WithLength::<4, _>(PortRest {
            address,
            name,
            config,
            state,
            properties,
        })
        .encode(writer);
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}(", self.number)?;
        self.name.text(formatter)?;
        formatter.write_str("): addr:")?;
        self.address.text(formatter)?;
        write!(formatter, " config:{:#x} state:{:#x}", self.config, self.state)?;
        if let Some(features) = self.ethernet() {
            write!(formatter, " speed:{}", features.current_speed)?;
        }
        Ok(())
    }
}

const NO_FEATURES: EthernetFeatures = EthernetFeatures {
    current: 0,
    advertised: 0,
    supported: 0,
    peer: 0,
    current_speed: 0,
    maximum_speed: 0,
};

properties! {
    /// What a port-mod of 1.4 changes besides.
    PortModProperty {
        /// What Ethernet offers.
        Ethernet(u32) = 0,
    }
}

/// A change of a port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PortMod {
    /// Which port.
    pub number: u32,
    /// Its address, lest the wrong one is changed.
    pub address: EthernetAddress,
    /// Bits of [`port_config`].
    pub config: u32,
    /// Which of them change.
    pub mask: u32,
    /// What it offers: exactly one Ethernet in 1.3.
    pub properties: Vec<PortModProperty>,
}

impl Wire for PortMod {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
        let number = u32::decode(reader)?;
        reader.take(4)?;
        let address = Wire::decode(reader)?;
        reader.take(2)?;
        let (config, mask) = (Wire::decode(reader)?, Wire::decode(reader)?);
        let properties = if reader.version == Version::V13 {
            let advertised = u32::decode(reader)?;
            reader.take(4)?;
            vec![PortModProperty::Ethernet(0, advertised)]
        } else {
            Wire::decode(reader)?
        };
        Ok(Self {
            number,
            address,
            config,
            mask,
            properties,
        })
    }

    fn encode(&self, writer: &mut Writer) {
        self.number.encode(writer);
        writer.pad(4);
        self.address.encode(writer);
        writer.pad(2);
        self.config.encode(writer);
        self.mask.encode(writer);
        if writer.version == Version::V13 {
            let mut advertised = self.properties.iter().filter_map(|property| match property {
                PortModProperty::Ethernet(_, advertised) => Some(*advertised),
                PortModProperty::Other(..) => None,
            });
            advertised.next().unwrap_or(0).encode(writer);
            writer.pad(4);
        } else {
            self.properties.encode(writer);
        }
    }

    fn text(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "port={},addr=", self.number)?;
        self.address.text(formatter)?;
        write!(formatter, ",config={:#x}/{:#x}", self.config, self.mask)
    }
}

structure! {
    /// That a port came, went or changed.
    PortStatus {
        /// 0 came, 1 went, 2 changed.
        reason: u8, pad 7;
        /// The port as it is now.
        port: Port;
    }
}

structure! {
    /// A message of a kind that an experimenter defines.
    Experimenter {
        /// Who.
        experimenter: u32;
        /// Which of theirs.
        kind: u32;
        /// What.
        data: Data;
    }
}
