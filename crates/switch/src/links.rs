//! Links of interfaces, looked at as soon as the kernel says that one has changed: a group fails over within
//! milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use crate::control::{Handles, Switch};

/// Messages about links (`RTMGRP_LINK`).
const ABOUT_LINKS: u32 = 1;
const MOST_MESSAGE_LEN: usize = 16 << 10;
/// How often the thread looks whether it is to end.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Has every switch look at its links whenever one has changed, until the end.
///
/// # Errors
/// When the kernel does not report links.
pub(crate) fn watch(handles: Arc<Handles>, ends: Arc<AtomicBool>) -> io::Result<JoinHandle<()>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        // That of routes and links.
        None,
    )?;
    bind(&socket, &SocketAddrNetlink::new(0, ABOUT_LINKS))?;
    let thread = std::thread::Builder::new().name("links".to_owned());
    thread.spawn(move || {
        while !ends.load(Relaxed) {
            let mut waited = [PollFd::new(&socket, PollFlags::IN)];
            if poll(&mut waited, Some(&LOOK)).is_ok_and(|ready| ready > 0) {
                forget_messages(&socket);
                for handle in handles.values() {
                    // A switch that has ended has no links.
                    let _ = handle.call(Switch::look_at_links);
                }
            }
        }
    })
}

/// What has changed is asked for anew, so that no message can be missed.
fn forget_messages(socket: &OwnedFd) {
    let mut message = vec![0_u8; MOST_MESSAGE_LEN];
    while recv(socket, &mut *message, RecvFlags::empty()).is_ok() {}
}
