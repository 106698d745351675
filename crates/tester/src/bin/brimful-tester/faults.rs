use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use brimful_netdev::{FaultPlan, Faults};
use brimful_trial::program::parse_time;

/// Frames that overtake a reordered one where nothing else is said.
const REORDER_DISTANCE: usize = 3;
/// Frames lost in a row where nothing else is said.
const BURST_LEN: u64 = 10;

/// Faults as they were asked for, `[INTERFACE/]send|receive:key=value,...`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FaultRequest {
    /// All of them, where there is none.
    interface: Option<String>,
    way: Way,
    faults: Faults,
    seed: u64,
    text: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Send,
    Receive,
}

impl FaultRequest {
    /// What one interface suffers; `None` where it is spared.
    pub(crate) fn plan(requests: &[Self], interface: &str) -> Option<FaultPlan> {
        let mut plan = None;
        for request in requests.iter().filter(|request| request.is_for(interface)) {
            let plan = plan.get_or_insert_with(FaultPlan::default);
            match request.way {
                Way::Send => plan.sending = request.faults,
                Way::Receive => plan.receiving = request.faults,
            }
            // Interfaces differ, or the same frames would suffer both ways.
            plan.seed ^= request.seed ^ interface.bytes().fold(0, |sum, byte| sum << 8 | u64::from(byte));
        }
        plan
    }

    /// Checks that it is about one of these.
    pub(crate) fn check(&self, interfaces: &[String]) -> Result<(), String> {
        match &self.interface {
            Some(name) if !interfaces.contains(name) => Err(format!("--fault {self}: there is no --port {name}")),
            _ => Ok(()),
        }
    }

    fn is_for(&self, interface: &str) -> bool {
        self.interface.as_deref().is_none_or(|name| name == interface)
    }
}

impl fmt::Display for FaultRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for FaultRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "write [INTERFACE/]send|receive:key=value,... like send:drop=0.001,seed=7";
        let (place, settings) = text.split_once(':').ok_or(form)?;
        let (interface, way) = match place.rsplit_once('/') {
            Some((interface, way)) => (Some(interface.to_owned()), way),
            None => (None, place),
        };
        let way = match way {
            "send" => Way::Send,
            "receive" => Way::Receive,
            _ => return Err(format!("`{way}` is neither send nor receive; {form}")),
        };
        let mut request = Self {
            interface,
            way,
            faults: Faults {
                reorder_distance: REORDER_DISTANCE,
                burst_len: BURST_LEN,
                ..Faults::default()
            },
            seed: 0,
            text: text.to_owned(),
        };
        for setting in settings.split(',') {
            let (key, value) = setting.split_once('=').ok_or(form)?;
            request.set(key, value)?;
        }
        let Faults {
            loss,
            burst_loss,
            duplication,
            reordering,
            corruption,
            ..
        } = request.faults;
        if loss + burst_loss + duplication + reordering + corruption > 1.0 {
            return Err("the shares add up to more than 1: a frame suffers one fault at most".to_owned());
        }
        Ok(request)
    }
}

impl FaultRequest {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let faults = &mut self.faults;
        match key {
            "drop" => faults.loss = share(value)?,
            "burst" => faults.burst_loss = share(value)?,
            "burst-length" => faults.burst_len = number(value)?,
            "duplicate" => faults.duplication = share(value)?,
            "reorder" => faults.reordering = share(value)?,
            "reorder-distance" => faults.reorder_distance = number(value)? as usize,
            "corrupt" => faults.corruption = share(value)?,
            "delay" => faults.delay = Duration::from_nanos(parse_time(value)?.0),
            "jitter" => faults.jitter = Duration::from_nanos(parse_time(value)?.0),
            "seed" => self.seed = number(value)?,
            _ => {
                return Err(format!(
                    "there is no fault `{key}`: drop, burst, burst-length, duplicate, reorder, reorder-distance, \
                     corrupt, delay, jitter, seed"
                ));
            }
        }
        Ok(())
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is no share from 0 to 1"))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no count"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<FaultRequest, String> {
        text.parse()
    }

    #[test]
    fn faults_are_read() {
        let requests = [
            request("send:drop=0.001,seed=7").unwrap(),
            request("tb/receive:delay=50us,jitter=1ms,burst=0.1,burst-length=3").unwrap(),
        ];
        let plan = FaultRequest::plan(&requests, "tb").unwrap();
        let expected = Faults {
            loss: 0.001,
            ..requests[0].faults
        };
        assert_eq!(plan.sending, expected);
        assert_eq!(plan.receiving.delay, Duration::from_micros(50));
        assert_eq!(plan.receiving.jitter, Duration::from_millis(1));
        assert_eq!((plan.receiving.burst_loss, plan.receiving.burst_len), (0.1, 3));
        let other = FaultRequest::plan(&requests, "ta").unwrap();
        assert_eq!(other.receiving, Faults::default());
        assert_ne!(other.seed, plan.seed);
        assert!(FaultRequest::plan(&requests[1..], "ta").is_none());
        let names = ["ta".to_owned(), "tc".to_owned()];
        assert!(requests[0].check(&names).is_ok());
        assert!(requests[1].check(&names).unwrap_err().contains("no --port tb"));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, expected) in [
            ("", "send|receive"),
            ("drop=1", "send|receive"),
            ("both:drop=1", "`both`"),
            ("send:drop", "key=value"),
            ("send:drop=2", "`2` is no share"),
            ("send:drop=NaN", "no share"),
            ("send:loss=1", "no fault `loss`: drop"),
            ("send:delay=soon", "`soon` is no time"),
            ("send:seed=-1", "no count"),
            ("send:drop=0.6,reorder=0.6", "more than 1"),
        ] {
            let message = request(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
