"""Make malformed inputs of each kind."""

import json
import random

from bench.malformed.examples import COMMANDS, DOCUMENTS, HEADERS, METHODS, PATHS, STATEMENTS, VARIABLES
from bench.malformed.mutation import mutated, mutated_bytes, mutated_words

_HEAD = "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n"


_WORDS = tuple(word for words in COMMANDS for word in words)


def graphql(chance: random.Random) -> bytes:
    """Make a request with a mutated document, odd variables, or a body that is not JSON."""
    document = chance.choice(DOCUMENTS)
    body = json.dumps(
        {"query": mutated(document, chance, DOCUMENTS), "variables": json.loads(chance.choice(VARIABLES))}
    ).encode()
    match chance.randrange(6):
        case 0:
            body = mutated_bytes(body, chance)
        case 1:
            variables = mutated(chance.choice(VARIABLES), chance)
            body = f'{{"query": {json.dumps(document)}, "variables": {variables}}}'.encode()
    return _posted("/graphql", body)


def sql(chance: random.Random) -> bytes:
    """Make a request with a mutated statement, an odd format, or a body that is not JSON."""
    body = json.dumps({"sql": mutated(chance.choice(STATEMENTS), chance, STATEMENTS), "format": "json"}).encode()
    match chance.randrange(10):
        case 0:
            body = mutated_bytes(body, chance)
        case 1:
            body = mutated(body.decode(), chance).encode()
    return _posted("/sql", body)


def _posted(path: str, body: bytes) -> bytes:
    return _HEAD.format(path, "application/json", len(body)).encode() + body


def http(chance: random.Random) -> bytes:
    """Make a request with odd methods, paths and headers, or bytes that are not HTTP."""
    path = chance.choice(PATHS)
    path = path if chance.random() < 0.3 else mutated(path, chance, PATHS)  # noqa: PLR2004 # a third stay unchanged
    lines = [f"{chance.choice(METHODS)} {path} {chance.choice(('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9', ''))}"]
    lines += ["Host: 127.0.0.1"] * chance.choice((1, 1, 1, 1, 1, 1, 0, 2))
    lines += chance.sample(HEADERS, chance.randint(0, 3))
    body = chance.choice(["", "", "{}", "5\r\nhello\r\n0\r\n\r\n", "zz\r\n", '{"query": "{'])
    sent = ("\r\n".join(lines) + "\r\n\r\n" + body).encode()
    return mutated_bytes(sent, chance) if chance.random() < 0.3 else sent  # noqa: PLR2004


def command(chance: random.Random) -> list[str]:
    """Make arguments of the command line."""
    return mutated_words(chance.choice(COMMANDS), chance, _WORDS)
