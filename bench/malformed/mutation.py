"""Mutate valid inputs: delete, duplicate, replace or insert something at random."""

import random
import re

_ODD = (
    *"\\'\"{}()[];#!:,%*?&=~\0\t\n\u00a0\u202eé😀", "--", "/*", "$x", "...", "@", "%00", "%zz", "\r\n", "日本",
    "-1", "0", "1e999", "NaN", "9" * 40, "0x1f", "null", "true", "../", "A" * 300, " " * 300, "(" * 200, "{a" * 200,
    "--" * 100, "UNION SELECT", "OR 1=1",
)  # fmt: skip


_TOKENS = (re.compile(r"[A-Za-z_0-9.]+"), re.compile(r"\"[^\"]*\"|'[^']*'"), re.compile(r"\d+"))
"""Words, quoted texts, numbers."""


def exchange_words(text: str, others: tuple[str, ...], rng: random.Random) -> str:
    """Replace one or two words, quoted texts or numbers by those of other inputs, or by odd ones."""
    for _ in range(rng.choice((1, 1, 2))):
        part = rng.choice(_TOKENS)
        words, new = list(part.finditer(text)), part.findall(rng.choice(others))
        if words and new:
            match = rng.choice(words)
            word = rng.choice(new) if rng.random() < 0.8 else rng.choice(_ODD)  # noqa: PLR2004 # mostly
            text = text[: match.start()] + word + text[match.end() :]
    return text


def mutate(text: str, rng: random.Random, others: tuple[str, ...] = ()) -> str:
    """Change a text in one to four places, or, half of the time if there are other texts, exchange words only."""
    if others and rng.random() < 0.5:  # noqa: PLR2004 # half
        return exchange_words(text, others, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        start, end = sorted(rng.randint(0, len(text)) for _ in range(2))
        end = min(end, start + 20)
        match rng.randrange(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:]
            case 2:
                text = text[:start]
            case 3:
                text = text[:start] + rng.choice(text or " ") + text[start + 1 :]
            case _:
                text = text[:start] + rng.choice(_ODD) + text[start:]
    return text


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes; the result may no longer be UTF-8."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        position = rng.randrange(len(changed) + 1)
        changed[position : position + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 3))
    return bytes(changed)


def mutate_words(words: tuple[str, ...], rng: random.Random, others: tuple[str, ...]) -> list[str]:
    """Change, delete, duplicate or insert one argument, but not the command itself or the value of -o."""
    first, *rest = words
    changed = [word for word in rest if word not in ("-o", "-")] or [""]
    position = rng.randrange(len(changed))
    match rng.randrange(5):
        case 0:
            del changed[position]
        case 1:
            changed.insert(position, changed[position])
        case 2:
            changed.insert(position, rng.choice(_ODD))
        case _:
            changed[position] = mutate(changed[position], rng, others)
    return [first, *(word for word in changed if not word.startswith("-o")), *(("-o", "-") if "-o" in words else ())]
