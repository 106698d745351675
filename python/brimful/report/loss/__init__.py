"""Reports on the frame loss rate."""
