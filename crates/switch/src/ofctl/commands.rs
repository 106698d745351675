//! What can be asked for on the command line.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

use brimful_openflow::GROUP_ALL;
use brimful_openflow::wire::Version;
use clap::{Args, Subcommand, ValueEnum};

use super::QUEUE_ALL;
use crate::tables::ovs::METER_ALL;

/// Which switch, and what to do with it.
#[derive(Args)]
pub struct Ofctl {
    /// The switch, as tcp:HOST:PORT, unix:PATH, ptcp:PORT to wait until it connects, or the name of a bridge of Open
    /// vSwitch.
    pub(super) switch: String,
    /// Versions of OpenFlow to offer, separated by commas; default: 1.3, or 1.4 for a bundle.
    #[arg(short = 'O', long, global = true, value_delimiter = ',')]
    protocols: Vec<Protocol>,
    /// Make all changes together or not at all, in a bundle of OpenFlow 1.4.
    #[arg(long, global = true)]
    bundle: bool,
    /// With `mod-flows` and `del-flows`: only the flow with exactly this match and priority.
    #[arg(long, global = true)]
    pub(super) strict: bool,
    /// Ports are printed by their numbers, as they are without this.
    #[arg(long, global = true, hide = true)]
    no_names: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocol {
    #[value(name = "OpenFlow13")]
    V13,
    #[value(name = "OpenFlow14")]
    V14,
}

/// What becomes of IP fragments (OF 1.3.5 section 7.3.2), with the number of their flags.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Fragments {
    /// They pass the tables as other packets do.
    Normal = 0,
    /// They are dropped.
    Drop = 1,
    /// They are put together.
    Reassemble = 2,
}

impl Ofctl {
    /// Whether changes go into a bundle.
    pub(super) fn wants_bundle(&self) -> bool {
        self.bundle || matches!(self.command, Command::Bundle { .. })
    }

    /// The versions to offer; none where there is no version in which it could be done.
    pub(super) fn versions(&self) -> Vec<Version> {
        let asked = self.protocols.iter().map(|protocol| match protocol {
            Protocol::V13 => Version::V13,
            Protocol::V14 => Version::V14,
        });
        let asked: Vec<Version> = asked.collect();
        match (asked.is_empty(), self.wants_bundle()) {
            (true, false) => vec![Version::V13],
            (true, true) => vec![Version::V14],
            (false, false) => asked,
            (false, true) => asked.into_iter().filter(|version| *version >= Version::V14).collect(),
        }
    }
}

/// Options whose value is the next word.
const WITH_VALUE: [&str; 4] = ["-O", "--protocols", "--controller", "--count"];

