use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use brimful_trial::Nanoseconds;
use io_uring::{IoUring, opcode, squeue, types};

use crate::memory::Buffers;
use crate::queue::{Completion, Queue};
use crate::{Direction, Io};

/// IOs that are handed to the kernel at once, at most.
const SUBMISSIONS: u32 = 1024;
/// The most completions that a ring holds (`IORING_MAX_CQ_ENTRIES`).
const MOST_COMPLETIONS: u32 = 65_536;
/// How often, and for how long, IOs that are in flight when the ring goes are waited for.
const LAST_WAITS: u32 = 100;
const LAST_WAIT: Nanoseconds = Nanoseconds(20_000_000);
/// `IORING_ENTER_GETEVENTS`: without it, work that was put off stays so.
const GET_EVENTS: u32 = 1;
/// Of the registered files and buffers; there is one of each.
const FILE: types::Fixed = types::Fixed(0);
const BUFFERS: u16 = 0;

/// What an IO on the ring does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IoSink {
    /// It goes to the device.
    Device,
    /// Nothing, to learn what the tester itself can do.
    Nothing,
}

/// The kernel's queue of one file: a single issuer with its own ring, a registered file and, where memory may be
/// locked, registered buffers.
pub struct Ring {
    uring: IoUring,
    buffers: Buffers,
    is_registered: bool,
    /// Whether a slot is the device's.
    busy: Vec<bool>,
    pushed: usize,
    sink: IoSink,
    durable: bool,
}

impl Ring {
    /// A ring of `slots` slots for IOs up to a length. `durable` writes are stored before they complete.
    ///
    /// # Errors
    /// When the kernel refuses, or memory is short.
    pub fn new(file: &File, slots: u32, slot_len: u32, seed: u64, durable: bool) -> io::Result<Self> {
        let uring = build(slots)?;
        let mut buffers = Buffers::new(slots, slot_len)?;
        buffers.fill(seed);
        uring.submitter().register_files(&[file.as_raw_fd()])?;
        // SAFETY: the area lives as long as the ring, in this very struct.
        let is_registered = unsafe { uring.submitter().register_buffers(&[buffers.area()]) }.is_ok();
        Ok(Self {
            uring,
            buffers,
            is_registered,
            busy: vec![false; slots as usize],
            pushed: 0,
            sink: IoSink::Device,
            durable,
        })
    }

    /// From now on, IOs do this.
    pub fn aim_at(&mut self, sink: IoSink) {
        self.sink = sink;
    }

    /// Whether buffers are registered, so that the kernel need not look up their pages for each IO.
    pub fn is_registered(&self) -> bool {
        self.is_registered
    }

    fn entry(&mut self, slot: u32, io: Io) -> squeue::Entry {
        let Io { direction, offset, len } = io;
        if self.sink == IoSink::Nothing {
            return opcode::Nop::new().build();
        }
        if direction == Direction::Write {
            self.buffers.renew(slot, len as usize);
        }
        let buffer = self.buffers.start(slot, len as usize);
        let flags = if self.durable { libc::RWF_DSYNC } else { 0 };
        match (direction, self.is_registered) {
            (Direction::Read, true) => opcode::ReadFixed::new(FILE, buffer, len, BUFFERS)
                .offset(offset)
                .build(),
            (Direction::Read, false) => opcode::Read::new(FILE, buffer, len).offset(offset).build(),
            (Direction::Write, true) => opcode::WriteFixed::new(FILE, buffer, len, BUFFERS)
                .offset(offset)
                .rw_flags(flags)
                .build(),
            (Direction::Write, false) => opcode::Write::new(FILE, buffer, len)
                .offset(offset)
                .rw_flags(flags)
                .build(),
        }
    }

    fn enter_kernel(&mut self) -> io::Result<()> {
        loop {
            // SAFETY: no argument points anywhere.
            let entered = unsafe {
                self.uring
                    .submitter()
                    .enter::<libc::sigset_t>(self.pushed as u32, 0, GET_EVENTS, None)
            };
            match entered {
                Ok(taken) => {
                    self.pushed -= taken.min(self.pushed);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Completions wait to be taken: the caller does that next.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Linux 6.1 waits for IOs in flight here, and does not do meanwhile what completes them.
        for _ in 0..LAST_WAITS {
            if !self.busy.contains(&true) {
                // The kernel takes rings apart some time after they are closed, and would hold on to the device until then.
                let _ = self.uring.submitter().unregister_files();
                return;
            }
            let _ = self.wait(1, LAST_WAIT);
            while self.pop().is_some() {}
        }
    }
}

impl Queue for Ring {
    fn push(&mut self, slot: u32, io: Io) -> io::Result<()> {
        assert!(!self.busy[slot as usize], "a slot has one IO at a time");
        if self.uring.submission().is_full() {
            self.enter_kernel()?;
        }
        let entry = self.entry(slot, io).user_data(u64::from(slot));
        // SAFETY: the buffer is in this struct and belongs to the device until the completion frees the slot.
        unsafe { self.uring.submission().push(&entry) }
            .map_err(|_| io::Error::other("the kernel takes no more IOs"))?;
        self.busy[slot as usize] = true;
        self.pushed += 1;
        Ok(())
    }

    fn enter(&mut self) -> io::Result<()> {
        if self.pushed > 0 || self.uring.submission().taskrun() {
            return self.enter_kernel();
        }
        Ok(())
    }

    fn wait(&mut self, completions: u32, at_most: Nanoseconds) -> io::Result<()> {
        let limit = types::Timespec::new()
            .sec(at_most.0 / 1_000_000_000)
            .nsec((at_most.0 % 1_000_000_000) as u32);
        let arguments = types::SubmitArgs::new().timespec(&limit);
        match self
            .uring
            .submitter()
            .submit_with_args(completions as usize, &arguments)
        {
            Ok(taken) => self.pushed -= taken.min(self.pushed),
            Err(error) => match error.raw_os_error() {
                // What was pushed has been handed over before the wait began.
                Some(libc::ETIME | libc::EINTR) => self.pushed = self.uring.submission().len(),
                Some(libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(error),
            },
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Completion> {
        let entry = self.uring.completion().next()?;
        let slot = entry.user_data() as u32;
        self.busy[slot as usize] = false;
        Some(Completion {
            slot,
            result: entry.result(),
            did_nothing: self.sink == IoSink::Nothing,
        })
    }
}

/// A ring of the newest kind that this kernel has: completions are worked on when the tester asks for them, not in the
/// middle of something else.
fn build(slots: u32) -> io::Result<IoUring> {
    let build = |adjust: fn(&mut io_uring::Builder)| {
        let mut builder = IoUring::builder();
        builder
            .setup_cqsize(slots.next_power_of_two().clamp(SUBMISSIONS, MOST_COMPLETIONS))
            .setup_submit_all();
        adjust(&mut builder);
        builder.build(SUBMISSIONS.min(slots.next_power_of_two()))
    };
    build(|builder| {
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    })
    .or_else(|_| {
        build(|builder| {
            builder.setup_coop_taskrun().setup_taskrun_flag();
        })
    })
    .or_else(|_| build(|_| {}))
}
