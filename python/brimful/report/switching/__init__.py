"""Reports on tests of switches."""
