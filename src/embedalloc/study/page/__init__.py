"""The report page and what the README takes from it."""
