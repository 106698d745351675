//! What compiled code calls. All arguments and results are words; addresses are those that the code was given.

use brimful_frame::Headers;
use brimful_openflow::{MatchField, Source};

use crate::bitmap::Bitmap;
use crate::context::Context;
use crate::overlay::Overlay;
use crate::prefix::Root;

/// Takes the frame apart as a whole.
pub(crate) unsafe extern "C" fn parse(context: *mut Context) -> u64 {
    // SAFETY: compiled code passes on the context that it was called with, which lives for the call.
    let context = unsafe { &mut *context };
    // SAFETY: the code runs while a frame is on its way.
    context.headers = Headers::parse(unsafe { context.frame() });
    0
}

/// The value of the longest prefix of an address.
pub(crate) unsafe extern "C" fn find_prefix(prefixes: *const Root, address: u64) -> u64 {
    // SAFETY: the code keeps the prefixes that it was compiled with.
    unsafe { &*prefixes }.find(address as u32)
}

/// The value of the first rule that fits the rows in the context.
pub(crate) unsafe extern "C" fn find_bitmap(bitmap: *const Bitmap, context: *const Context) -> u64 {
    // SAFETY: the code keeps the bitmap that it was compiled with; the context lives for the call.
    let (bitmap, context) = unsafe { (&*bitmap, &*context) };
    bitmap.find(&context.rows[..bitmap.octets.len()])
}

/// The better of a rule and those added since the code was compiled.
pub(crate) unsafe extern "C" fn find_overlay(context: *mut Context, overlay: *const Overlay, value: u64) -> u64 {
    // SAFETY: an overlay that was replaced is kept until no worker is in the burst that read it; the context lives for
    // the call.
    let (context, overlay) = unsafe { (&*context, &*overlay) };
    // SAFETY: the code runs while a frame is on its way, within a burst.
    unsafe { overlay.better(context, value) }
}

/// Writes a field wherever it lies.
pub(crate) unsafe extern "C" fn set_field(context: *mut Context, field: u64, value: u64) -> u64 {
    // SAFETY: the context lives for the call.
    let context = unsafe { &mut *context };
    let field = MatchField::from_number(field as u8).map(|field| field.info().source);
    if let Some(Source::Frame(place)) = field {
        // SAFETY: the code runs while a frame is on its way.
        let frame = unsafe { context.frame_mut() };
        let headers = Headers::parse(frame);
        place.write(frame, &headers, value.into());
    }
    0
}

/// Writes an address of an IPv4 header, and what it changes in the checksums of the header and of TCP or UDP, of which
/// one at most has an offset.
pub(crate) unsafe extern "C" fn set_ipv4_address(
    frame: *mut u8,
    header: *mut u8,
    place: u64,
    tcp: u64,
    udp: u64,
    address: u64,
) -> u64 {
    // SAFETY: the code has found that the frame holds all of these headers.
    unsafe {
        let field = header.add(place as usize).cast::<[u8; 4]>();
        let new = (address as u32).to_be_bytes();
        let change = difference(*field, new);
        *field = new;
        update(header.add(10).cast(), change);
        if tcp != 0 {
            update(frame.add(tcp as usize + 16).cast(), change);
        } else if udp != 0 {
            let sum = frame.add(udp as usize + 6).cast::<[u8; 2]>();
            if *sum != [0; 2] {
                update(sum, change);
                // RFC 768: 0 would say that there is none.
                if *sum == [0; 2] {
                    *sum = [0xff; 2];
                }
            }
        }
    }
    0
}

/// Writes bits of the traffic class of an IPv4 header, and its checksum.
pub(crate) unsafe extern "C" fn set_traffic_class(header: *mut u8, mask: u64, bits: u64) -> u64 {
    // SAFETY: the code has found that the frame holds this header.
    unsafe {
        let class = header.add(1);
        let (old, mask) = (*class, mask as u8);
        let new = old & !mask | bits as u8 & mask;
        *class = new;
        update(header.add(10).cast(), difference([0, old, 0, 0], [0, new, 0, 0]));
    }
    0
}

/// What replacing four bytes adds to the sum of 16-bit words.
fn difference(old: [u8; 4], new: [u8; 4]) -> u32 {
    let word = |bytes: [u8; 4], at: usize| u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    (word(new, 0) + word(new, 2)) + (!word(old, 0) & 0xffff) + (!word(old, 2) & 0xffff)
}

/// RFC 1624 equation 3.
unsafe fn update(sum: *mut [u8; 2], change: u32) {
    // SAFETY: the callers'.
    unsafe {
        let mut new = u32::from(!u16::from_be_bytes(*sum)) + change;
        new = (new & 0xffff) + (new >> 16);
        new = (new & 0xffff) + (new >> 16);
        *sum = (!(new as u16)).to_be_bytes();
    }
}
