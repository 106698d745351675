"""Reports on recovery."""
