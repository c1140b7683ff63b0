"""The parameters of a request's address."""

from collections import Counter
from collections.abc import Collection

from starlette.requests import Request

from trninv.errors import RequestError, nearest


def query(request: Request, known: Collection[str] | None = None) -> dict[str, str]:
    """Each parameter's value: a name that is misspelt must not ask for something else.

    Raises
    ------
    RequestError
        One is given twice, or is not known.

    """
    given = request.query_params
    for name, times in Counter(name for name, _ in given.multi_items()).items():
        if times > 1:
            raise RequestError(f"the parameter {name[:60]!r} is given more than once: give it once")
        if known is not None and name not in known:
            raise RequestError(f"no parameter {name[:60]!r}: {nearest(name[:60], known)}")
    return dict(given)
