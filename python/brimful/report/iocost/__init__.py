"""Reports of QoS parameters of block devices."""
