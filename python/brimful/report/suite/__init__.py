"""Reports on suites of tests."""
