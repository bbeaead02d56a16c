"""The sweep behind `compare` and `frontier`: every rule on every split at every budget."""
