"""Make malformed inputs of each kind."""

import json
import random

from bench.malformed.examples import COMMANDS, DOCUMENTS, HEADERS, METHODS, PATHS, STATEMENTS, VARIABLES
from bench.malformed.mutation import mutate, mutate_bytes, mutate_words

_HEAD = "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n"


_WORDS = tuple(word for words in COMMANDS for word in words)


def make_graphql(rng: random.Random) -> bytes:
    """Make a request with a mutated document, odd variables, or a body that is not JSON."""
    document = rng.choice(DOCUMENTS)
    body = json.dumps(
        {"query": mutate(document, rng, DOCUMENTS), "variables": json.loads(rng.choice(VARIABLES))}
    ).encode()
    match rng.randrange(6):
        case 0:
            body = mutate_bytes(body, rng)
        case 1:
            variables = mutate(rng.choice(VARIABLES), rng)
            body = f'{{"query": {json.dumps(document)}, "variables": {variables}}}'.encode()
    return _post_request("/graphql", body)


def make_sql(rng: random.Random) -> bytes:
    """Make a request with a mutated statement, an odd format, or a body that is not JSON."""
    body = json.dumps({"sql": mutate(rng.choice(STATEMENTS), rng, STATEMENTS), "format": "json"}).encode()
    match rng.randrange(10):
        case 0:
            body = mutate_bytes(body, rng)
        case 1:
            body = mutate(body.decode(), rng).encode()
    return _post_request("/sql", body)


def _post_request(path: str, body: bytes) -> bytes:
    return _HEAD.format(path, "application/json", len(body)).encode() + body


def make_http(rng: random.Random) -> bytes:
    """Make a request with odd methods, paths and headers, or bytes that are not HTTP."""
    path = rng.choice(PATHS)
    path = path if rng.random() < 0.3 else mutate(path, rng, PATHS)  # noqa: PLR2004 # a third stay unchanged
    lines = [f"{rng.choice(METHODS)} {path} {rng.choice(('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9', ''))}"]
    lines += ["Host: 127.0.0.1"] * rng.choice((1, 1, 1, 1, 1, 1, 0, 2))
    lines += rng.sample(HEADERS, rng.randint(0, 3))
    body = rng.choice(["", "", "{}", "5\r\nhello\r\n0\r\n\r\n", "zz\r\n", '{"query": "{'])
    request = ("\r\n".join(lines) + "\r\n\r\n" + body).encode()
    return mutate_bytes(request, rng) if rng.random() < 0.3 else request  # noqa: PLR2004


def make_command(rng: random.Random) -> list[str]:
    """Make arguments of the command line."""
    return mutate_words(rng.choice(COMMANDS), rng, _WORDS)
