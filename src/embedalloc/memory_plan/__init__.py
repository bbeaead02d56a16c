"""Which levels get rows, how many columns and which numbers, under a budget of bytes.

Reads best in this order: `prices` (bytes), `surrogate` (error), `menus` (what a field can have),
`plan` (the exact choice), `result`, `peers` (what others would do) and `torch_tables`.
"""
