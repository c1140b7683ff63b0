"""Check the text of a Cypher query: one statement that only reads the graph.

ladybug's read-only mode still reads and writes files (LOAD FROM, COPY TO, EXPORT), loads extensions and changes
settings. The check gives a message that says what is wrong; the limits of the process that runs a query hold anyway.
"""

import re
from typing import Final

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
    | (?P<word> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<blank> [ \t\r\n]+ )
    | (?P<end> ; )
    | (?P<opening> [(\[{] )
    | (?P<closing> [)\]}] )
    | (?P<sign> [0-9!#$%&*+,\-./:<=>?@^|~] )
    """,
    re.VERBOSE | re.DOTALL,
)


def check_query(query: str) -> frozenset[str]:
    """Return the words of a query outside of texts, in capitals.

    Raises
    ------
    CypherError
        The query is too large, is not one statement that only reads, or has an unusual character outside of texts.

    """
    if len(query.encode(errors="surrogatepass")) > MAX_BYTES:
        raise CypherError(f"the query has more than {MAX_BYTES:,} bytes; pass long lists as parameters")
    words, depth, position, has_ended = list[str](), 0, 0, False
    while position < len(query):
        token = _TOKEN.match(query, position)
        if token is None:
            raise CypherError(f"character {position + 1} of the query, {query[position]!r}, may only stand in a text")
        kind, position = token.lastgroup, token.end()
        if kind in ("blank", "comment"):
            continue
        if has_ended:
            raise CypherError("the query has several statements; send one")
        has_ended = kind == "end"
        if kind == "word":
            _check_word(token[0].upper())
        if not words and token[0].upper() not in ALLOWED_STARTS:
            starts = f"{', '.join(ALLOWED_STARTS[:-1])} or {ALLOWED_STARTS[-1]}"
            raise CypherError(f"the query starts with {token[0][:20]}; start it with {starts}")
        if kind == "word":
            words.append(token[0].upper())
        depth += {"opening": 1, "closing": -1}.get(str(kind), 0)
        if depth > MAX_DEPTH:
            raise CypherError(f"the query is nested more than {MAX_DEPTH} deep; split it with WITH")
    if not words:
        raise CypherError("the query is empty")
    return frozenset(words)


def limit_rows(query: str, words: frozenset[str], rows: int) -> str:
    """Return a query that makes no more rows than needed, if it has no limit itself: ladybug keeps all in memory."""
    if words & {"LIMIT", "UNION"}:
        return query
    end = query.rstrip().removesuffix(";")
    return f"{end}\nLIMIT {rows}"


def _check_word(word: str) -> None:
    if word in REFUSED_WORDS:
        raise CypherError(f"{word} is refused: a query only reads the graph; quote a name: `{word.lower()}`")
