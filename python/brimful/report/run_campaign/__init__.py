"""Reports on campaigns of runs that are no searches: bursts, loss rates, recoveries."""
