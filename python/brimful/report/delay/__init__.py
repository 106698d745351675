"""Reports on the processing delay of a device."""
