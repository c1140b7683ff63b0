"""The parameters of a request's address."""

from collections import Counter
from collections.abc import Collection

from starlette.requests import Request

from trninv.errors import RequestError, suggestion


def query_parameters(request: Request, allowed: Collection[str] | None = None) -> dict[str, str]:
    """Each parameter's value: a name that is misspelt must not ask for something else.

    Raises
    ------
    RequestError
        One is given twice, or is not known.

    """
    parameters = request.query_params
    for name, count in Counter(name for name, _ in parameters.multi_items()).items():
        if count > 1:
            raise RequestError(f"the parameter {name[:60]!r} is given more than once: give it once")
        if allowed is not None and name not in allowed:
            raise RequestError(f"no parameter {name[:60]!r}: {suggestion(name[:60], allowed)}")
    return dict(parameters)
