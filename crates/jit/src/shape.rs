//! What compiled code does with a frame that has met a rule. Rules that do the same with other numbers have the same
//! [`Shape`], which is compiled once; the numbers stand beside the rule. What has no shape is left to the interpreter's
//! own code.

use brimful_openflow::{Action, MatchField, port};
use brimful_pipeline::Instructions;

/// Numbers beside a rule at most.
pub(crate) const MOST_NUMBERS: usize = 8;

/// One step of compiled code.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Step {
    /// Writes the next number into a field.
    SetField(MatchField),
    /// Replaces the bits of the metadata that the second of the next two numbers has by those of the first.
    WriteMetadata,
}

/// How it ends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum End {
    /// Out of the port that the rule's value names.
    Output,
    /// On with a table.
    Goto(u8),
    /// No further.
    Drop,
}

/// What is done, without its numbers.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Shape {
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
    /// Whether it changes the action set, or would begin to do it: for frames without one only.
    pub(crate) uses_action_set: bool,
}

/// A rule's shape and its numbers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Shaped {
    pub(crate) shape: Shape,
    /// Those of the steps, and the port behind them.
    pub(crate) numbers: [u64; MOST_NUMBERS],
    /// Of [`End::Output`].
    pub(crate) port: u32,
}

/// The shape of instructions, if compiled code can do all of them.
pub(crate) fn shape_of(instructions: &Instructions) -> Option<Shaped> {
    let mut builder = Builder::default();
    if instructions.meter.is_some() {
        return None;
    }
    builder.actions(&instructions.apply)?;
    if !instructions.write.is_empty() {
        // The action set runs at the end of the pipeline, in an order of its own: fields, then the output.
        if instructions.goto.is_some() || builder.port.is_some() {
            return None;
        }
        let is_output = |action: &&Action| matches!(action, Action::Output { .. });
        let (outputs, others): (Vec<&Action>, Vec<&Action>) = instructions.write.iter().partition(is_output);
        others
            .into_iter()
            .chain(outputs)
            .try_for_each(|action| builder.action(action))?;
        if builder.port.is_none() {
            builder.steps.clear();
        }
    }
    if let Some((value, mask)) = instructions.metadata {
        builder.steps.push((Step::WriteMetadata, [value & mask, mask]));
    }
    let end = match (builder.port, instructions.goto) {
        (Some(_), Some(_)) => return None,
        (Some(_), None) => End::Output,
        (None, Some(table)) => End::Goto(table),
        (None, None) => End::Drop,
    };
    // An action set that waits is done by the interpreter, which knows the entry that it ends with.
    let is_last = !matches!(end, End::Goto(_));
    builder.finish(end, is_last || instructions.clear || !instructions.write.is_empty())
}

#[derive(Default)]
struct Builder {
    steps: Vec<(Step, [u64; 2])>,
    port: Option<u32>,
}

impl Builder {
    fn actions(&mut self, actions: &[Action]) -> Option<()> {
        actions.iter().try_for_each(|action| self.action(action))
    }

    fn action(&mut self, action: &Action) -> Option<()> {
        // A copy has left: what comes behind is for another frame.
        if self.port.is_some() {
            return None;
        }
        match *action {
            Action::Output { port, .. } if port <= port::MAX => self.port = Some(port),
            Action::SetField { field, value } if is_compiled(field) => {
                // Only the last value of a field that is written twice is ever seen.
                self.steps.retain(|(step, _)| *step != Step::SetField(field));
                self.steps.push((Step::SetField(field), [value as u64, 0]));
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(self, end: End, uses_action_set: bool) -> Option<Shaped> {
        let mut numbers = [0; MOST_NUMBERS];
        let mut places = numbers.iter_mut();
        for (step, values) in &self.steps {
            for value in &values[..step.numbers()] {
                *places.next()? = *value;
            }
        }
        *places.next()? = self.port.unwrap_or(0).into();
        Some(Shaped {
            shape: Shape {
                steps: self.steps.into_iter().map(|(step, _)| step).collect(),
                end,
                uses_action_set,
            },
            numbers,
            port: self.port.unwrap_or(0),
        })
    }
}

impl Step {
    /// How many numbers it takes.
    pub(crate) fn numbers(self) -> usize {
        match self {
            Self::SetField(_) => 1,
            Self::WriteMetadata => 2,
        }
    }
}

/// Fields that compiled code writes itself.
fn is_compiled(field: MatchField) -> bool {
    use MatchField as F;
    matches!(
        field,
        F::EthDst
            | F::EthSrc
            | F::VlanVid
            | F::VlanPcp
            | F::IpDscp
            | F::IpEcn
            | F::Ipv4Src
            | F::Ipv4Dst
            | F::TcpSrc
            | F::TcpDst
            | F::UdpSrc
            | F::UdpDst
            | F::TunnelId
    )
}
