//! Words for what compiled code is made of.
#![allow(clippy::cast_possible_wrap, reason = "offsets within structures are small")]

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};

/// The function that is being written.
pub(crate) struct Emit<'f> {
    pub(crate) builder: FunctionBuilder<'f>,
    /// The context of the worker.
    pub(crate) context: Value,
}

impl<'f> Emit<'f> {
    pub(crate) fn new(mut builder: FunctionBuilder<'f>) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let context = builder.block_params(entry)[0];
        Self { builder, context }
    }

    pub(crate) fn number(&mut self, number: u64) -> Value {
        self.builder.ins().iconst(types::I64, number.cast_signed())
    }

    pub(crate) fn address<T>(&mut self, place: *const T) -> Value {
        self.number(place as u64)
    }

    /// Reads memory that is there.
    pub(crate) fn load(&mut self, kind: Type, base: Value, offset: usize) -> Value {
        self.builder.ins().load(kind, flags(), base, offset as i32)
    }

    /// Reads memory that another thread changes: what it wrote before is seen too.
    pub(crate) fn load_shared(&mut self, base: Value, offset: usize) -> Value {
        let place = self.plus(base, offset as u64);
        self.builder.ins().atomic_load(types::I64, flags(), place)
    }

    pub(crate) fn store(&mut self, value: Value, base: Value, offset: usize) {
        self.builder.ins().store(flags(), value, base, offset as i32);
    }

    /// Reads bytes in network order, up to eight.
    pub(crate) fn load_bytes(&mut self, base: Value, offset: usize, count: usize) -> Value {
        let mut value = None;
        let mut done = 0;
        while done < count {
            let step = [8, 4, 2, 1].into_iter().find(|step| done + step <= count).unwrap_or(1);
            let part = self.load_big_endian(base, offset + done, step);
            value = Some(match value {
                None => part,
                Some(before) => {
                    let before = self.shift_left(before, 8 * step as u32);
                    self.or(before, part)
                }
            });
            done += step;
        }
        value.unwrap_or_else(|| self.number(0))
    }

    fn load_big_endian(&mut self, base: Value, offset: usize, count: usize) -> Value {
        let kind = match count {
            8 => types::I64,
            4 => types::I32,
            2 => types::I16,
            _ => types::I8,
        };
        let mut value = self.load(kind, base, offset);
        if count > 1 {
            value = self.builder.ins().bswap(value);
        }
        self.widen(value)
    }

    pub(crate) fn widen(&mut self, value: Value) -> Value {
        if self.builder.func.dfg.value_type(value) == types::I64 {
            return value;
        }
        self.builder.ins().uextend(types::I64, value)
    }

    pub(crate) fn narrow(&mut self, kind: Type, value: Value) -> Value {
        self.builder.ins().ireduce(kind, value)
    }

    pub(crate) fn plus(&mut self, value: Value, number: u64) -> Value {
        if number == 0 {
            return value;
        }
        let number = self.number(number);
        self.builder.ins().iadd(value, number)
    }

    pub(crate) fn add(&mut self, one: Value, other: Value) -> Value {
        self.builder.ins().iadd(one, other)
    }

    pub(crate) fn mask(&mut self, value: Value, mask: u64) -> Value {
        if mask == u64::MAX {
            return value;
        }
        let mask = self.number(mask);
        self.builder.ins().band(value, mask)
    }

    pub(crate) fn and(&mut self, one: Value, other: Value) -> Value {
        self.builder.ins().band(one, other)
    }

    pub(crate) fn or(&mut self, one: Value, other: Value) -> Value {
        self.builder.ins().bor(one, other)
    }

    pub(crate) fn xor(&mut self, one: Value, other: Value) -> Value {
        self.builder.ins().bxor(one, other)
    }

    pub(crate) fn times(&mut self, value: Value, factor: u64) -> Value {
        let factor = self.number(factor);
        self.builder.ins().imul(value, factor)
    }

    pub(crate) fn shift_left(&mut self, value: Value, bits: u32) -> Value {
        if bits == 0 {
            return value;
        }
        let bits = self.number(bits.into());
        self.builder.ins().ishl(value, bits)
    }

    pub(crate) fn shift_right(&mut self, value: Value, bits: u32) -> Value {
        if bits == 0 {
            return value;
        }
        let bits = self.number(bits.into());
        self.builder.ins().ushr(value, bits)
    }

    pub(crate) fn is(&mut self, condition: IntCC, one: Value, other: Value) -> Value {
        self.builder.ins().icmp(condition, one, other)
    }

    pub(crate) fn is_number(&mut self, condition: IntCC, value: Value, number: u64) -> Value {
        let number = self.number(number);
        self.is(condition, value, number)
    }

    pub(crate) fn choose(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        self.builder.ins().select(condition, then, otherwise)
    }

    pub(crate) fn variable(&mut self, number: u64) -> Variable {
        let variable = self.builder.declare_var(types::I64);
        let number = self.number(number);
        self.builder.def_var(variable, number);
        variable
    }

    pub(crate) fn get(&mut self, variable: Variable) -> Value {
        self.builder.use_var(variable)
    }

    pub(crate) fn set(&mut self, variable: Variable, value: Value) {
        self.builder.def_var(variable, value);
    }

    pub(crate) fn block(&mut self) -> Block {
        self.builder.create_block()
    }

    /// A block that is hardly ever entered: it lies behind the others.
    pub(crate) fn cold_block(&mut self) -> Block {
        let block = self.block();
        self.builder.set_cold_block(block);
        block
    }

    /// Goes on writing there.
    pub(crate) fn begin(&mut self, block: Block) {
        self.builder.switch_to_block(block);
    }

    pub(crate) fn jump(&mut self, block: Block) {
        self.builder.ins().jump(block, &[]);
    }

    /// Goes to a block that takes a value.
    pub(crate) fn jump_with(&mut self, block: Block, value: Value) {
        self.builder.ins().jump(block, &[BlockArg::Value(value)]);
    }

    pub(crate) fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        self.builder.ins().brif(condition, then, &[], otherwise, &[]);
    }

    /// Goes to `otherwise` unless the condition holds, and goes on writing where it does.
    pub(crate) fn unless(&mut self, condition: Value, otherwise: Block) {
        let next = self.block();
        self.branch(condition, next, otherwise);
        self.begin(next);
    }

    pub(crate) fn give(&mut self, value: Value) {
        self.builder.ins().return_(&[value]);
    }

    /// Calls a function of this crate with words.
    pub(crate) fn call(&mut self, function: *const u8, arguments: &[Value]) -> Value {
        let function = self.address(function);
        self.call_value(function, arguments)
    }

    /// Calls the function at an address.
    pub(crate) fn call_value(&mut self, function: Value, arguments: &[Value]) -> Value {
        let signature = self.signature(arguments.len());
        let call = self.builder.ins().call_indirect(signature, function, arguments);
        self.builder.inst_results(call)[0]
    }

    fn signature(&mut self, arguments: usize) -> SigRef {
        let mut signature = Signature::new(CallConv::SystemV);
        signature
            .params
            .extend(std::iter::repeat_n(AbiParam::new(types::I64), arguments));
        signature.returns.push(AbiParam::new(types::I64));
        self.builder.import_signature(signature)
    }
}

fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}
