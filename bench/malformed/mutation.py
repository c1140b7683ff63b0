"""Mutate valid inputs: cut, double, exchange or insert something."""

import random
import re

_ODD = (
    *"\\'\"{}()[];#!:,%*?&=~\0\t\n\u00a0\u202eé😀", "--", "/*", "$x", "...", "@", "%00", "%zz", "\r\n", "日本",
    "-1", "0", "1e999", "NaN", "9" * 40, "0x1f", "null", "true", "../", "A" * 300, " " * 300, "(" * 200, "{a" * 200,
    "--" * 100, "UNION SELECT", "OR 1=1",
)  # fmt: skip


_PARTS = (re.compile(r"[A-Za-z_0-9.]+"), re.compile(r"\"[^\"]*\"|'[^']*'"), re.compile(r"\d+"))
"""Words, quoted texts, numbers."""


def exchanged(text: str, others: tuple[str, ...], chance: random.Random) -> str:
    """Replace one or two words, quoted texts or numbers by those of other inputs, or by odd ones."""
    for _ in range(chance.choice((1, 1, 2))):
        part = chance.choice(_PARTS)
        words, new = list(part.finditer(text)), part.findall(chance.choice(others))
        if words and new:
            at = chance.choice(words)
            word = chance.choice(new) if chance.random() < 0.8 else chance.choice(_ODD)  # noqa: PLR2004 # mostly
            text = text[: at.start()] + word + text[at.end() :]
    return text


def mutated(text: str, chance: random.Random, others: tuple[str, ...] = ()) -> str:
    """Change a text in one to four places, or, half of the time if there are other texts, exchange words only."""
    if others and chance.random() < 0.5:  # noqa: PLR2004 # half
        return exchanged(text, others, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        at, to = sorted(chance.randint(0, len(text)) for _ in range(2))
        to = min(to, at + 20)
        match chance.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:to] + text[at:]
            case 2:
                text = text[:at]
            case 3:
                text = text[:at] + chance.choice(text or " ") + text[at + 1 :]
            case _:
                text = text[:at] + chance.choice(_ODD) + text[at:]
    return text


def mutated_bytes(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes; the result may no longer be UTF-8."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) + 1)
        changed[at : at + chance.randint(0, 2)] = chance.randbytes(chance.randint(0, 3))
    return bytes(changed)


def mutated_words(words: tuple[str, ...], chance: random.Random, others: tuple[str, ...]) -> list[str]:
    """Change, drop, double or insert one argument, but not the command itself or the value of -o."""
    first, *rest = words
    changed = [word for word in rest if word not in ("-o", "-")] or [""]
    at = chance.randrange(len(changed))
    match chance.randrange(5):
        case 0:
            del changed[at]
        case 1:
            changed.insert(at, changed[at])
        case 2:
            changed.insert(at, chance.choice(_ODD))
        case _:
            changed[at] = mutated(changed[at], chance, others)
    return [first, *(word for word in changed if not word.startswith("-o")), *(("-o", "-") if "-o" in words else ())]
