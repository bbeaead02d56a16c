"""The program beside what a user would run instead: CPU time, memory and the same numbers.

One module per row of the table in `figures/benchmarks.md`. Each runs its contestants in turns, in
processes of their own, and refuses to report a time unless all came to the same numbers. The
slow versions live in `tests.oracles`.
"""
