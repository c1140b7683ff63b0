"""Digests of the seed documents, which tell whether words are quoted from one of them; their texts are not kept here.

A digest holds, for every one, two and three consecutive words of a text, in an order that says nothing, the first 24
bits of a SHA-256. Words are in small letters and without punctuation, so that a line break or a quotation mark does not
count. Made from the texts by

    .venv/bin/python tests/quotes.py trn1-seed=FILE trn2-seed=FILE trn3-seed=FILE latitude-seed=FILE
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

DIGESTS = Path(__file__).parent / "golden" / "quotes.json"
LONGEST = 3
_BITS = 24
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")


def words(text: str) -> list[str]:
    """The words and numbers of a text."""
    return [word.lower() for word in _WORD.findall(text)]


def grams(said: Sequence[str], longest: int = LONGEST) -> Iterator[str]:
    """Every run of up to so many words."""
    for length in range(1, longest + 1):
        for at in range(len(said) - length + 1):
            yield " ".join(said[at : at + length])


def hashed(gram: str) -> str:
    """What a digest holds of a run of words."""
    return sha256(gram.encode()).hexdigest()[: _BITS // 4]


def missing(quote: str, digest: frozenset[str]) -> list[str]:
    """Runs of words of a quote that the digested text has not."""
    return [gram for gram in grams(words(quote)) if hashed(gram) not in digest]


def digests() -> dict[str, frozenset[str]]:
    """The digest of each document, by its source's slug."""
    held = json.loads(DIGESTS.read_text("utf-8"))
    return {slug: frozenset(" ".join(lines).split()) for slug, lines in held.items()}


def _lines(text: str) -> list[str]:
    found = sorted({hashed(gram) for gram in grams(words(text))})
    return [" ".join(found[at : at + 16]) for at in range(0, len(found), 16)]


def _write(sources: Iterable[str]) -> None:
    pairs = [source.partition("=") for source in sources]
    made = {slug: _lines(Path(file).read_text("utf-8")) for slug, _, file in pairs}
    DIGESTS.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    _write(sys.argv[1:])
