"""Second witnesses: slow versions as paper or textbook states them, and data of known truth."""
