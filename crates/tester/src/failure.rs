use std::io;

use brimful_netdev::Sender;
use rustix::io::Errno;

/// Why a trial came to nothing, in one line with the port: an interface may be removed, renamed or changed at any moment.
pub(crate) fn describe<S: Sender>(senders: &mut [S], longest_frame: usize, error: &io::Error) -> String {
    if let Some(gone) = senders.iter_mut().position(|sender| sender.link_is_up().is_err()) {
        let name = senders[gone].name();
        return format!(
            "interface `{name}` is gone from here or has another name ({error}): start again with one that stays"
        );
    }
    let is_short = |sender: &&S| sender.longest_untagged().is_some_and(|len| len < longest_frame);
    match senders.iter().find(is_short) {
        Some(short) if Errno::from_io_error(error) == Some(Errno::MSGSIZE) => {
            let name = short.name();
            format!("interface `{name}` has a smaller MTU than at the start ({error}): give it the former one")
        }
        _ => format!("a port failed: {error}"),
    }
}
