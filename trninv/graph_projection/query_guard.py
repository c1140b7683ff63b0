"""Check the text of a Cypher query: one statement that only reads the graph.

ladybug's read-only mode still reads and writes files (LOAD FROM, COPY TO, EXPORT), loads extensions and changes
settings. The check gives a message that says what is wrong; the limits of the process that runs a query hold anyway.
"""

import re
from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

from trninv.errors import CypherError

MAX_BYTES: Final = 4_096
"""Maximum size of a query; larger ones can take minutes to parse, which nothing interrupts."""
MAX_DEPTH: Final = 50
"""Maximum depth of parentheses, brackets and braces."""
ALLOWED_STARTS: Final = ("MATCH", "OPTIONAL", "RETURN", "UNWIND", "WITH")
REFUSED_WORDS: Final = frozenset(
    {"ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "CHECKPOINT", "COMMENT", "COMMIT", "COPY", "CREATE", "DELETE"}
    | {"DETACH", "DROP", "EXPLAIN", "EXPORT", "FORCE", "IMPORT", "INSERT", "INSTALL", "LOAD", "MACRO", "MERGE"}
    | {"PROFILE", "REMOVE", "ROLLBACK", "SET", "UNINSTALL", "UPDATE", "USE"}
)
"""Words of statements that do anything but read the graph; as a name, such a word needs backticks."""
_TOKEN: Final = re.compile(
    r"""
    (?P<text> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<name> `[^`]*` )
    | (?P<comment> /\*.*?\*/ | //[^\r\n]* )
    | (?P<parameter> \$ (?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|`[^`]*`) )
    | (?P<word> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<blank> [ \t\r\n]+ )
    | (?P<end> ; )
    | (?P<opening> [(\[{] )
    | (?P<closing> [)\]}] )
    | (?P<sign> [0-9!#$%&*+,\-./:<=>?@^|~] )
    """,
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def check_query(query: str, max_rows: int, parameters: Container[str]) -> str:
    """Return a query that makes at most so many rows, if it has no limit itself: ladybug keeps all rows in memory.

    ``parameters`` are the names of those that have values; ladybug takes others for null.

    Raises
    ------
    CypherError
        The query is too large, is not one statement that only reads, has an unusual character outside of texts, or has
        a parameter without a value.

    """
    if len(query.encode(errors="surrogatepass")) > MAX_BYTES:
        raise CypherError(f"the query has more than {MAX_BYTES:,} bytes; pass long lists as parameters")
    tokens = list(_read_tokens(query))
    _check_start(tokens)
    words, depth = set[str](), 0
    for token in tokens:
        if token.kind == "parameter":
            _check_parameter(token.text.removeprefix("$"), parameters)
        if token.kind == "word":
            words.add(_checked_word(token.text.upper()))
        depth += {"opening": 1, "closing": -1}.get(token.kind, 0)
        if depth > MAX_DEPTH:
            raise CypherError(f"the query is nested more than {MAX_DEPTH} deep; split it with WITH")
        if token.kind == "end" and token is not tokens[-1]:
            raise CypherError("the query has several statements; send one")
    if tokens[-1].kind == "end":
        query = query[: tokens[-1].start]
    return query if words & {"LIMIT", "UNION"} else f"{query}\nLIMIT {max_rows}"


def _read_tokens(query: str) -> Iterator[_Token]:
    """Yield the tokens of a query besides blanks and comments."""
    position = 0
    while position < len(query):
        match = _TOKEN.match(query, position)
        if match is None:
            raise CypherError(f"character {position + 1} of the query, {query[position]!r}, may only stand in a text")
        if match.lastgroup not in ("blank", "comment"):
            yield _Token(str(match.lastgroup), match[0], position)
        position = match.end()


def _check_start(tokens: Sequence[_Token]) -> None:
    start = tokens[0].text if tokens else "nothing"
    if start.upper() not in ALLOWED_STARTS:
        starts = f"{', '.join(ALLOWED_STARTS[:-1])} or {ALLOWED_STARTS[-1]}"
        raise CypherError(f"the query starts with {start[:20]}; start it with {starts}")


def _check_parameter(name: str, parameters: Container[str]) -> None:
    _checked_word(name.upper())
    if name not in parameters:
        short_name = name[:100]
        raise CypherError(
            f"${short_name} has no value: add --set {short_name}=VALUE, or parameters over HTTP and in Python"
        )


def _checked_word(word: str) -> str:
    if word in REFUSED_WORDS:
        raise CypherError(f"{word} is refused: a query only reads the graph; quote a name: `{word.lower()}`")
    return word
