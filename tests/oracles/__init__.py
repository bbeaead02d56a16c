"""Naive and literal versions of what the package computes, and made-up data: second witnesses."""
