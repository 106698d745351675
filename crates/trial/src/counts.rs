use thiserror::Error;

use crate::Ratio;

/// What was counted in one trial, summed over all output interfaces.
///
/// Loss ratio is `(lost + unsent) / max(intended, sent)`: what the tester failed to offer counts as loss, so a slow
/// tester cannot flatter a device. Where nothing was offered the loss ratio is 0.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Counts {
    intended: u64,
    sent: u64,
    lost: u64,
}

/// Counts that cannot be.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("lost {lost} is more than sent {sent}")]
pub struct CountsError {
    /// Units offered.
    pub sent: u64,
    /// Units said to be lost.
    pub lost: u64,
}

impl Counts {
    /// Counts of a trial that meant to offer `intended` units, offered `sent`, and lost `lost` of those.
    ///
    /// # Errors
    /// When more was lost than sent.
    pub fn new(intended: u64, sent: u64, lost: u64) -> Result<Self, CountsError> {
        if lost > sent {
            return Err(CountsError { sent, lost });
        }
        Ok(Self { intended, sent, lost })
    }

    /// Units that the trial meant to offer.
    pub fn intended(self) -> u64 {
        self.intended
    }

    /// Units offered.
    pub fn sent(self) -> u64 {
        self.sent
    }

    /// Units offered and not forwarded.
    pub fn lost(self) -> u64 {
        self.lost
    }

    /// Units that the tester failed to offer.
    pub fn unsent(self) -> u64 {
        self.intended.saturating_sub(self.sent)
    }

    /// Units not forwarded, for whichever reason: the numerator of the loss ratio.
    pub fn missing(self) -> u64 {
        self.lost + self.unsent()
    }

    /// Units that should have been forwarded: the denominator of the loss ratio.
    pub fn expected(self) -> u64 {
        self.intended.max(self.sent)
    }

    /// The exact loss ratio (MLRsearch-15 Trial Loss Ratio).
    pub fn loss_ratio(self) -> Ratio {
        Ratio::new(self.missing(), self.expected()).unwrap_or(Ratio::ZERO)
    }

    /// Whether the loss ratio is strictly above the threshold: a high-loss trial (MLRsearch-15 Goal Loss Ratio).
    pub fn loss_exceeds(self, threshold: Ratio) -> bool {
        u128::from(self.missing()) * u128::from(threshold.denominator())
            > u128::from(self.expected()) * u128::from(threshold.numerator())
    }

    /// Whether a trial with these counts so far will exceed the threshold however it goes on.
    pub fn loss_is_certain_to_exceed(self, threshold: Ratio) -> bool {
        u128::from(self.lost) * u128::from(threshold.denominator())
            > u128::from(self.expected()) * u128::from(threshold.numerator())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsent_counts_as_loss() {
        let counts = Counts::new(1000, 990, 5).unwrap();
        assert_eq!(counts.loss_ratio(), Ratio::new(15, 1000).unwrap());
        assert!(counts.loss_exceeds(Ratio::new(1, 100).unwrap()));
        assert!(!counts.loss_exceeds(Ratio::new(15, 1000).unwrap()));
    }

    #[test]
    fn more_sent_than_intended_is_no_loss() {
        assert_eq!(Counts::new(10, 11, 0).unwrap().loss_ratio(), Ratio::ZERO);
    }

    #[test]
    fn nothing_offered_is_no_loss() {
        let nothing = Counts::default();
        assert_eq!(nothing.loss_ratio(), Ratio::ZERO);
        assert!(!nothing.loss_exceeds(Ratio::ZERO));
    }

    #[test]
    fn one_frame_in_many_is_seen() {
        let counts = Counts::new(u64::MAX / 2, u64::MAX / 2, 1).unwrap();
        assert!(counts.loss_exceeds(Ratio::ZERO));
    }
}
