"""A made-up network whose truth is known: telemetry and speed tests in the formats of the real one."""
