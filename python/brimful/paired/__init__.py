"""Devices compared live: trials in pairs, in random order, until it is known whether one is slower."""
