use brimful_trial::{Counts, Ratio};

use crate::lane::Lanes;
use crate::turn::End;
use crate::warnings::{unheard_answers, warnings};
use crate::{Cost, DirectionReport, PacingBounds, PortReport, Warning};

/// What is known after a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialReport {
    /// Sums over all directions.
    pub counts: Counts,
    /// Whether it was stopped because of loss.
    pub stopped_early: bool,
    /// Each direction apart.
    pub directions: Vec<DirectionReport>,
    /// Where there are more than two ports.
    pub ports: Option<PortsReport>,
    /// What sending and receiving cost, each thread apart.
    pub costs: Vec<Cost>,
    /// What a reader of the counts should know.
    pub warnings: Vec<Warning>,
}

/// What is known of more than two ports after a trial.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PortsReport {
    /// Each port apart.
    pub ports: Vec<PortReport>,
    /// The most frames by which a port was ahead of another one at any time: the first one has sent while the last one
    /// has not, so that it is 1 at least. Outputs were overloaded by up to as many.
    /// Nothing where one port sends.
    pub slip_frames: Option<u64>,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It counts.
    Counted(TrialReport),
    /// The tester or the link spoiled it.
    Invalid {
        /// What happened, with the figure.
        reason: String,
        /// Whether the sender did not keep its schedule: it had too little of a processor, or too much to send.
        is_off_schedule: bool,
        /// What was seen nevertheless.
        report: TrialReport,
    },
    /// It was called off.
    Interrupted,
}

/// What a trial is judged by.
pub(crate) struct Evidence<'t> {
    /// Of the ports.
    pub(crate) names: Vec<&'t str>,
    pub(crate) lanes: &'t Lanes,
    /// Frames of earlier trials that arrived.
    pub(crate) stale: u64,
    /// Of the ports, how often the same address was asked for in a row, in vain.
    pub(crate) asked_in_vain: Vec<Option<u64>>,
    pub(crate) costs: Vec<Cost>,
}

impl Evidence<'_> {
    /// Says whether the trial counts; `spoiled` says why ports and interfaces think it does not.
    pub(crate) fn judge(
        &self,
        end: End,
        stop_above: Option<Ratio>,
        spoiled: Option<String>,
        bounds: &PacingBounds,
    ) -> Outcome {
        match end {
            End::Interrupted => return Outcome::Interrupted,
            End::LinkDown(port) => return self.link_down(port),
            End::WrongClock(flaw) => return self.invalid(flaw.to_string()),
            End::Schedule | End::Loss | End::OffSchedule => {}
        }
        if let Some(reason) = spoiled {
            return self.invalid(reason);
        }
        for sending in &self.lanes.sending {
            if let Err(spoiled) = sending.pacing.verdict(bounds, end != End::Schedule) {
                return Outcome::Invalid {
                    reason: format!("{}: {spoiled}", self.names[sending.from]),
                    is_off_schedule: true,
                    report: self.report(false),
                };
            }
        }
        let report = self.report(end == End::Loss);
        if let (End::Loss, Some(limit)) = (end, stop_above)
            && !report.counts.loss_is_certain_to_exceed(limit)
        {
            let reason = "frames taken for lost arrived after the trial was stopped: \
                          the device delays frames longer than the stop grace time (--stop-grace)";
            return self.invalid(reason.to_owned());
        }
        Outcome::Counted(report)
    }

    pub(crate) fn link_down(&self, port: usize) -> Outcome {
        self.invalid(format!("the link of {} is down", self.names[port]))
    }

    fn invalid(&self, reason: String) -> Outcome {
        Outcome::Invalid {
            reason,
            is_off_schedule: false,
            report: self.report(false),
        }
    }

    fn report(&self, stopped_early: bool) -> TrialReport {
        let directions = self.lanes.report(&self.names);
        let (intended, sent, lost) = directions.iter().fold((0, 0, 0), |(intended, sent, lost), direction| {
            (
                intended + direction.intended,
                sent + direction.sent,
                lost + direction.lost,
            )
        });
        let ports = (self.names.len() > 2).then(|| PortsReport {
            ports: PortReport::of_all(&self.names, &directions, &self.lanes.sending),
            slip_frames: (self.lanes.sending.len() > 1).then_some(self.lanes.slip),
        });
        TrialReport {
            counts: Counts::new(intended, sent, lost).expect("no more is lost than was sent, or sent than intended"),
            stopped_early,
            costs: self.costs.clone(),
            warnings: self.warnings(&directions, ports.as_ref()),
            directions,
            ports,
        }
    }
    fn warnings(&self, directions: &[DirectionReport], ports: Option<&PortsReport>) -> Vec<Warning> {
        let of_counts = warnings(directions, ports.map(|report| &report.ports[..]), self.stale);
        let asked = self.names.iter().zip(&self.asked_in_vain);
        let in_vain = asked.filter_map(|(name, asked)| Some(unheard_answers(name, (*asked)?)));
        of_counts.into_iter().chain(in_vain).collect()
    }
}
