"""Campaigns: every combination of measurer, frame size and repeat is a search; one record holds what all found."""
