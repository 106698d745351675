//! Counters in the text format of Prometheus, over HTTP.

mod process;
mod text;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::control::Handles;

pub use text::text;

/// How long a scrape may take, from its first byte to the last one of the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// After it could not be seen who asks.
const PAUSE: Duration = Duration::from_millis(100);
/// Scrapes at once; further ones are hung up.
const MOST_SCRAPES: usize = 16;
const MOST_REQUEST_LEN: usize = 8 << 10;

/// Answers at an address from threads of its own, which live as long as the process: a scraper that is slow holds up no
/// other.
///
/// # Errors
/// When the address cannot be used.
pub fn serve(address: &str, handles: Arc<Handles>) -> io::Result<JoinHandle<()>> {
    let listener = TcpListener::bind(address)?;
    let thread = std::thread::Builder::new().name("metrics".to_owned());
    thread.spawn(move || {
        let scrapes = Arc::new(());
        loop {
            let Ok((stream, _)) = listener.accept() else {
                // Without a descriptor or memory for it, it would fail again at once.
                std::thread::sleep(PAUSE);
                continue;
            };
            // Each has one.
            if Arc::strong_count(&scrapes) > MOST_SCRAPES {
                continue;
            }
            let (handles, scrapes) = (Arc::clone(&handles), Arc::clone(&scrapes));
            let thread = std::thread::Builder::new().name("scrape".to_owned());
            // Without memory for a thread, it is hung up.
            let _ = thread.spawn(move || {
                // A scraper that hangs up gets no answer.
                let _ = answer(stream, &handles);
                drop(scrapes);
            });
        }
    })
}

fn answer(mut stream: TcpStream, handles: &Handles) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    let left = || {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok::<_, io::Error>(Some(left))
    };
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MOST_REQUEST_LEN {
        stream.set_read_timeout(left()?)?;
        match stream.read(&mut part)? {
            0 => break,
            count => request.extend_from_slice(&part[..count]),
        }
    }
    let is_known = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ");
    let (status, body) = if is_known {
        ("200 OK", text(handles))
    } else {
        ("404 Not Found", String::new())
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        stream.set_write_timeout(left()?)?;
        let written = stream.write(rest)?;
        rest = &rest[written..];
    }
    Ok(())
}
