"""Reports on bisections."""
