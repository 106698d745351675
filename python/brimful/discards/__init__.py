"""What a switch dropped, and whom it hurt: from telemetry and speed tests to findings."""
