"""Ways to damage a file: bytes, cells, lines, its end."""

import random

ODD_CELLS = [
    b"", b" ", b"-", b"0", b"1", b"-1", b"0.5", b"1e999", b"nan", b"inf", b"NaN", b"1.0000000001",
    b"0." + b"3" * 400, b"9" * 50, b"+.5", b".", b"1.", b"1_0", "½".encode(), "٣".encode(),
    b"\x00", b"\xff", b'"', b'""', b"'", b"\r", b"\n", b"a,b", b"?", b"TRUE", b"=1+1", b"1e308",
    b"\xef\xbb\xbf", b"x" * 140_000, b"NA", b"007", b"\x1b[31m", b"1e-300", b"$\\frac$",
]  # fmt: skip


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Damage a text file in one to four ways."""
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(content) + 1)
        lines = content.split(b"\n")
        line = rng.randrange(len(lines))
        way = rng.randrange(8)
        if way == 0:
            content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
        elif way == 1:
            content = content[:place] + content[place + rng.randint(1, 30) :]
        elif way == 2:
            content = content[:place] + rng.choice(ODD_CELLS) + content[place:]
        elif way == 3:
            content = content[:place]
        elif way in (4, 5):
            row = lines[line].split(b",")
            row[rng.randrange(len(row))] = rng.choice(ODD_CELLS)
            content = b"\n".join([*lines[:line], b",".join(row), *lines[line + 1 :]])
        elif way == 6:
            content = b"\n".join([*lines[:line], lines[line], *lines[line:]])
        else:
            rng.shuffle(lines)
            content = b"\n".join(lines)
    return content
