"""Which build of a history made a device slower, with a stated confidence."""
