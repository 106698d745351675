"""The report on a campaign."""
