//! Changes of ports that controllers ask for.

use brimful_openflow::wire::PortMod;
use brimful_openflow::{ErrorCode, ErrorMessage};

use crate::control::Switch;
use crate::ports::port_config;

/// Whether a change of a port can be.
pub(super) fn check_port(switch: &Switch, change: &PortMod) -> Result<(), ErrorMessage> {
    let known = port_config::DOWN | port_config::NO_RECEIVE | port_config::NO_FORWARD | port_config::NO_PACKET_IN;
    let Some(port) = switch.ports.get(change.number) else {
        return Err(ErrorCode::PORT_UNKNOWN.because(format!("there is no port {}", change.number)));
    };
    if port.address() != change.address.0 {
        let text = |address: [u8; 6]| address.map(|byte| format!("{byte:02x}")).join(":");
        let (own, named) = (text(port.address()), text(change.address.0));
        return Err(ErrorCode::PORT_ADDRESS.because(format!("port {} has address {own}, not {named}", change.number)));
    }
    if change.mask & !known != 0 {
        return Err(ErrorCode::PORT_CONFIG.because(format!("configuration {:#x} is not known", change.mask)));
    }
    Ok(())
}

/// Does it.
pub(super) fn change_port(switch: &mut Switch, change: &PortMod) {
    switch.configure_port(change.number, change.config, change.mask);
}
