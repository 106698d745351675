//! The program in a namespace of its own, and the conversation with it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::skip::skip;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_brimful-tester");
/// Two joined ports; the kernel's own neighbour discovery kept off them.
pub(crate) const JOINED_PORTS: &str = "ip link add ta type veth peer name tb && \
    for port in ta tb; do \
        ip link set $port addrgenmode none 2>/dev/null; ip link set $port up || exit 99; \
    done";
/// Attempts at a trial: on a busy machine the tester rightly refuses some.
pub(crate) const ATTEMPTS: usize = 20;

/// Who measures: several testers at once would take the processors from each other.
static MEASURING: Mutex<()> = Mutex::new(());

/// Wait until no other test measures.
pub(crate) fn measure_alone() -> MutexGuard<'static, ()> {
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How to get a namespace here: as root, or as a user where that is allowed.
pub(crate) fn unshare() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["unshare", "-n"], &["unshare", "-rn"]];
    let works = |way: &&&[&str]| {
        let test = [**way, &["sh", "-c", JOINED_PORTS]].concat();
        Command::new(test[0])
            .args(&test[1..])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    ways.iter().find(works).copied()
}

pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: BufReader<ChildStdout>,
}

impl Program {
    /// Over two joined ports; `None`, said aloud, where no namespace can be had.
    pub(crate) fn start(arguments: &[&str]) -> Option<Self> {
        Self::start_over(JOINED_PORTS, arguments)
    }

    /// Over what a shell makes.
    pub(crate) fn start_over(preparation: &str, arguments: &[&str]) -> Option<Self> {
        let Some(way) = unshare() else {
            skip("this machine does not let us make a network namespace with a veth pair");
            return None;
        };
        let script = format!("{preparation}; exec \"$@\"");
        let command = [way, &["sh", "-c", &script, "sh", PROGRAM], arguments].concat();
        Some(Self::of(&command))
    }

    pub(crate) fn of(command: &[&str]) -> Self {
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare worked a moment ago");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let input = child.stdin.take();
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, request: &Value) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{request}").expect("the program listens");
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        let mut line = String::new();
        self.output.read_line(&mut line).expect("text");
        serde_json::from_str(&line).expect("a JSON object")
    }

    /// A trial of 2000 frames a direction that was not spoiled, with no other test beside it.
    pub(crate) fn trial(&mut self) -> Value {
        let _alone = measure_alone();
        self.trial_of(10_000, 0.2)
    }

    /// A trial that was not spoiled, though other tests may run.
    pub(crate) fn trial_of(&mut self, load: u32, duration_s: f64) -> Value {
        self.trial_that(load, duration_s, |reply| reply["invalid"].is_null())
    }

    /// A trial with a certain outcome; a busy machine spoils some.
    pub(crate) fn trial_that(&mut self, load: u32, duration_s: f64, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let request = json!({"op": "measure", "id": "x", "load": load, "duration_s": duration_s});
        let mut said = Vec::new();
        for _ in 0..ATTEMPTS {
            let reply = self.ask(&request);
            assert_eq!(reply["id"], "x", "{reply}");
            assert_eq!(reply["error"], Value::Null, "{reply}");
            if is_wanted(&reply) {
                return reply;
            }
            said.push(reply["invalid"].to_string());
        }
        panic!("{ATTEMPTS} trials in a row were spoiled: {said:#?}");
    }

    pub(crate) fn exit_code(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().expect("the child is ours").code()
    }
}
