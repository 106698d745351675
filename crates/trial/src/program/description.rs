use serde::Serialize;
use serde_json::{Map, Value};

/// What a program says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them")]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// What a load counts.
    pub load_unit: &'static str,
    /// Of what a load is the load.
    pub load_scope: &'static str,
    /// Aggregate load / load.
    pub conversion_factor: f64,
    /// When a unit counts as lost.
    pub contract: String,
    /// The largest load it can offer, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_load: Option<f64>,
    /// A load that the device cannot take, as a quick try showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<f64>,
    /// The shortest trial that makes sense.
    pub min_duration_s: f64,
    /// Whether it obeys `stop_above_loss_ratio`.
    pub can_stop_early: bool,
    /// Whether it answers `calibrate`.
    pub can_calibrate: bool,
    /// Whether its replies have the delay of the units.
    pub tells_delay: bool,
    /// Whether the processors of this machine send the units.
    pub on_this_machine: bool,
    /// Everything about the units.
    pub traffic: Map<String, Value>,
    /// Everything about the device, where something is known.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub device: Map<String, Value>,
}
