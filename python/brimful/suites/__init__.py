"""Whole suites of tests by one command."""
