"""QoS parameters of block devices from benchmark results."""
