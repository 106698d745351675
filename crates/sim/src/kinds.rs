use std::fmt;

use crate::Quantity::{self, Load, Rate, Share, Span, Whole, YesNo};
use DefaultValue::{Derived, Text};

/// A kind of system under test.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// Every frame above capacity is lost.
    Sharp,
    /// Loss begins gradually below capacity.
    SoftKnee,
    /// Jitter every second, and some seconds dip deeply.
    Noisy,
    /// Rare short stalls that a queue does not always absorb.
    Stalls,
    /// Two regimes, slow drift, jitter, and stray drops at high load.
    Vhost,
    /// Forwards less the more it is overloaded.
    Livelock,
    /// The tester cannot offer more than a limit.
    TesterLimit,
    /// A band of loads loses while higher loads are clean.
    Inversion,
    /// A constant share is lost at every load.
    FlatLoss,
    /// A buffer of known size is drained at capacity.
    Buffer,
}

/// What there is to know about a kind, for help texts and documents.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// Which kind.
    pub kind: Kind,
    /// Its name, the first word of a specification.
    pub name: &'static str,
    /// What it does, in one line.
    pub description: &'static str,
    own: &'static [ParameterInfo],
}

/// What there is to know about a parameter.
#[derive(Clone, Copy, Debug)]
pub struct ParameterInfo {
    /// Its name, left of the equals sign.
    pub name: &'static str,
    /// What it does, in one line.
    pub description: &'static str,
    /// What it is measured in.
    pub quantity: Quantity,
    /// Its value when left out.
    pub default: DefaultValue,
}

/// The value of a parameter that was left out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DefaultValue {
    /// This text.
    Text(&'static str),
    /// Worked out from other parameters, as these words say.
    Derived(&'static str),
}

impl KindInfo {
    /// Every kind.
    pub(crate) const ALL: &'static [Self] = KINDS;

    /// The parameters that this kind understands: first those that every kind has, then its own.
    pub fn parameters(&self) -> impl Iterator<Item = &'static ParameterInfo> + use<> {
        COMMON.iter().chain(self.own)
    }

    /// The parameters that every kind has.
    pub fn common_parameters() -> &'static [ParameterInfo] {
        COMMON
    }
}

impl Kind {
    /// What there is to know about it.
    pub fn info(self) -> &'static KindInfo {
        &KINDS[self as usize]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.info().name)
    }
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Text(words) | Self::Derived(words)) = self;
        formatter.write_str(words)
    }
}

/// One row of a parameter table.
const fn parameter(
    name: &'static str,
    quantity: Quantity,
    default: DefaultValue,
    description: &'static str,
) -> ParameterInfo {
    ParameterInfo {
        name,
        description,
        quantity,
        default,
    }
}

const COMMON: &[ParameterInfo] = &[
    parameter(
        "capacity",
        Load,
        Derived("drawn from the seed between 1/3 and 0.9 of link"),
        "the highest load that the system forwards in quiet times",
    ),
    parameter("seed", Whole, Text("1"), "which weather the system meets"),
    parameter(
        "link",
        Load,
        Text("14.88Mpps"),
        "the rate of the link, the largest load that a trial should offer",
    ),
    parameter(
        "overhead",
        Span,
        Text("0s"),
        "virtual time that each trial costs beyond its duration",
    ),
    parameter(
        "overhead-counts",
        YesNo,
        Text("no"),
        "whether the effective duration of a trial includes the overhead",
    ),
    parameter("rest", Span, Text("2s"), "silence after a trial that was stopped early"),
    parameter(
        "delay",
        Span,
        Text("0s"),
        "99th percentile of the delay without load, growing as 1 / (1 - load / capacity); 0s tells no delay",
    ),
];

