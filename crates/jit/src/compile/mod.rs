//! Tables as machine code.

mod act;
mod emit;
mod fields;
mod helpers;
mod lookup;
mod parse;

use std::mem::ManuallyDrop;
use std::ptr::from_ref;
use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC::{Equal, UnsignedGreaterThan};
use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};

pub(crate) use parse::SMALLEST_FRAME;

use crate::context::{TableFunction, verdict};
use crate::overlay::OverlayCell;
use crate::plan::Group;
use crate::shape::Shape;
use crate::tuple::{EMPTY, TOMBSTONE};
use emit::Emit;
use lookup::Found;
use parse::{Needs, Parsed};

/// What a table is compiled from.
pub(crate) struct Source {
    pub(crate) groups: Arc<Vec<Group>>,
    /// Shapes by their numbers, from 1 on.
    pub(crate) shapes: Vec<Shape>,
    pub(crate) overlay: Arc<OverlayCell>,
    pub(crate) lookups: u32,
    pub(crate) matches: u32,
}

/// Machine code of a table; its memory goes with it.
pub(crate) struct Code {
    module: ManuallyDrop<JITModule>,
    pub(crate) function: TableFunction,
    pub(crate) byte_len: usize,
}

// SAFETY: the module is not touched until it is dropped, by one thread.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the code is dropped when no worker can be in it, and the module is not used again.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() };
    }
}

/// Writes machine code for this processor.
pub(crate) struct Compiler {
    isa: Arc<dyn TargetIsa>,
}

impl Compiler {
    /// # Errors
    /// When code cannot be written for this processor.
    pub(crate) fn new() -> Result<Self, String> {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("use_colocated_libcalls", "false"),
            ("is_pic", "false"),
        ] {
            flags.set(name, value).map_err(|error| error.to_string())?;
        }
        let isa = cranelift_native::builder().map_err(ToOwned::to_owned)?;
        let isa = isa
            .finish(settings::Flags::new(flags))
            .map_err(|error| error.to_string())?;
        Ok(Self { isa })
    }

    /// # Errors
    /// When there is no memory for the code.
    pub(crate) fn compile(&self, source: &Source) -> Result<Code, String> {
        let (code, _) = self.build(source, false)?;
        Ok(code)
    }

    /// The code in the assembler's words.
    ///
    /// # Errors
    /// When there is no memory for the code.
    pub(crate) fn disassemble(&self, source: &Source) -> Result<String, String> {
        let (_, text) = self.build(source, true)?;
        Ok(text)
    }

    fn build(&self, source: &Source, with_text: bool) -> Result<(Code, String), String> {
        let mut module = JITModule::new(JITBuilder::with_isa(Arc::clone(&self.isa), default_libcall_names()));
        let mut context = module.make_context();
        context.set_disasm(with_text);
        context.func.signature.params.push(AbiParam::new(types::I64));
        context.func.signature.returns.push(AbiParam::new(types::I64));
        let mut builder_context = FunctionBuilderContext::new();
        let builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
        write_table(Emit::new(builder), source, module.target_config());
        let function = module
            .declare_anonymous_function(&context.func.signature)
            .map_err(|error| error.to_string())?;
        module
            .define_function(function, &mut context)
            .map_err(|error| format!("{error:?}"))?;
        let compiled = context.compiled_code();
        let byte_len = compiled.map_or(0, |code| code.code_buffer().len());
        let text = compiled.and_then(|code| code.vcode.clone()).unwrap_or_default();
        module.finalize_definitions().map_err(|error| error.to_string())?;
        let address = module.get_finalized_function(function);
        let code = Code {
            module: ManuallyDrop::new(module),
            // SAFETY: the function was declared with this signature.
            function: unsafe { std::mem::transmute::<*const u8, TableFunction>(address) },
            byte_len,
        };
        Ok((code, text))
    }
}

fn write_table(mut emit: Emit<'_>, source: &Source, target: cranelift_codegen::isa::TargetFrontendConfig) {
    let mut needs = Needs::default();
    source
        .groups
        .iter()
        .for_each(|group| lookup::needs_of(group, &mut needs));
    source.shapes.iter().for_each(|shape| act::needs_of(shape, &mut needs));

    let parsed = Parsed::write(&mut emit, &needs);
    let lookups = emit.number(source.lookups.into());
    act::write_count(&mut emit, &parsed, lookups);
    let found = emit.block();
    let value = emit.builder.append_block_param(found, types::I64);
    for group in source.groups.iter() {
        lookup::write_group(&mut emit, &parsed, group, Found(found));
    }
    let nothing = emit.number(EMPTY);
    emit.jump_with(found, nothing);

    emit.begin(found);
    let value = write_overlay(&mut emit, &source.overlay, value);
    let (met, miss) = (emit.block(), emit.block());
    let is_rule = emit.is_number(UnsignedGreaterThan, value, TOMBSTONE);
    emit.branch(is_rule, met, miss);
    emit.begin(met);
    let matches = emit.number(source.matches.into());
    act::write_count(&mut emit, &parsed, matches);
    act::write_actions(&mut emit, &parsed, &source.shapes, value);
    emit.begin(miss);
    let verdict = emit.number(verdict::MISS);
    emit.give(verdict);
    emit.builder.seal_all_blocks();
    emit.builder.finalize(target);
}

/// Asks the rules that were added since, if there are any.
fn write_overlay(
    emit: &mut Emit<'_>,
    overlay: &OverlayCell,
    value: cranelift_codegen::ir::Value,
) -> cranelift_codegen::ir::Value {
    let cell = emit.address(from_ref(overlay));
    let overlay = emit.load_shared(cell, 0);
    let (ask, go) = (emit.cold_block(), emit.block());
    let best = emit.builder.append_block_param(go, types::I64);
    let is_none = emit.is_number(Equal, overlay, 0);
    let straight = emit.block();
    emit.branch(is_none, straight, ask);
    emit.begin(straight);
    emit.jump_with(go, value);
    emit.begin(ask);
    let context = emit.context;
    let better = emit.call(helpers::find_overlay as *const u8, &[context, overlay, value]);
    emit.jump_with(go, better);
    emit.begin(go);
    best
}
