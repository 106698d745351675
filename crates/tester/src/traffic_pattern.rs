use std::fmt;
use std::str::FromStr;

/// Ports of a tester at most: a full mesh of them has 240 directions, which the stream of a stamp distinguishes.
pub const MOST_PORTS: usize = 16;
/// What a whole load has: a share is known to 0.01 %.
const PARTS: u32 = 10_000;
const FORMS: &str = "pairs, mesh, one-to-many, many-to-one, halves or a list like flows:1>2,3>2=50%";

/// Which port sends to which, and in which order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TrafficPattern {
    /// The first and the second port to each other, the third and the fourth, and so on.
    Pairs,
    /// Every port to all others in turn (RFC 2889 section 5.1.3).
    Mesh,
    /// The first port to all others in turn (RFC 2889 section 5.2).
    OneToMany,
    /// All others to the first port (RFC 2889 section 5.2).
    ManyToOne,
    /// Each port of the first half to all ports of the second half in turn (RFC 2889 section 5.4).
    Halves,
    /// Each as it is said.
    Flows(Vec<Flow>),
}

/// From one port to another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flow {
    from: usize,
    to: usize,
    /// Of the load; without it, an equal part of what the other flows of the port leave.
    share: Option<Share>,
}

/// A share of a load, above nothing and at most all of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share(u32);

/// What a port sends to another one, as a weight among all that it sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Part {
    pub(crate) to: usize,
    pub(crate) weight: u32,
}

/// What a port sends, in the order of the first round; its share of the load is the sum of weights over `whole`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Allotment {
    pub(crate) from: usize,
    pub(crate) parts: Vec<Part>,
    pub(crate) whole: u32,
}

impl TrafficPattern {
    /// What each port that sends has to send, in the order of the ports. `is_both_ways` is of pairs.
    pub(crate) fn allotments(&self, ports: usize, is_both_ways: bool) -> Result<Vec<Allotment>, String> {
        let to_all = |from: usize, to: &mut dyn Iterator<Item = usize>| {
            let even: Vec<_> = to.map(|to| Part { to, weight: 1 }).collect();
            Allotment {
                from,
                whole: even.len() as u32,
                parts: even,
            }
        };
        let half = ports / 2;
        if matches!(self, Self::Pairs | Self::Halves) && !ports.is_multiple_of(2) {
            return Err(format!(
                "--pattern {self}: {ports} ports leave one over; give an even number, or another pattern"
            ));
        }
        Ok(match self {
            Self::Pairs => {
                let senders = (0..ports).filter(|from| is_both_ways || from.is_multiple_of(2));
                senders.map(|from| to_all(from, &mut [from ^ 1].into_iter())).collect()
            }
            Self::Mesh => {
                let others = |from| (0..ports - 1).map(move |turn| (from + 1 + turn) % ports);
                (0..ports).map(|from| to_all(from, &mut others(from))).collect()
            }
            Self::OneToMany => vec![to_all(0, &mut (1..ports))],
            Self::ManyToOne => (1..ports).map(|from| to_all(from, &mut [0].into_iter())).collect(),
            Self::Halves => {
                let others = |from| (0..half).map(move |turn| half + (from + turn) % half);
                (0..half).map(|from| to_all(from, &mut others(from))).collect()
            }
            Self::Flows(flows) => allotments_of(flows, ports).map_err(|error| format!("--pattern {self}: {error}"))?,
        })
    }
}

fn allotments_of(flows: &[Flow], ports: usize) -> Result<Vec<Allotment>, String> {
    for (index, flow) in flows.iter().enumerate() {
        if flow.from.max(flow.to) >= ports {
            return Err(format!("{flow}: there are {ports} ports"));
        }
        if flows[..index]
            .iter()
            .any(|other| (other.from, other.to) == (flow.from, flow.to))
        {
            return Err(format!("{flow} is there twice"));
        }
    }
    let of_port = |from| {
        let own: Vec<_> = flows.iter().filter(|flow| flow.from == from).collect();
        let open = own.iter().filter(|flow| flow.share.is_none()).count() as u32;
        let given: u32 = own.iter().filter_map(|flow| flow.share).map(|share| share.0).sum();
        let number = from + 1;
        if given > PARTS {
            return Err(format!("port {number} sends more than 100% of the load"));
        }
        if given == PARTS && open > 0 {
            return Err(format!("port {number} has nothing left for a flow without a share"));
        }
        // As many parts to each as divide evenly.
        let scale = open.max(1);
        let weight = |flow: &Flow| flow.share.map_or(PARTS - given, |share| share.0 * scale);
        let part = |flow: &&Flow| Part {
            to: flow.to,
            weight: weight(flow),
        };
        Ok(Allotment {
            from,
            parts: own.iter().map(part).collect(),
            whole: PARTS * scale,
        })
    };
    let senders = (0..ports).filter(|&port| flows.iter().any(|flow| flow.from == port));
    senders.map(of_port).collect()
}

impl FromStr for TrafficPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "pairs" => Self::Pairs,
            "mesh" => Self::Mesh,
            "one-to-many" => Self::OneToMany,
            "many-to-one" => Self::ManyToOne,
            "halves" => Self::Halves,
            _ => {
                let list = text.strip_prefix("flows:").ok_or(format!("write {FORMS}"))?;
                Self::Flows(list.split(',').map(str::parse).collect::<Result<_, _>>()?)
            }
        })
    }
}

impl fmt::Display for TrafficPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Pairs => "pairs",
            Self::Mesh => "mesh",
            Self::OneToMany => "one-to-many",
            Self::ManyToOne => "many-to-one",
            Self::Halves => "halves",
            Self::Flows(flows) => {
                let texts: Vec<_> = flows.iter().map(Flow::to_string).collect();
                return write!(formatter, "flows:{}", texts.join(","));
            }
        })
    }
}

impl FromStr for Flow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is no flow: write FROM>TO or FROM>TO=SHARE, like 1>2 or 3>2=50%");
        let (ports, share) = match text.split_once('=') {
            Some((ports, share)) => (ports, Some(share.parse()?)),
            None => (text, None),
        };
        let number = |text: &str| text.parse().ok().filter(|port| (1..=MOST_PORTS).contains(port));
        let (from, to) = ports.split_once('>').ok_or_else(form)?;
        let (from, to) = number(from).zip(number(to)).ok_or_else(form)?;
        if from == to {
            return Err(format!("`{text}`: a port does not send to itself"));
        }
        Ok(Self {
            from: from - 1,
            to: to - 1,
            share,
        })
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}>{}", self.from + 1, self.to + 1)?;
        self.share.map_or(Ok(()), |share| write!(formatter, "={share}"))
    }
}

impl Share {
    /// All of a load.
    pub const WHOLE: Self = Self(PARTS);

    /// Of 1.
    pub(crate) fn ratio(self) -> f64 {
        f64::from(self.0) / f64::from(PARTS)
    }

    /// What is written as `100%/20%`, one share a port.
    ///
    /// # Errors
    /// When one of them is no share.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        text.split('/').map(str::parse).collect()
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let parts = percent.map(|percent| percent * f64::from(PARTS) / 100.0);
        match parts {
            Some(parts)
                if (parts - parts.round()).abs() < 1e-6 && (1.0..=f64::from(PARTS)).contains(&parts.round()) =>
            {
                Ok(Self(parts.round() as u32))
            }
            _ => Err(format!(
                "`{text}` is no share of the load: write 0.01% to 100%, with two decimals at most"
            )),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", f64::from(self.0) * 100.0 / f64::from(PARTS))
    }
}
