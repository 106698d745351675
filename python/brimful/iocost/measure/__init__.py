"""Results of our own: probes of a disk, searches for late IOs, and vrate searched as a load."""
