//! Simulated systems under test: seeded, in virtual time, fast enough to search them by the thousand.
//!
//! A [`SystemSpec`] says what to simulate, as text that fits on a command line; a [`Simulator`] made of it is a
//! [`Measurer`](brimful_trial::Measurer) with a clock of its own. What the weather is (jitter, dips, stalls, regimes)
//! depends on the seed and the virtual time only, never on what was measured before: two searches with one seed meet
//! the same weather at the same time.
//!
//! ```
//! use brimful_sim::{Simulator, SystemSpec};
//! use brimful_trial::{Load, Measurer, Nanoseconds, TrialInput};
//!
//! let spec: SystemSpec = "sharp,capacity=1Mpps".parse()?;
//! let mut simulator = Simulator::new(&spec);
//! let input = TrialInput { load: Load::new(2e6)?, duration: Nanoseconds::from_seconds(1.0)? };
//! let output = simulator.measure(input, None)?;
//! assert_eq!((output.counts.sent(), output.counts.lost()), (2_000_000, 1_000_000));
//! assert_eq!(simulator.now(), Nanoseconds::from_seconds(1.0)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod kinds;
mod model;
mod simulator;
mod spec;
mod trial;
mod value;
mod weather;

pub use kinds::{DefaultValue, Kind, KindInfo, ParameterInfo};
pub use simulator::Simulator;
pub use spec::{SpecError, SystemSpec};
pub use value::{Quantity, Value};
