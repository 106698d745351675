"""Runs on block devices as text, HTML, PDF and tables."""
