"""The processing delay of a device: trials through it and over the bare wire, and what their difference says."""
