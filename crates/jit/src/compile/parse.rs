//! The part of the pre-parser that a table needs, as code. It finds the same as [`Headers::parse`]; frames that this
//! part does not take apart itself go through that.

use std::collections::BTreeSet;
use std::mem::{offset_of, size_of};

use brimful_frame::{EtherType, Header, Headers};
use brimful_openflow::{MatchField, Source};
use cranelift_codegen::ir::condcodes::IntCC::{Equal, NotEqual, UnsignedGreaterThanOrEqual, UnsignedLessThan};
use cranelift_codegen::ir::{Value, types};
use cranelift_frontend::Variable;

use super::emit::Emit;
use super::helpers;
use crate::context::Context;

const TYPE_AT: usize = 12;
/// What lies in every frame that comes here.
const ETHERNET_LEN: u64 = 14;

/// What a table looks at or changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    headers: BTreeSet<u8>,
    extensions: bool,
}

/// Where the headers of the frame lie, as values of the code: offsets from its first byte, 0 where there is none.
pub(crate) struct Parsed {
    pub(crate) frame: Value,
    pub(crate) len: Value,
    offsets: Vec<Option<Variable>>,
}

impl Needs {
    pub(crate) fn field(&mut self, field: MatchField) {
        match field.info().source {
            Source::Frame(place) => {
                self.headers
                    .extend(place.info().places.iter().map(|(header, _)| *header as u8));
                if field == MatchField::Ipv6Exthdr {
                    self.header(Header::Ipv6);
                    self.extensions = true;
                }
            }
            Source::Pipeline => {}
        }
    }

    pub(crate) fn header(&mut self, header: Header) {
        self.headers.insert(header as u8);
    }

    fn has(&self, header: Header) -> bool {
        self.headers.contains(&(header as u8))
    }

    /// Whether it looks at anything behind the Ethernet header and its tags.
    fn is_deep(&self) -> bool {
        use Header as H;
        self.extensions
            || self.headers.iter().any(|&header| {
                ![H::Ethernet, H::VlanTag, H::EtherType]
                    .map(|own| own as u8)
                    .contains(&header)
            })
    }

    fn is_shallow(&self) -> bool {
        !self.is_deep() && !self.has(Header::VlanTag) && !self.has(Header::EtherType)
    }

    fn has_transport(&self) -> bool {
        use Header as H;
        [H::Tcp, H::Udp, H::Sctp, H::Icmpv4]
            .into_iter()
            .any(|header| self.has(header))
    }
}

impl Parsed {
    /// Writes the code that finds what a table needs.
    pub(crate) fn write(emit: &mut Emit<'_>, needs: &Needs) -> Self {
        let context = emit.context;
        let frame = emit.load(types::I64, context, offset_of!(Context, data));
        let len = emit.load(types::I64, context, offset_of!(Context, len));
        let offsets =
            (0..Header::COUNT).map(|header| needs.headers.contains(&(header as u8)).then(|| emit.variable(0)));
        let parsed = Self {
            frame,
            len,
            offsets: offsets.collect(),
        };
        if !needs.is_shallow() {
            parsed.write_tags(emit, needs);
        }
        parsed
    }

    /// The offset of a header that the table needs.
    pub(crate) fn offset(&self, emit: &mut Emit<'_>, header: Header) -> Value {
        match self.offsets[header as usize] {
            Some(variable) => emit.get(variable),
            None => emit.number(0),
        }
    }

    fn found(&self, emit: &mut Emit<'_>, header: Header, at: Value) {
        if let Some(variable) = self.offsets[header as usize] {
            emit.set(variable, at);
        }
    }

    fn write_tags(&self, emit: &mut Emit<'_>, needs: &Needs) {
        let at = emit.variable(TYPE_AT as u64);
        let (look, tagged, behind) = (emit.block(), emit.block(), emit.block());
        emit.jump(look);
        emit.begin(look);
        let here = emit.get(at);
        let place = emit.add(self.frame, here);
        let ether_type = emit.load_bytes(place, 0, 2);
        let is_vlan = emit.is_number(Equal, ether_type, 0x8100);
        let is_service = emit.is_number(Equal, ether_type, 0x88a8);
        let is_tag = emit.or(is_vlan, is_service);
        let end = emit.plus(here, 6);
        let is_whole = emit.is(UnsignedGreaterThanOrEqual, self.len, end);
        let goes_on = emit.and(is_tag, is_whole);
        emit.branch(goes_on, tagged, behind);

        emit.begin(tagged);
        if needs.has(Header::VlanTag) {
            let first = emit.is_number(Equal, here, TYPE_AT as u64);
            let own = emit.number(TYPE_AT as u64 + 2);
            let before = self.offset(emit, Header::VlanTag);
            let tag = emit.choose(first, own, before);
            self.found(emit, Header::VlanTag, tag);
        }
        let next = emit.plus(here, 4);
        emit.set(at, next);
        emit.jump(look);

        emit.begin(behind);
        self.found(emit, Header::EtherType, here);
        if !needs.is_deep() && !needs.has(Header::EtherType) {
            return;
        }
        let (of_802_3, typed, done) = (emit.cold_block(), emit.block(), emit.block());
        let is_length = emit.is_number(UnsignedLessThan, ether_type, EtherType::SMALLEST.into());
        emit.branch(is_length, of_802_3, typed);
        emit.begin(of_802_3);
        self.write_parsed_elsewhere(emit);
        emit.jump(done);
        emit.begin(typed);
        if needs.is_deep() {
            self.write_network(emit, needs, here, ether_type, done);
        } else {
            emit.jump(done);
        }
        emit.begin(done);
    }

