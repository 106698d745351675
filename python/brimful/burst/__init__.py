"""Back-to-back frames: the longest burst that a device takes without loss, and the buffer that it implies."""
