"""Reports on back-to-back frames."""
