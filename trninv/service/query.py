"""Read a request's query parameters."""

from collections import Counter
from collections.abc import Collection

from starlette.requests import Request

from trninv.errors import RequestError, suggestion


def query_parameters(request: Request, allowed: Collection[str] | None = None) -> dict[str, str]:
    """Return the query parameters; a misspelt name is refused, not ignored.

    Raises
    ------
    RequestError
        A parameter is repeated or unknown.

    """
    parameters = request.query_params
    for name, count in Counter(name for name, _ in parameters.multi_items()).items():
        if count > 1:
            raise RequestError(f"the parameter {name[:60]!r} is given more than once: give it once")
        if allowed is not None and name not in allowed:
            raise RequestError(f"no parameter {name[:60]!r}: {suggestion(name[:60], allowed)}")
    return dict(parameters)
