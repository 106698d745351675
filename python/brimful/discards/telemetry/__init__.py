"""Counters of switches: read from files of any kind, cleaned, and put into the days of a store."""
