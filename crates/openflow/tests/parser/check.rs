use brimful_frame::Headers;
use brimful_openflow::{MATCH_FIELDS, Source};

/// The headers of a frame lie within it, and its fields can be read and written; gives how many fields it has.
pub fn fields_of(bytes: &[u8]) -> usize {
    let headers = Headers::parse(bytes);
    let mut frame = bytes.to_vec();
    let mut fields = 0;
    for row in MATCH_FIELDS {
        let Source::Frame(place) = row.field.info().source else {
            continue;
        };
        if let Some(value) = place.read(bytes, &headers) {
            assert!(value <= row.field.largest(), "{:?}", row.field);
            place.write(&mut frame, &headers, value);
            fields += 1;
        }
    }
    assert_eq!(frame.len(), bytes.len());
    fields
}
