use std::fmt;

use brimful_frame::{MAX_FRAME_SIZE, MacAddress};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::arrivals::Received;
use super::frame::SMALLEST_FRAME_SIZE;

/// Frames of one sequence: each needs a bit of memory at every port.
const MOST_FRAMES: u64 = 1 << 30;
const MOST_SEQUENCES: usize = 256;

/// One line from the driver.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Request {
    /// What are the ports?
    Describe,
    /// Send these.
    Send(SendRequest),
}

/// Sequences that are sent at once.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct SendRequest {
    /// Comes back in the reply.
    pub id: Value,
    /// All that is sent.
    pub sequences: Vec<SequenceRequest>,
    /// How long nothing may arrive before the wait for stragglers ends.
    pub settle_s: f64,
}

/// What one port sends.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct SequenceRequest {
    /// Number of the port, from 0.
    pub port: usize,
    /// Senders of the frames, in turns.
    pub sources: MacList,
    /// Their receivers, in turns.
    pub destinations: MacList,
    /// Bytes of each frame, check sequence included.
    pub frame_size: usize,
    /// Number of frames.
    pub count: u64,
    /// Frames per second.
    pub rate: f64,
}

/// Ethernet addresses, at least one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MacList(Vec<MacAddress>);

/// What came of a [`SendRequest`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reply {
    /// Of the request.
    pub id: Value,
    /// In the order of the request.
    pub sequences: Vec<SequenceReply>,
    /// At each port, test frames that arrived damaged.
    pub damaged: Vec<u64>,
    /// At each port, frames that are none of this request.
    pub foreign: Vec<u64>,
    /// At each port, frames that arrived and that this program had no room for.
    pub dropped: Vec<u64>,
}

/// What came of one sequence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SequenceReply {
    /// Number of the port that sent it.
    pub port: usize,
    /// Frames sent.
    pub sent: u64,
    /// Why the interface took no more of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// From the first frame to the last.
    pub duration_s: f64,
    /// The most frames that were due and not yet sent: they were then sent in one burst.
    pub most_behind: u64,
    /// At each port.
    pub received: Vec<Received>,
}

impl SendRequest {
    /// Checks what can be checked without the ports but their number.
    ///
    /// # Errors
    /// Names the field that makes no sense.
    pub fn check(&self, ports: usize) -> Result<(), String> {
        if self.sequences.is_empty() || self.sequences.len() > MOST_SEQUENCES {
            let count = self.sequences.len();
            return Err(format!("sequences: there are {count}; send 1 to {MOST_SEQUENCES}"));
        }
        if !(0.0..=60.0).contains(&self.settle_s) {
            return Err(format!("settle_s: {} is not from 0 to 60", self.settle_s));
        }
        self.sequences.iter().try_for_each(|sequence| sequence.check(ports))
    }
}

impl SequenceRequest {
    fn check(&self, ports: usize) -> Result<(), String> {
        let sizes = SMALLEST_FRAME_SIZE..=MAX_FRAME_SIZE;
        if self.port >= ports {
            return Err(format!(
                "port: {} is none of the {ports} ports, counted from 0",
                self.port
            ));
        }
        if !sizes.contains(&self.frame_size) {
            let (size, least, most) = (self.frame_size, sizes.start(), sizes.end());
            return Err(format!("frame_size: {size} is not from {least} to {most} bytes"));
        }
        if !(1..=MOST_FRAMES).contains(&self.count) {
            return Err(format!("count: {} is not from 1 to {MOST_FRAMES}", self.count));
        }
        if !(1e-3..=1e9).contains(&self.rate) {
            return Err(format!("rate: {} is not from 0.001 to 1e9 frames/s", self.rate));
        }
        Ok(())
    }
}

impl MacList {
    /// The address of a frame.
    pub(super) fn of(&self, frame: u64) -> MacAddress {
        self.0[(frame % self.0.len() as u64) as usize]
    }
}

impl From<MacAddress> for MacList {
    fn from(address: MacAddress) -> Self {
        Self(vec![address])
    }
}

impl<'de> Deserialize<'de> for MacList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let addresses: Vec<_> = texts
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()
            .map_err(refusal)?;
        if addresses.is_empty() {
            return Err(refusal("a list of addresses is empty"));
        }
        Ok(Self(addresses))
    }
}

fn refusal<E: de::Error>(reason: impl fmt::Display) -> E {
    E::custom(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(fields: &str) -> Result<SendRequest, String> {
        let sequence = r#""port":0,"sources":["02:00:00:00:00:01"],"destinations":["ff:ff:ff:ff:ff:ff"]"#;
        let line = format!(r#"{{"op":"send","id":1,"settle_s":0.1,"sequences":[{{{sequence},{fields}}}]}}"#);
        match serde_json::from_str(&line).map_err(|error| error.to_string())? {
            Request::Send(request) => request.check(2).map(|()| request),
            Request::Describe => Err("no".to_owned()),
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        assert!(request(r#""frame_size":64,"count":1,"rate":1"#).is_ok());
        for (fields, named) in [
            (r#""frame_size":35,"count":1,"rate":1"#, "frame_size"),
            (r#""frame_size":64,"count":0,"rate":1"#, "count"),
            (r#""frame_size":64,"count":1,"rate":0"#, "rate"),
            (r#""frame_size":64,"count":1"#, "rate"),
            (r#""frame_size":64,"count":1,"rate":1,"port":2"#, "port"),
        ] {
            let error = request(fields).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
        let list = |text| serde_json::from_str::<MacList>(text).map_err(|error| error.to_string());
        assert!(list("[]").unwrap_err().contains("is empty"));
        assert!(list(r#"["02:00"]"#).unwrap_err().contains("02:00"));
    }

    #[test]
    fn addresses_come_in_turns() {
        let list: MacList = serde_json::from_str(r#"["02:00:00:00:00:01","02:00:00:00:00:02"]"#).unwrap();
        let last_octet = |frame| list.of(frame).0[5];
        assert_eq!([0, 1, 2, 3].map(last_octet), [1, 2, 1, 2]);
    }
}
