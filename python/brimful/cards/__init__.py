"""Whether the network cards of this machine would falsify a test: `reading` what the kernel says, `judging` it."""
