"""Reports of runs on block devices: what `brimful iocost` made of benchmark results."""
