//! Whatever a controller sends is a message that comes back as it was, or an error.
#![no_main]

use brimful_openflow::wire::{Message, Version};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for version in [Version::V13, Version::V14] {
        if let Ok(message) = Message::decode(bytes, version) {
            let again = message.encode(0, version);
            assert_eq!(Message::decode(&again, version).as_ref(), Ok(&message));
            let _ = message.to_string();
        }
    }
});
