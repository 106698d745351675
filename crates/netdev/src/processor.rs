/// A reading of the processor's time-stamp counter, which counts cycles at a constant rate on the machines of this
/// century; nothing where there is none.
pub fn processor_cycles() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: only reads a register that every processor of this architecture has.
        Some(unsafe { std::arch::x86_64::_rdtsc() })
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}
