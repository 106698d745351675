"""Histories as a static site: an index of findings, a figure for each series, a feed and a badge."""
