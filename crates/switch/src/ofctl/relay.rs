//! Stands between a switch and its controller, and prints what they say.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use super::OfctlError;
use super::connection::{line, read_message};
use super::stream::{Place, Stream};

/// What has been printed, and how much may be.
struct Printer<'o> {
    out: &'o mut (dyn Write + Send),
    left: Option<u64>,
}

/// Connects both for as long as they stay, again and again, until `count` messages have passed.
pub(super) fn run(
    switch: &Place,
    controller: &Place,
    count: Option<u64>,
    out: &mut (dyn Write + Send),
) -> Result<(), OfctlError> {
    let printer = Mutex::new(Printer { out, left: count });
    loop {
        let (switch, controller) = (switch.open()?, controller.open()?);
        let share = |stream: &dyn Stream| stream.share().map_err(|error| OfctlError::Failed(error.to_string()));
        let (to_switch, to_controller) = (share(&*switch)?, share(&*controller)?);
        std::thread::scope(|scope| {
            scope.spawn(|| pass("switch", switch, to_controller, &printer));
            pass("controller", controller, to_switch, &printer);
        });
        if printer.lock().unwrap_or_else(PoisonError::into_inner).left == Some(0) {
            return Ok(());
        }
    }
}

/// Passes messages on until one side ends, then ends the other.
fn pass(speaker: &str, mut from: Box<dyn Stream>, mut to: Box<dyn Stream>, printer: &Mutex<Printer<'_>>) {
    while let Ok(Some(received)) = read_message(&mut *from) {
        if to.write_all(&received.bytes).is_err() || !printer_takes(printer, speaker, &line(&received)) {
            break;
        }
    }
    from.end();
    to.end();
}

/// Prints a message; whether more may follow.
fn printer_takes(printer: &Mutex<Printer<'_>>, speaker: &str, line: &str) -> bool {
    let mut printer = printer.lock().unwrap_or_else(PoisonError::into_inner);
    if printer.left == Some(0) {
        return false;
    }
    let written = writeln!(printer.out, "{speaker}: {line}").and_then(|()| printer.out.flush());
    printer.left = printer.left.map(|left| left - 1);
    written.is_ok() && printer.left != Some(0)
}
