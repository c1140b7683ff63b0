"""The parameters of a request's address."""

from collections.abc import Iterable

from starlette.requests import Request

from trninv.errors import RequestError, nearest


def query(request: Request, known: Iterable[str] | None = None) -> dict[str, str]:
    """Each parameter's value: a name that is misspelt must not ask for something else.

    Raises
    ------
    RequestError
        One is given twice, or is not known.

    """
    given = request.query_params
    for name in given:
        if len(given.getlist(name)) > 1:
            raise RequestError(f"the parameter {name[:60]!r} is given more than once: give it once")
        if known is not None and name not in known:
            raise RequestError(f"no parameter {name[:60]!r}: {nearest(name, known)}")
    return dict(given)
