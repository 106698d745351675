use std::thread;

use brimful_tester::{MOST_PORTS, Profile, Threads, senders_of_a_port};
use clap::{Args, value_parser};

/// Which threads perform trials, and where.
#[derive(Args, Clone, Debug)]
pub(crate) struct ThreadOptions {
    /// Send and receive on this processor; given twice, send on the first and receive on the second, in two threads; with
    /// several --senders or --receivers, given once for each of the former, then once for each of the latter. Default: two
    /// threads or more on any processors, if the program may use more than one.
    #[arg(long = "cpu", value_name = "NUMBER")]
    pub(crate) processors: Vec<usize>,
    /// Threads that send on one schedule, each for some of the ports; where there are twice as many as ports that send, or
    /// more, each for some flows of one port. The last one given is used.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, overrides_with = "senders",
        value_parser = value_parser!(u64).range(1..=MOST_PORTS as u64))]
    pub(crate) senders: u64,
    /// Threads that receive, each for some of the ports. The last one given is used.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, overrides_with = "receivers",
        value_parser = value_parser!(u64).range(1..=MOST_PORTS as u64))]
    pub(crate) receivers: u64,
}

impl ThreadOptions {
    /// Checks the options against each other and what is to be sent, and gives how many threads share a port.
    pub(crate) fn check(&self, profile: &Profile) -> Result<usize, String> {
        let [senders, receivers] = [self.senders, self.receivers].map(|count| count as usize);
        let (given, ports) = (self.processors.len(), profile.ports());
        if receivers > ports {
            return Err(format!(
                "--receivers {receivers}: there are {ports} ports, and one thread receives for each at most"
            ));
        }
        let of_a_port =
            senders_of_a_port(profile, senders).map_err(|reason| format!("--senders {senders}: {reason}"))?;
        match (senders, receivers, given) {
            (1, 1, 0..=2) | (_, _, 0) => Ok(of_a_port),
            (1, 1, _) => Err(format!(
                "--cpu is given {given} times: there is one thread that sends and one that receives"
            )),
            _ if given == senders + receivers => Ok(of_a_port),
            _ => Err(format!(
                "--cpu is given {given} times: give one for each of {senders} threads that send and {receivers} that \
                 receive, or none"
            )),
        }
    }

    /// Who performs trials.
    pub(crate) fn threads(&self) -> Threads {
        let has_several = || thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        let are_apart = match self.processors.len() {
            0 => self.senders > 1 || self.receivers > 1 || has_several(),
            given => given > 1,
        };
        if are_apart {
            Threads::Several {
                senders: self.senders as usize,
                receivers: self.receivers as usize,
            }
        } else {
            Threads::One
        }
    }
}
