use std::thread;

use brimful_tester::{MOST_PORTS, Profile, Threads, senders_of_a_port};
use clap::{Args, value_parser};

/// Which threads perform trials, and where.
#[derive(Args, Clone, Debug)]
pub(crate) struct ThreadOptions {
    /// Send and receive on this processor; given twice, send on the first and receive on the second, in two threads; with
    /// several --senders, given once for each of them and once for the one that receives. Default: two threads or more on
    /// any processors, if the program may use more than one.
    #[arg(long = "cpu", value_name = "NUMBER")]
    pub(crate) processors: Vec<usize>,
    /// Threads that send on one schedule, each for some of the ports; where there are twice as many as ports that send, or
    /// more, each for some flows of one port. The last one given is used.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, overrides_with = "senders",
        value_parser = value_parser!(u64).range(1..=MOST_PORTS as u64))]
    pub(crate) senders: u64,
}

impl ThreadOptions {
    /// Checks the options against each other and what is to be sent, and gives how many threads share a port.
    pub(crate) fn check(&self, profile: &Profile) -> Result<usize, String> {
        let (senders, given) = (self.senders as usize, self.processors.len());
        let of_a_port =
            senders_of_a_port(profile, senders).map_err(|reason| format!("--senders {senders}: {reason}"))?;
        match (senders, given) {
            (1, 0..=2) | (_, 0) => Ok(of_a_port),
            (1, _) => Err(format!(
                "--cpu is given {given} times: there is one thread that sends and one that receives"
            )),
            _ if given == senders + 1 => Ok(of_a_port),
            _ => Err(format!(
                "--cpu is given {given} times: give one for each of {senders} threads that send and one for the thread \
                 that receives, or none"
            )),
        }
    }

    /// Who performs trials.
    pub(crate) fn threads(&self) -> Threads {
        let has_several = || thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        let are_apart = match self.processors.len() {
            0 => self.senders > 1 || has_several(),
            given => given > 1,
        };
        if are_apart {
            Threads::Several {
                senders: self.senders as usize,
            }
        } else {
            Threads::One
        }
    }

    /// Of the threads that send.
    pub(crate) fn sending_processors(&self) -> Vec<usize> {
        let senders = self.senders as usize;
        self.processors.iter().copied().take(senders).collect()
    }
}
