"""Reports on campaigns of runs on bursts."""
