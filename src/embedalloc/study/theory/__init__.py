"""Section 2: the statements about approximation, estimation, generalisation and allocation."""
