use crate::lots::Lots;
use crate::{Profile, Routes, Stream};

/// How many of the threads that send share each port, if there are enough of them.
///
/// # Errors
/// When they cannot, in one line.
pub fn senders_of_a_port(profile: &Profile, senders: usize) -> Result<usize, String> {
    let directions = profile.routes().directions().iter();
    let streams = directions.map(|direction| profile.stream(direction.from, direction.to));
    let streams: Vec<_> = streams.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Sharing::new(profile.routes(), &streams, senders)?.lots_of_a_port())
}

/// Which of the threads that send has which frames of which port.
///
/// What one thread sends of one port is a lane; those of a port follow each other, and ports come in their order.
#[derive(Clone, Debug)]
pub(crate) struct Sharing {
    threads: usize,
    /// Of each port that sends, as many of each.
    lots: Vec<Lots>,
}

impl Sharing {
    /// Deals out ports, where there are as many that send, and else the flows of each port.
    ///
    /// # Errors
    /// When that cannot be done evenly, in one line.
    pub(crate) fn new(routes: &Routes, streams: &[Stream], threads: usize) -> Result<Self, String> {
        let ports = routes.orders().len();
        if threads <= ports {
            return Ok(Self::by_ports(routes, threads));
        }
        let say = |why: &str| Err(format!("{ports} of the ports send, and {why}"));
        if !threads.is_multiple_of(ports) {
            return say(&format!("as many threads for each do not add up to {threads}"));
        }
        if routes.directions().len() > ports {
            return say("one thread sends what a port sends to several others");
        }
        let count = threads / ports;
        match streams.iter().map(|stream| stream.lots(count)).collect() {
            Some(lots) => Ok(Self { threads, lots }),
            None => say(&format!(
                "one thread sends what belongs to a flow: give --flows {count} or a multiple of it"
            )),
        }
    }

    /// Deals out whole ports to at most this number of threads.
    pub(crate) fn by_ports(routes: &Routes, threads: usize) -> Self {
        let ports = routes.orders().len();
        Self {
            threads: threads.clamp(1, ports),
            lots: vec![Lots::ONE; ports],
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Threads that share a port.
    pub(crate) fn lots_of_a_port(&self) -> usize {
        self.lots[0].count as usize
    }

    /// How a port is dealt out, by its place among those that send.
    pub(crate) fn lots(&self, sender: usize) -> Lots {
        self.lots[sender]
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lots.len() * self.lots_of_a_port()
    }

    /// The place of the lane of the first lot of a port among all lanes.
    pub(crate) fn first_lane(&self, sender: usize) -> usize {
        sender * self.lots_of_a_port()
    }

    /// Which thread has a lane: lanes are dealt out in turn.
    pub(crate) fn thread_of(&self, lane: usize) -> usize {
        lane % self.threads
    }
}
