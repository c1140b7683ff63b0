"""Serve the documentation site, which `./run docs` builds and a wheel contains."""

import re
from typing import Final

from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from trninv.settings import site_directory

_NOT_BUILT: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>trninv documentation</title>
<h1>The documentation is not built</h1>
<p>Run <code>./run docs</code> in this checkout, then load this page again.</p>
<p><code>trninv docs</code> shows the same pages on the command line.</p>
"""
_HASHED_NAME = re.compile(r"\.[0-9a-f]{8}\.(min\.)?(css|js)$")
"""The end of a file's name that changes with its content."""


class _DocumentationSite(StaticFiles):
    """The pages and their files; like the explorer's, they need no token."""

    async def check_config(self) -> None:
        """Accept a missing directory, because the site may be built while the service runs."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, which browsers keep as long as its name says what is in it."""
        if not (site_directory() / "index.html").is_file():
            return HTMLResponse(_NOT_BUILT, status_code=404)
        response = await super().get_response(path, scope)
        is_hashed = response.status_code < 300 and _HASHED_NAME.search(path)  # noqa: PLR2004
        response.headers["Cache-Control"] = "max-age=31536000, immutable" if is_hashed else "no-cache"
        return response


ROUTES = [Mount("/docs", _DocumentationSite(directory=site_directory(), html=True, check_dir=False))]
