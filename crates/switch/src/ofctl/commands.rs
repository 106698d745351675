//! What can be asked for on the command line.

use std::num::NonZeroU64;
use std::path::PathBuf;

use brimful_openflow::wire::Version;
use clap::{Args, Subcommand, ValueEnum};

/// Which switch, and what to do with it.
#[derive(Args)]
pub struct Ofctl {
    /// The switch, as tcp:HOST:PORT, unix:PATH, or ptcp:PORT to wait until it connects.
    pub(super) switch: String,
    /// Versions of OpenFlow to offer, separated by commas; default: 1.3, or 1.4 for a bundle.
    #[arg(short = 'O', long, global = true, value_delimiter = ',')]
    protocols: Vec<Protocol>,
    /// Make all changes together or not at all, in a bundle of OpenFlow 1.4.
    #[arg(long, global = true)]
    bundle: bool,
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

#[derive(Subcommand)]
pub(super) enum Command {
    /// Show the switch and its ports.
    Show,
    /// Print what the switch says of itself.
    DumpDesc,
    /// Print the ports.
    DumpPortsDesc,
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
        /// Only the flow with exactly this match and priority.
        #[arg(long)]
        strict: bool,
    },
    /// Delete flows; without an argument all of them.
    DelFlows {
        /// The flows; `-` reads lines from standard input.
        line: Option<String>,
        /// Only the flow with exactly this match and priority.
        #[arg(long)]
        strict: bool,
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
        queue: Option<u32>,
    },
    /// Print groups, one a line.
    DumpGroups {
        /// Print their counters too.
        #[arg(long)]
        counters: bool,
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
    DumpMeters {
        /// Print their counters too.
        #[arg(long)]
        counters: bool,
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
    /// Make the changes of a file together or not at all, in a bundle of OpenFlow 1.4.
    Bundle {
        /// The file, whose lines may begin with flow, group or meter; `-` for standard input.
        file: PathBuf,
    },
    /// Print the asynchronous messages of the switch as they arrive.
    Monitor {
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
