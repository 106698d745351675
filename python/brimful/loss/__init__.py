"""The frame loss rate: how much is lost at each load (RFC 2544 section 26.3)."""
