use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::{MeasureRequest, Request};

/// How late a signal is noticed while nothing is asked.
const SIGNAL_POLL: Duration = Duration::from_millis(20);

/// What answers the requests of the measurer protocol.
pub trait Respond {
    /// One line to the driver.
    type Reply: Serialize;

    /// What are you?
    fn describe(&mut self) -> Self::Reply;

    /// How much can you do?
    fn calibrate(&mut self) -> Self::Reply;

    /// One trial; `None` when it was called off, after which no reply is expected.
    fn measure(&mut self, request: MeasureRequest) -> Option<Self::Reply>;

    /// To a request that made no sense.
    fn refuse(&mut self, id: Option<serde_json::Value>, error: String) -> Self::Reply;
}

/// Answers the measurer protocol until the input ends or `stop` is set, as signals do.
///
/// `stop` is what `program` watches during a trial; it is set when the input ends.
///
/// # Errors
/// When the output cannot be written.
pub fn serve(
    program: &mut impl Respond,
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
    stop: &Arc<AtomicBool>,
) -> io::Result<()> {
    let lines = read_in_background(input, Arc::clone(stop));
    loop {
        match lines.recv_timeout(SIGNAL_POLL) {
            Ok(line) => {
                let Some(reply) = answer(program, &line) else {
                    return Ok(());
                };
                write_line(output, &reply)?;
            }
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The end of the input must be noticed in the middle of a trial, so somebody has to be reading all the time.
fn read_in_background(input: impl BufRead + Send + 'static, stop: Arc<AtomicBool>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = input.lines().map_while(Result::ok);
        for line in lines.filter(|line| !line.trim().is_empty()) {
            if sender.send(line).is_err() {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    receiver
}

/// The reply to one line; `None` when a trial was called off.
fn answer<P: Respond>(program: &mut P, line: &str) -> Option<P::Reply> {
    match serde_json::from_str(line) {
        Ok(Request::Describe) => Some(program.describe()),
        Ok(Request::Calibrate) => Some(program.calibrate()),
        Ok(Request::Measure(request)) => program.measure(request),
        Err(error) => Some(program.refuse(id_of(line), format!("request not understood: {error}"))),
    }
}

fn id_of(line: &str) -> Option<serde_json::Value> {
    let request: serde_json::Value = serde_json::from_str(line).ok()?;
    request.get("id").cloned()
}

fn write_line(output: &mut impl Write, reply: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, reply)?;
    output.write_all(b"\n")?;
    output.flush()
}