/// In the order of [`Kind`]. The defaults of the weather are chosen so that searches find the
/// throughputs, spreads and search times that were published or measured for systems of these characters.
const KINDS: &[KindInfo] = &[
    KindInfo {
        kind: Kind::Sharp,
        name: "sharp",
        description: "every frame above capacity is lost, none below",
        own: &[],
    },
    KindInfo {
        kind: Kind::SoftKnee,
        name: "soft-knee",
        description: "loss begins gradually, a few frames a second several per cent below capacity",
        own: &[parameter(
            "softness",
            Share,
            Text("0.5%"),
            "share of capacity over which loss grows by a factor of e below capacity",
        )],
    },
    KindInfo {
        kind: Kind::Noisy,
        name: "noisy",
        description: "capacity jitters every second, and some seconds dip deeply",
        own: &[
            JITTER,
            parameter("dips", Share, Text("3%"), "share of the time that is dips"),
            parameter(
                "dip-least",
                Share,
                Text("5%"),
                "share of capacity that the shallowest dip takes away",
            ),
            parameter(
                "dip-most",
                Share,
                Text("30%"),
                "share of capacity that the deepest dip takes away",
            ),
            parameter("dip-length", Span, Text("1s"), "how long a dip lasts"),
        ],
    },
    KindInfo {
        kind: Kind::Stalls,
        name: "stalls",
        description: "sharp, but every half minute or so it stops for less than a tenth of a second",
        own: &[
            parameter("stall-every", Span, Text("35s"), "mean time between stalls"),
            parameter("stall-least", Span, Text("60ms"), "length of the shortest stall"),
            parameter("stall-most", Span, Text("85ms"), "length of the longest stall"),
            parameter(
                "queue",
                Span,
                Text("60ms"),
                "how much of what arrives at capacity the queue takes in a stall, as time",
            ),
        ],
    },
    KindInfo {
        kind: Kind::Vhost,
        name: "vhost",
        description: "dwells in one of two regimes, drifts, jitters, and drops stray frames at high load",
        own: &[
            parameter(
                "gap",
                Share,
                Text("6%"),
                "share of capacity that the lower regime lacks",
            ),
            parameter(
                "dwell",
                Span,
                Text("20s"),
                "how long a regime lasts before it is drawn again",
            ),
            parameter(
                "drift",
                Share,
                Text("1.5%"),
                "largest share of capacity that drift adds or takes away",
            ),
            parameter(
                "jitter",
                Share,
                Text("0.3%"),
                "standard deviation of each second's capacity, as a share",
            ),
            parameter(
                "stray",
                Rate,
                Text("1.3pps"),
                "frames lost a second when the load is the capacity",
            ),
            parameter(
                "stray-above",
                Share,
                Text("85%"),
                "share of capacity from which stray frames are lost, evenly more with load",
            ),
        ],
    },
    KindInfo {
        kind: Kind::Livelock,
        name: "livelock",
        description: "forwards less the more it is overloaded",
        own: &[
            JITTER,
            parameter(
                "collapse",
                Share,
                Text("0.5"),
                "frames no longer forwarded for each frame above capacity",
            ),
            parameter(
                "floor",
                Share,
                Text("30%"),
                "share of capacity that is forwarded whatever the overload",
            ),
        ],
    },
    KindInfo {
        kind: Kind::TesterLimit,
        name: "tester-limit",
        description: "sharp, but the tester cannot offer more than a limit; what it does not send counts as loss",
        own: &[parameter(
            "limit",
            Load,
            Derived("80% of capacity"),
            "the largest load that the tester really offers",
        )],
    },
    KindInfo {
        kind: Kind::Inversion,
        name: "inversion",
        description: "a band of loads below capacity loses while higher loads are clean",
        own: &[
            parameter(
                "band-from",
                Share,
                Text("60%"),
                "share of capacity where the band begins",
            ),
            parameter("band-to", Share, Text("70%"), "share of capacity where the band ends"),
            parameter("band-loss", Share, Text("1%"), "loss ratio within the band"),
        ],
    },
    KindInfo {
        kind: Kind::FlatLoss,
        name: "flat-loss",
        description: "a constant share of frames is lost at every load, and all above capacity",
        own: &[parameter("loss", Share, Text("0.1%"), "loss ratio at every load")],
    },
    KindInfo {
        kind: Kind::Buffer,
        name: "buffer",
        description: "frames wait in a buffer of known size, empty when a trial begins, which is drained at capacity",
        own: &[parameter(
            "frames",
            Whole,
            Text("1000"),
            "frames that the buffer holds, the one on its way out included",
        )],
    },
];

const JITTER: ParameterInfo = parameter(
    "jitter",
    Share,
    Text("0.1%"),
    "standard deviation of each second's capacity, as a share",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for info in KINDS {
            assert_eq!(info.kind.info().name, info.name);
            assert_eq!(info.kind as usize, info.kind.info().kind as usize);
        }
    }

    #[test]
    fn every_default_can_be_read() {
        for parameter in KINDS.iter().flat_map(KindInfo::parameters) {
            if let Text(text) = parameter.default {
                assert!(parameter.quantity.parse(text).is_some(), "{}", parameter.name);
            }
        }
    }
}
