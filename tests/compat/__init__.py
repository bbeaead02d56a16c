"""Our package installed together with others, at their newest and at the lowest versions."""
