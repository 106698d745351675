use brimful_netdev::{Receiver, Sender};
use brimful_trial::program::{Description, Machine, MeasureRequest, Respond};
use serde_json::Value;

use crate::{Cabling, Calibration, Clock, Outcome, Reply, Tester, TrialPlan};

const NO_CEILING: &str = "calibration found no load that the tester carries";

/// A tester and what it says of itself, for the measurer protocol.
pub struct Service<'s, 't, S, R, C> {
    tester: &'s mut Tester<'t, S, R, C>,
    description: &'s Description,
    cabling: Cabling,
}

impl<'s, 't, S: Sender, R: Receiver, C: Clock> Service<'s, 't, S, R, C> {
    /// Answers for a tester.
    pub fn new(tester: &'s mut Tester<'t, S, R, C>, description: &'s Description, cabling: Cabling) -> Self {
        Self {
            tester,
            description,
            cabling,
        }
    }
}

impl<S: Sender, R: Receiver, C: Clock> Respond for Service<'_, '_, S, R, C> {
    type Reply = Reply;

    fn describe(&mut self) -> Reply {
        Reply::Description(Box::new(self.description.clone()))
    }

    fn calibrate(&mut self) -> Reply {
        let machine = Machine::watch();
        let error = match self.tester.calibrate(self.cabling) {
            Ok(Calibration::Ceiling(load)) => {
                return Reply::Calibration {
                    ceiling: load.per_second(),
                };
            }
            Ok(Calibration::OffSchedule(reason)) => format!("{NO_CEILING}: {reason}; {}", machine.hint()),
            Ok(Calibration::Failed(reason)) => format!("{NO_CEILING}: {reason}"),
            Ok(Calibration::Nothing) => nothing_came_back(machine.busy()),
            Err(error) => self.tester.failure(&error),
        };
        Reply::Error { id: None, error }
    }

    fn measure(&mut self, request: MeasureRequest) -> Option<Reply> {
        let machine = Machine::watch();
        let error = match TrialPlan::asked(&request) {
            Ok(plan) => match self.tester.measure(&plan) {
                Ok(
                    outcome @ Outcome::Invalid {
                        is_off_schedule: true, ..
                    },
                ) => {
                    return Some(Reply::of_trial(request, outcome)?.with_hint(machine.hint()));
                }
                Ok(outcome) => return Reply::of_trial(request, outcome),
                Err(error) => self.tester.failure(&error),
            },
            Err(error) => error,
        };
        Some(Reply::Error {
            id: Some(request.id),
            error,
        })
    }

    fn refuse(&mut self, id: Option<Value>, error: String) -> Reply {
        Reply::Error { id, error }
    }
}

fn nothing_came_back(busy: Option<String>) -> String {
    let cause = match busy {
        Some(signs) => format!("the machine is busy ({signs}): end other programs and try again"),
        None => "nothing arrived: are the ports cabled, to each other or to a device that forwards?".to_owned(),
    };
    format!("{NO_CEILING}: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_named_where_nothing_came_back() {
        let busy = nothing_came_back(Some("the load average is 9.00 on 2 processors".to_owned()));
        assert!(busy.ends_with(
            ": the machine is busy (the load average is 9.00 on 2 processors): end other programs and try again"
        ));
        assert!(
            nothing_came_back(None).starts_with("calibration found no load that the tester carries: nothing arrived")
        );
    }
}