/// The arguments of a command line, where those of `ofctl` may come as `ovs-ofctl` takes them: the switch after the command.
#[must_use]
pub fn in_order(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_none_or(|word| word != "ofctl") {
        return arguments;
    }
    let text = |at: usize| arguments[at].to_str().unwrap_or_default();
    let is_option = |at: usize| text(at).starts_with('-') && text(at) != "-" || WITH_VALUE.contains(&text(at - 1));
    let mut words = (2..arguments.len()).filter(|&at| !is_option(at));
    let is_place = |at: usize| text(at).contains([':', '/']);
    if let (Some(command), Some(switch)) = (words.next(), words.next())
        && (Command::has_subcommand(text(command)) || is_place(switch) && !is_place(command))
    {
        arguments[command..=switch].rotate_right(1);
    }
    arguments
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Show the switch and its ports.
    Show,
    /// Print what the switch says of itself.
    DumpDesc,
    /// Print the ports.
    DumpPortsDesc {
        /// Only this port.
        port: Option<String>,
    },
    /// Print how many flows each table has, and its counters.
    DumpTables,
    /// Print flows, one a line, in the syntax of `load` and `add-flow`.
    DumpFlows {
        /// Only these flows, such as table=1,ip,out_port=2,cookie=5/-1.
        filter: Option<String>,
        /// Omit counters and ages.
        #[arg(long, alias = "no-stats")]
        no_counters: bool,
    },
    /// Print the sums of the counters of flows.
    DumpAggregate {
        /// Only of these flows.
        filter: Option<String>,
    },
    /// Add flows, such as `in_port=1,actions=output:2`. A line with `group_id` or `meter` adds a group or a meter.
    AddFlow {
        /// The flows, one each; `-` reads lines from standard input.
        #[arg(required = true)]
        lines: Vec<String>,
    },
    /// Add the flows, groups and meters of a file. Lines may begin with `add`, `modify`, `modify_strict`,
    /// `delete` or `delete_strict`.
    AddFlows {
        /// The file; `-` for standard input.
        file: PathBuf,
    },
    /// Change the instructions of existing flows.
    ModFlows {
        /// The flows and their new actions=...; `-` reads lines from standard input.
        line: String,
    },
    /// Delete flows; without an argument all of them.
    DelFlows {
        /// The flows; `-` reads lines from standard input.
        line: Option<String>,
    },
    /// Make the flows those of a file: what is not in it goes, what differs changes, and the rest stays as it is.
    ReplaceFlows {
        /// The file; `-` for standard input.
        file: PathBuf,
    },
    /// Print in which flows the switch and a file or another switch differ; the exit code is 1 if they do.
    DiffFlows {
        /// The file, or the other switch.
        other: String,
    },
    /// Send a packet: `in_port=PORT,packet=DIGITS,actions=...` with its bytes as hexadecimal digits.
    PacketOut {
        /// The packet-out; or, each as an argument of its own, the port, the actions and packets.
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Print the counters of ports.
    DumpPorts {
        /// Only this port.
        port: Option<String>,
    },
    /// Change how a port works: up, down, receive, no-receive, forward, no-forward, packet-in, no-packet-in.
    ModPort {
        /// The port.
        port: String,
        /// The changes.
        #[arg(required = true)]
        changes: Vec<String>,
    },
    /// Print the counters of queues.
    QueueStats {
        /// Only of this port.
        port: Option<String>,
        /// Only of this queue.
        #[arg(value_parser = |text: &str| read_number(text, "queue_id", QUEUE_ALL))]
        queue: Option<u32>,
    },
    /// Print groups, one a line.
    DumpGroups {
        /// Only this group, as NUMBER or `group_id=NUMBER`.
        #[arg(value_parser = |text: &str| read_number(text, "group_id", GROUP_ALL))]
        group: Option<u32>,
        /// Print their counters too.
        #[arg(long)]
        counters: bool,
    },
    /// Print the counters of groups.
    DumpGroupStats {
        /// Only of this group.
        #[arg(value_parser = |text: &str| read_number(text, "group_id", GROUP_ALL))]
        group: Option<u32>,
    },
    /// Add groups, such as `group_id=1,type=all,bucket=output:1,bucket=output:2`.
    AddGroup {
        /// The groups, one each; `-` reads lines from standard input.
        #[arg(required = true)]
        lines: Vec<String>,
    },
    /// Add the groups of a file.
    AddGroups {
        /// The file; `-` for standard input.
        file: PathBuf,
    },
    /// Give an existing group another type and other buckets.
    ModGroup {
        /// The group as it is to be; `-` reads lines from standard input.
        line: String,
    },
    /// Delete a group; without an argument all of them. Flows that use it go too.
    DelGroups {
        /// The group, as `group_id=NUMBER`; `-` reads lines from standard input.
        line: Option<String>,
    },
    /// Print meters, one a line.
    #[command(alias = "dump-meter")]
    DumpMeters {
        /// Only this meter, as NUMBER or `meter=NUMBER`.
        #[arg(value_parser = |text: &str| read_number(text, "meter", METER_ALL))]
        meter: Option<u32>,
        /// Print their counters too.
        #[arg(long)]
        counters: bool,
    },
    /// Print the counters of meters.
    MeterStats {
        /// Only of this meter.
        #[arg(value_parser = |text: &str| read_number(text, "meter", METER_ALL))]
        meter: Option<u32>,
    },
    /// Add meters, such as `meter=1,kbps,bands=type=drop,rate=1000`.
    AddMeter {
        /// The meters, one each; `-` reads lines from standard input.
        #[arg(required = true)]
        lines: Vec<String>,
    },
    /// Give an existing meter other bands.
    ModMeter {
        /// The meter as it is to be; `-` reads lines from standard input.
        line: String,
    },
    /// Delete a meter; without an argument all of them. Flows that use it go too.
    #[command(alias = "del-meter")]
    DelMeters {
        /// The meter, as `meter=NUMBER`; `-` reads lines from standard input.
        line: Option<String>,
    },
    /// Print what becomes of IP fragments.
    GetFrags,
    /// Say what is to become of IP fragments.
    SetFrags {
        /// What.
        mode: Fragments,
    },
    /// Ask for a sign of life.
    Probe,
    /// Make the changes of a file together or not at all, in a bundle of OpenFlow 1.4.
    Bundle {
        /// The file, whose lines may begin with flow, group or meter; `-` for standard input.
        file: PathBuf,
    },
    /// Print the asynchronous messages of the switch as they arrive.
    Monitor {
        /// Bytes of packets that it is to have at most, where flows do not say so.
        miss_len: Option<u16>,
        /// End after this number of messages.
        #[arg(long)]
        count: Option<NonZeroU64>,
    },
    /// Print all messages between a switch and its controller: from a snoop socket of Open vSwitch, or as a proxy.
    Snoop {
        /// Act as a proxy for this controller, as tcp:HOST:PORT, unix:PATH, or ptcp:PORT.
        #[arg(long)]
        controller: Option<String>,
        /// End after this number of messages.
        #[arg(long)]
        count: Option<NonZeroU64>,
    },
}

/// A queue, group or meter by its number, or as `KEY=NUMBER`; `all` and `any` are all of them.
fn read_number(text: &str, key: &str, all: u32) -> Result<u32, String> {
    let number = text
        .strip_prefix(key)
        .and_then(|rest| rest.strip_prefix('='))
        .unwrap_or(text);
    if ["all", "any"].iter().any(|word| number.eq_ignore_ascii_case(word)) {
        return Ok(all);
    }
    number.parse().map_err(|_| format!("use NUMBER, {key}=NUMBER or all"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{in_order, read_number};

    fn ordered(line: &str) -> String {
        let words = in_order(line.split(' ').map(OsString::from));
        words.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn the_switch_may_come_after_the_command() {
        for (given, taken) in [
            ("p ofctl dump-flows tcp:h:1", "p ofctl tcp:h:1 dump-flows"),
            ("p ofctl tcp:h:1 dump-flows", "p ofctl tcp:h:1 dump-flows"),
            (
                "p ofctl -O OpenFlow14 --strict del-flows unix:/x in_port=1",
                "p ofctl -O OpenFlow14 --strict unix:/x del-flows in_port=1",
            ),
            (
                "p ofctl del-flows --strict tcp:h:1 tcp,in_port=1",
                "p ofctl tcp:h:1 del-flows --strict tcp,in_port=1",
            ),
            (
                "p ofctl diff-flows tcp:h:1 tcp:h:2",
                "p ofctl tcp:h:1 diff-flows tcp:h:2",
            ),
            (
                "p ofctl add-flow tcp:h:1 in_port=1,actions=output:2",
                "p ofctl tcp:h:1 add-flow in_port=1,actions=output:2",
            ),
            (
                "p ofctl snoop --controller tcp:h:1",
                "p ofctl snoop --controller tcp:h:1",
            ),
            ("p check dump-flows tcp:h:1", "p check dump-flows tcp:h:1"),
            ("p ofctl dump-flows br0 table=0,ip", "p ofctl br0 dump-flows table=0,ip"),
            ("p ofctl br0 dump-flows", "p ofctl br0 dump-flows"),
            (
                "p ofctl add-flows -O OpenFlow13 br0 -",
                "p ofctl br0 add-flows -O OpenFlow13 -",
            ),
            ("p ofctl -OOpenFlow14 show /run/s", "p ofctl -OOpenFlow14 /run/s show"),
            ("p ofctl monitor --count 1 br0", "p ofctl br0 monitor --count 1"),
            ("p ofctl diff-flows a.flows br0", "p ofctl a.flows diff-flows br0"),
            // A command that there is none is not taken for a switch.
            ("p ofctl benchmark tcp:h:1 1 1", "p ofctl tcp:h:1 benchmark 1 1"),
            ("p ofctl", "p ofctl"),
        ] {
            assert_eq!(ordered(given), taken);
        }
    }

    #[test]
    fn numbers_are_read_in_each_form() {
        for text in ["7", "group_id=7"] {
            assert_eq!(read_number(text, "group_id", 9), Ok(7));
        }
        for text in ["ALL", "all", "any", "group_id=all"] {
            assert_eq!(read_number(text, "group_id", 9), Ok(9));
        }
        for text in ["", "x", "-1", "meter=7", "group_id", "group_id7", "4294967296"] {
            assert!(read_number(text, "group_id", 9).is_err());
        }
    }
}
