"""Text of a user's, which may hold anything, as text that only prints."""


def make_visible(text: str) -> str:
    r"""Return text in which whatever does not print is a visible mark.

    A name from a user's file may hold escape sequences that colour a terminal or rename its
    window, line ends, or bytes that are no characters. Every such text is printed through this.

    Examples
    --------
    >>> print(make_visible("\x1b[31mred"), make_visible("two\nlines"))
    \x1b[31mred two\nlines
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
