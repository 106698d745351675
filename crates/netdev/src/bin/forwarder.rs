//! `brimful-forwarder`: the XDP forwarder of the lab. It joins two interfaces until its standard input ends.

use std::io::{self, Write};
use std::process::ExitCode;

use brimful_netdev::{Attachment, OpenError, XdpForwarder};

const ABOUT: &str =
    "Forwards frames between two interfaces by XDP, until its standard input ends: the device of lab:xdp.";
const USAGE: &str = "usage: brimful-forwarder [--generic] [--work N] INTERFACE INTERFACE";
/// The arguments make no sense.
const EXIT_USAGE: u8 = 2;
/// The arguments make sense, but nothing can be forwarded.
const EXIT_FAILED: u8 = 3;

fn main() -> ExitCode {
    let about = match std::env::args().nth(1).as_deref() {
        Some("-h" | "--help") => Some(format!("{ABOUT}\n\n{USAGE}\n")),
        Some("-V" | "--version") => Some(format!("brimful-forwarder {}\n", env!("CARGO_PKG_VERSION"))),
        _ => None,
    };
    if let Some(about) = about {
        // Who reads no further has read enough.
        let _ = io::stdout().write_all(about.as_bytes());
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => return fail(EXIT_USAGE, &message),
    };
    match forward(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(EXIT_FAILED, &error.to_string()),
    }
}

fn forward(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let names = options.interfaces.each_ref().map(String::as_str);
    let (forwarder, attachment) = start(names, options)?;
    let mut output = io::stdout().lock();
    let [near, far] = names;
    let place = match attachment {
        Attachment::Native => "native",
        Attachment::Generic => "generic",
    };
    writeln!(output, "joined {near} and {far}: XDP {place}, work {}", options.work)?;
    output.flush()?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    for ((from, to), counts) in [(near, far), (far, near)].into_iter().zip(forwarder.counts()?) {
        writeln!(
            output,
            "from {from} to {to}: {} received, {} forwarded, {} dropped",
            counts.received, counts.forwarded, counts.dropped
        )?;
    }
    Ok(())
}

/// Prefers the driver, and takes what works everywhere where the driver has no place for a program.
fn start(names: [&str; 2], options: &Options) -> Result<(XdpForwarder, Attachment), OpenError> {
    if !options.generic {
        match XdpForwarder::start(names, Attachment::Native, options.work) {
            Err(OpenError::NoNativeXdp(_)) => {}
            result => return Ok((result?, Attachment::Native)),
        }
    }
    let forwarder = XdpForwarder::start(names, Attachment::Generic, options.work)?;
    Ok((forwarder, Attachment::Generic))
}

#[derive(Debug, Eq, PartialEq)]
struct Options {
    interfaces: [String; 2],
    generic: bool,
    work: u32,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut interfaces, mut generic, mut work) = (Vec::new(), false, 0);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--generic" => generic = true,
                "--work" => work = parse_work(&arguments.next().unwrap_or_default())?,
                option if option.starts_with('-') => return Err(format!("unknown option {option}; {USAGE}")),
                _ => interfaces.push(argument),
            }
        }
        let interfaces = <[String; 2]>::try_from(interfaces)
            .map_err(|given| format!("{} interfaces given, not two; {USAGE}", given.len()))?;
        Ok(Self {
            interfaces,
            generic,
            work,
        })
    }
}

fn parse_work(text: &str) -> Result<u32, String> {
    let most = XdpForwarder::MOST_WORK;
    let work = text.parse().ok().filter(|&work| work <= most);
    work.ok_or_else(|| format!("--work {text}: use a whole number from 0 to {most}"))
}

fn fail(code: u8, message: &str) -> ExitCode {
    // When this fails too, there is nowhere to report it.
    let _ = writeln!(io::stderr(), "brimful-forwarder: {message}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_come_in_any_order() {
        let expected = Options {
            interfaces: ["pa".into(), "pb".into()],
            generic: true,
            work: 100_000,
        };
        assert_eq!(parse("pa --work 100000 pb --generic"), Ok(expected));
        assert_eq!(
            parse("pa pb").map(|options| (options.generic, options.work)),
            Ok((false, 0))
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, named) in [
            ("pa", "1 interfaces"),
            ("pa pb pc", "3 interfaces"),
            ("pa pb --turbo", "--turbo"),
            ("pa pb --work", "--work : use"),
            ("pa pb --work 100001", "0 to 100000"),
            ("pa pb --work -1", "--work -1"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(named), "{line}: {message}");
        }
    }
}
