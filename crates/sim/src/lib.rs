//! Simulated systems under test in virtual time, seeded.
