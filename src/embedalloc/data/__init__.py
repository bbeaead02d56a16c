"""Planning from a table: what the rows say about which dimensions pay."""
