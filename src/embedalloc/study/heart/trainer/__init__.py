"""Training many small networks: a compiled kernel, and the plain loop beside it."""