    fn write_network(
        &self,
        emit: &mut Emit<'_>,
        needs: &Needs,
        type_at: Value,
        ether_type: Value,
        done: cranelift_codegen::ir::Block,
    ) {
        let (ipv4, other) = (emit.block(), emit.block());
        let is_ipv4 = emit.is_number(Equal, ether_type, 0x0800);
        emit.branch(is_ipv4, ipv4, other);

        emit.begin(ipv4);
        let at = emit.plus(type_at, 2);
        self.write_ipv4(emit, needs, at, done);

        emit.begin(other);
        let parsed_elsewhere: Vec<u64> = elsewhere(needs);
        if parsed_elsewhere.is_empty() {
            emit.jump(done);
            return;
        }
        let mut is_any = emit.is_number(Equal, ether_type, parsed_elsewhere[0]);
        for other in &parsed_elsewhere[1..] {
            let is_this = emit.is_number(Equal, ether_type, *other);
            is_any = emit.or(is_any, is_this);
        }
        emit.unless(is_any, done);
        self.write_parsed_elsewhere(emit);
        emit.jump(done);
    }

    /// Has [`Headers::parse`] find everything.
    fn write_parsed_elsewhere(&self, emit: &mut Emit<'_>) {
        let context = emit.context;
        emit.call(helpers::parse as *const u8, &[context]);
        for header in 0..Header::COUNT {
            if let Some(variable) = self.offsets[header] {
                let place = offset_of!(Context, headers) + Headers::OFFSETS_AT + header * size_of::<u16>();
                let found = emit.load(types::I16, context, place);
                let found = emit.widen(found);
                // Offsets are kept plus one; what lies at 0 lies there always.
                let is_there = emit.is_number(NotEqual, found, 0);
                let at = emit.plus(found, u64::MAX);
                let nowhere = emit.number(0);
                let at = emit.choose(is_there, at, nowhere);
                emit.set(variable, at);
            }
        }
    }

    fn write_ipv4(&self, emit: &mut Emit<'_>, needs: &Needs, at: Value, done: cranelift_codegen::ir::Block) {
        let smallest = emit.plus(at, 20);
        let has_fixed = emit.is(UnsignedGreaterThanOrEqual, self.len, smallest);
        emit.unless(has_fixed, done);
        let header = emit.add(self.frame, at);
        let first = emit.load_bytes(header, 0, 1);
        let version = emit.shift_right(first, 4);
        let is_4 = emit.is_number(Equal, version, 4);
        emit.unless(is_4, done);
        let words = emit.mask(first, 0xf);
        let header_len = emit.shift_left(words, 2);
        let is_long = emit.is_number(UnsignedGreaterThanOrEqual, header_len, 20);
        emit.unless(is_long, done);
        let behind = emit.add(at, header_len);
        let has_all = emit.is(UnsignedGreaterThanOrEqual, self.len, behind);
        emit.unless(has_all, done);
        let total_len = emit.load_bytes(header, 2, 2);
        let is_honest = emit.is(UnsignedGreaterThanOrEqual, total_len, header_len);
        emit.unless(is_honest, done);
        self.found(emit, Header::Ipv4, at);
        let protocol_at = emit.plus(at, 9);
        self.found(emit, Header::IpProtocol, protocol_at);
        if needs.has_transport() {
            let fragment = emit.load_bytes(header, 6, 2);
            let offset = emit.mask(fragment, 0x1fff);
            let is_first = emit.is_number(Equal, offset, 0);
            emit.unless(is_first, done);
            let stated_end = emit.add(at, total_len);
            let is_longer = emit.is(UnsignedLessThan, stated_end, self.len);
            let end = emit.choose(is_longer, stated_end, self.len);
            let protocol = emit.load_bytes(header, 9, 1);
            self.write_transport(emit, protocol, behind, end);
        }
        emit.jump(done);
    }

    fn write_transport(&self, emit: &mut Emit<'_>, protocol: Value, at: Value, end: Value) {
        for (header, number, len) in [
            (Header::Tcp, 6, 20),
            (Header::Udp, 17, 8),
            (Header::Sctp, 132, 12),
            (Header::Icmpv4, 1, 4),
        ] {
            if self.offsets[header as usize].is_none() {
                continue;
            }
            let is_this = emit.is_number(Equal, protocol, number);
            let needed = emit.plus(at, len);
            let is_whole = emit.is(UnsignedGreaterThanOrEqual, end, needed);
            let is_there = emit.and(is_this, is_whole);
            let nowhere = emit.number(0);
            let found = emit.choose(is_there, at, nowhere);
            self.found(emit, header, found);
        }
    }
}

/// The types of frames, other than IPv4, in which a header may be found that the table needs.
fn elsewhere(needs: &Needs) -> Vec<u64> {
    use Header as H;
    let any = |headers: &[H]| headers.iter().any(|header| needs.has(*header));
    let mut types = Vec::new();
    if needs.extensions
        || any(&[
            H::Ipv6,
            H::IpProtocol,
            H::Tcp,
            H::Udp,
            H::Sctp,
            H::Icmpv6,
            H::NdTarget,
            H::NdSourceAddress,
            H::NdTargetAddress,
        ])
    {
        types.push(0x86dd);
    }
    if any(&[H::Arp]) {
        types.push(0x0806);
    }
    if any(&[H::Mpls]) {
        types.extend([0x8847, 0x8848]);
    }
    if any(&[H::Pbb]) {
        types.push(0x88e7);
    }
    types
}

/// Bytes that every frame has, of which code may read without asking.
pub(crate) const SMALLEST_FRAME: u64 = ETHERNET_LEN;
