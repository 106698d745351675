"""Searches for throughput: goals, the loop, its record, and every verdict computed again."""
