"""The library's named random streams, under the study's roof."""

from embedalloc.streams import stream

__all__ = ["stream"]
