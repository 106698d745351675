"""Results of speed tests, whatever wrote them, as the table of tests of a store."""
