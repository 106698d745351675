"""Reports of searches, and comparisons of them."""
