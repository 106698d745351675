use serde::Deserialize;
use serde_json::Value;

use crate::{Load, Nanoseconds, Ratio, TrialInput};

/// One line from the driver.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Request {
    /// What are you?
    Describe,
    /// How much can you do?
    Calibrate,
    /// One trial.
    Measure(MeasureRequest),
}

/// One trial as it is asked for.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct MeasureRequest {
    /// Comes back in the reply.
    pub id: Value,
    /// Load of each direction.
    pub load: f64,
    /// Length of the sending phase.
    pub duration_s: f64,
    /// Stop once more than this share is certainly lost.
    #[serde(default)]
    pub stop_above_loss_ratio: Option<f64>,
    /// Whether the reply shall have the batches and the histogram of the delays.
    #[serde(default)]
    pub detail: bool,
}

impl MeasureRequest {
    /// The trial, and the share of loss above which it may stop.
    ///
    /// # Errors
    /// Names the field that makes no sense.
    pub fn trial(&self) -> Result<(TrialInput, Option<Ratio>), String> {
        let duration = Nanoseconds::from_seconds(self.duration_s).map_err(|error| format!("duration_s: {error}"))?;
        if duration == Nanoseconds::ZERO {
            return Err("duration_s: a trial lasts longer than 0 s".to_owned());
        }
        let stop_above = self.stop_above_loss_ratio.map(Ratio::from_f64).transpose();
        let load = Load::new(self.load).map_err(|error| format!("load: {error}"))?;
        let stop_above = stop_above.map_err(|error| format!("stop_above_loss_ratio: {error}"))?;
        Ok((TrialInput { load, duration }, stop_above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Result<Request, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_are_read() {
        assert_eq!(request(r#"{"op": "describe"}"#), Ok(Request::Describe));
        assert_eq!(request(r#"{"op": "calibrate", "new": 1}"#), Ok(Request::Calibrate));
        let Ok(Request::Measure(measure)) =
            request(r#"{"op":"measure","id":1,"load":1e6,"duration_s":0.5,"stop_above_loss_ratio":0.005}"#)
        else {
            panic!("no request");
        };
        let (input, stop_above) = measure.trial().unwrap();
        assert_eq!(stop_above, Ratio::new(1, 200).ok());
        assert_eq!(input.duration, Nanoseconds(500_000_000));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (fields, name) in [
            (r#""load": 0, "duration_s": 1"#, "load"),
            (r#""load": 1, "duration_s": 0"#, "duration_s"),
            (r#""load": 1, "duration_s": -1"#, "duration_s"),
            (
                r#""load": 1, "duration_s": 1, "stop_above_loss_ratio": 2"#,
                "stop_above_loss_ratio",
            ),
        ] {
            let line = format!(r#"{{"op": "measure", "id": 1, {fields}}}"#);
            let Ok(Request::Measure(measure)) = request(&line) else {
                panic!("{line}");
            };
            assert!(measure.trial().unwrap_err().starts_with(name));
        }
        assert!(
            request(r#"{"op": "measure", "id": 1, "load": 1}"#)
                .unwrap_err()
                .contains("duration_s")
        );
        assert!(request("[]").is_err());
    }
}
