//! Sends 60-byte frames as fast as it can and prints how many left in a second.
//!
//! usage: `send_rate INTERFACE BACK-END SECONDS`

use std::time::{Duration, Instant};

use brimful_netdev::{BackEnd, MAX_BURST, PacketPortOptions};

const FRAME_LEN: usize = 60;

#[expect(clippy::print_stdout, reason = "what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [interface, back_end, seconds] = arguments.as_slice() else {
        return Err("usage: send_rate INTERFACE BACK-END SECONDS".into());
    };
    let back_end: BackEnd = back_end.parse()?;
    let mut port = back_end.open(interface, PacketPortOptions::new(FRAME_LEN))?;
    let mut frame = [0; FRAME_LEN];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 0x88, 0xb5]);
    let duration = Duration::from_secs_f64(seconds.parse()?);
    let start = Instant::now();
    while start.elapsed() < duration {
        for _ in 0..64 {
            port.sender.send_burst(MAX_BURST, &mut |_, buffer| {
                buffer[..FRAME_LEN].copy_from_slice(&frame);
                FRAME_LEN
            })?;
        }
    }
    while port.sender.flush()? > 0 && start.elapsed() < 2 * duration {}
    let elapsed = start.elapsed().as_secs_f64();
    println!("{:.0}", port.sender.statistics()?.sent as f64 / elapsed);
    Ok(())
}
