use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use brimful_netdev::{Receiver, Sender};

use crate::{Clock, Description, MeasureRequest, Reply, Request, Tester};

/// How late a signal is noticed while nothing is asked.
const SIGNAL_POLL: Duration = Duration::from_millis(20);

/// Answers the measurer protocol until the input ends or `signalled`.
///
/// `stop` is what the tester watches during a trial; it is set when the input ends.
///
/// # Errors
/// When the output cannot be written.
pub fn serve<S: Sender, R: Receiver, C: Clock>(
    tester: &mut Tester<'_, S, R, C>,
    description: &Description,
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
    stop: &Arc<AtomicBool>,
) -> io::Result<()> {
    let lines = read_in_background(input, Arc::clone(stop));
    loop {
        match lines.recv_timeout(SIGNAL_POLL) {
            Ok(line) => {
                let Some(reply) = answer(tester, description, &line) else {
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
fn answer<S: Sender, R: Receiver, C: Clock>(
    tester: &mut Tester<'_, S, R, C>,
    description: &Description,
    line: &str,
) -> Option<Reply> {
    match serde_json::from_str(line) {
        Ok(Request::Describe) => Some(Reply::Description(Box::new(description.clone()))),
        Ok(Request::Calibrate) => Some(calibrate(tester)),
        Ok(Request::Measure(request)) => measure(tester, request),
        Err(error) => Some(Reply::Error {
            id: id_of(line),
            error: format!("request not understood: {error}"),
        }),
    }
}

fn calibrate<S: Sender, R: Receiver, C: Clock>(tester: &mut Tester<'_, S, R, C>) -> Reply {
    let error = match tester.calibrate() {
        Ok(Some(ceiling)) => {
            return Reply::Calibration {
                ceiling: ceiling.per_second(),
            };
        }
        Ok(None) => "calibration found no load that comes back without loss: are the ports joined?".to_owned(),
        Err(error) => format!("a port failed: {error}"),
    };
    Reply::Error { id: None, error }
}

fn measure<S: Sender, R: Receiver, C: Clock>(
    tester: &mut Tester<'_, S, R, C>,
    request: MeasureRequest,
) -> Option<Reply> {
    let error = match request.plan() {
        Ok(plan) => match tester.measure(&plan) {
            Ok(outcome) => return Reply::of_trial(request, outcome),
            Err(error) => format!("a port failed: {error}"),
        },
        Err(error) => error,
    };
    Some(Reply::Error {
        id: Some(request.id),
        error,
    })
}

fn id_of(line: &str) -> Option<serde_json::Value> {
    let request: serde_json::Value = serde_json::from_str(line).ok()?;
    request.get("id").cloned()
}

fn write_line(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *output, reply)?;
    output.write_all(b"\n")?;
    output.flush()
}
