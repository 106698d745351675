"""Reports on live comparisons."""
