use std::fmt;

use super::describe::displays;
use super::{
    AsyncConfiguration, BundleAdd, BundleControl, Configuration, Data, ErrorBody, Experimenter, Features, FlowRemoved,
    Hello, PacketIn, PacketOut, Part, PortMod, PortStatus, QueueConfiguration, QueueConfigurationRequest, Reader,
    Reply, Request, RequestForward, Role, RoleStatus, TableMod, TableStatus, Version, Wire, Writer,
};
use crate::{ErrorCode, ErrorMessage, FlowMod, GroupMod, MeterMod};

/// How many bytes every message begins with.
pub const HEADER_BYTES: usize = 8;

/// What every message begins with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// The version, known or not.
    pub version: u8,
    /// The number of the message's type.
    pub kind: u8,
    /// All bytes of the message, these included.
    pub length: u16,
    /// The transaction id.
    pub transaction: u32,
}

impl Header {
    /// The header at the front of bytes, once enough of them are there.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [version, kind, l1, l0, t3, t2, t1, t0] = *bytes.first_chunk::<HEADER_BYTES>()?;
        Some(Self {
            version,
            kind,
            length: u16::from_be_bytes([l1, l0]),
            transaction: u32::from_be_bytes([t3, t2, t1, t0]),
        })
    }
}

/// All messages: number, content, and which versions have it if not all.
macro_rules! messages {
    ($($kind:ident $(($content:ident: $type:ty))? = $number:literal $(if $versions:pat)?,)*) => {
        /// A message without its header.
        #[derive(Clone, Debug, Eq, PartialEq)]
        #[allow(missing_docs, reason = "the names are the specification's")]
        pub enum Message {
            $($kind $(($type))?,)*
        }

        impl Message {
            /// The number of its type.
            pub fn number(&self) -> u8 {
                match self {
                    $(Self::$kind { .. } => $number,)*
                }
            }

            fn decode_body(number: u8, reader: &mut Reader<'_>) -> Result<Self, ErrorMessage> {
                match number {
                    $($number $(if matches!(reader.version, $versions))? => {
                        Ok(Self::$kind $((<$type as Wire>::decode(reader)?))?)
                    })*
                    _ => Err(ErrorCode::BAD_TYPE.because(format!("there is no message type {number}"))),
                }
            }

            fn encode_body(&self, writer: &mut Writer) {
                match self {
                    $(Self::$kind $(($content))? => { $($content.encode(writer);)? })*
                }
            }
        }

        impl fmt::Display for Message {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind $(($content))? => {
                        formatter.write_str(stringify!($kind))?;
                        $(
                            formatter.write_str(" ")?;
                            $content.text(formatter)?;
                        )?
                    })*
                }
                Ok(())
            }
        }
    };
}

messages! {
    Hello(hello: Hello) = 0,
    Error(error: ErrorBody) = 1,
    EchoRequest(data: Data) = 2,
    EchoReply(data: Data) = 3,
    Experimenter(content: Experimenter) = 4,
    FeaturesRequest = 5,
    FeaturesReply(features: Features) = 6,
    GetConfigRequest = 7,
    GetConfigReply(configuration: Configuration) = 8,
    SetConfig(configuration: Configuration) = 9,
    PacketIn(packet: PacketIn) = 10,
    FlowRemoved(removed: FlowRemoved) = 11,
    PortStatus(status: PortStatus) = 12,
    PacketOut(packet: PacketOut) = 13,
    FlowMod(change: FlowMod) = 14,
    GroupMod(change: GroupMod) = 15,
    PortMod(change: PortMod) = 16,
    TableMod(change: TableMod) = 17,
    MultipartRequest(request: Part<Request>) = 18,
    MultipartReply(reply: Part<Reply>) = 19,
    BarrierRequest = 20,
    BarrierReply = 21,
    QueueGetConfigRequest(port: QueueConfigurationRequest) = 22 if Version::V13,
    QueueGetConfigReply(queues: QueueConfiguration) = 23 if Version::V13,
    RoleRequest(role: Role) = 24,
    RoleReply(role: Role) = 25,
    GetAsyncRequest = 26,
    GetAsyncReply(configuration: AsyncConfiguration) = 27,
    SetAsync(configuration: AsyncConfiguration) = 28,
    MeterMod(change: MeterMod) = 29,
    RoleStatus(status: RoleStatus) = 30 if Version::V14,
    TableStatus(status: TableStatus) = 31 if Version::V14,
    RequestForward(request: RequestForward) = 32 if Version::V14,
    BundleControl(bundle: BundleControl) = 33 if Version::V14,
    BundleAdd(bundle: BundleAdd) = 34 if Version::V14,
}

impl Message {
    /// Reads one whole message, header included, as a version has it. Hellos are read whatever version they state.
    ///
    /// # Errors
    /// With the error that the specification has for what is wrong.
    pub fn decode(bytes: &[u8], version: Version) -> Result<Self, ErrorMessage> {
        let wrong_length = |text: String| ErrorCode::BAD_LENGTH.because(text);
        let Some(header) = Header::parse(bytes) else {
            return Err(wrong_length(format!("a message of {} bytes", bytes.len())));
        };
        if usize::from(header.length) != bytes.len() {
            return Err(wrong_length(format!(
                "length {} for {} bytes",
                header.length,
                bytes.len()
            )));
        }
        if header.kind != 0 && header.version != version as u8 {
            let text = format!("version {} where {} was agreed", header.version, version as u8);
            return Err(ErrorCode::BAD_VERSION.because(text));
        }
        let mut reader = Reader::new(&bytes[HEADER_BYTES..], version);
        let message = Self::decode_body(header.kind, &mut reader)?;
        reader.finish()?;
        Ok(message)
    }

    /// Writes the whole message.
    ///
    /// # Panics
    /// When it is longer than 65,535 bytes: the caller that fills it keeps it below.
    pub fn encode(&self, transaction: u32, version: Version) -> Vec<u8> {
        let writer = self.written(transaction, version);
        assert!(!writer.is_too_long(), "messages are shorter than 64 KiB");
        writer.bytes
    }

    /// Bytes that it takes; nothing where it, or a structure in it, is longer than a message can be.
    pub fn encoded_len(&self, version: Version) -> Option<usize> {
        let writer = self.written(0, version);
        (!writer.is_too_long()).then_some(writer.bytes.len())
    }

    fn written(&self, transaction: u32, version: Version) -> Writer {
        let mut writer = Writer::new(version);
        (version as u8).encode(&mut writer);
        self.number().encode(&mut writer);
        writer.pad(2);
        transaction.encode(&mut writer);
        self.encode_body(&mut writer);
        writer.set_length(0, 2);
        writer
    }
}

displays!(
    super::Port,
    super::PortStatistics,
    super::QueueStatistics,
    PacketOut,
    PortMod,
    TableMod,
    FlowMod,
    GroupMod,
    MeterMod,
    crate::Match,
    crate::Action,
    crate::Instruction
);
