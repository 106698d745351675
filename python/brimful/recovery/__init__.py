"""How long a device loses frames after an overload or a reset."""
