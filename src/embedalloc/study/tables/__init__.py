"""Plans for real tables against each other, judged by a network that did not plan."""
