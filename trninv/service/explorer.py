"""Serve the explorer's page and its files."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import trninv

WEB_DIRECTORY = Path(trninv.__file__).parent / "web"


async def explorer_page(_request: Request) -> Response:
    """Return the explorer's page; the URL fragment selects the view."""
    return FileResponse(WEB_DIRECTORY / "index.html", headers={"Cache-Control": "no-cache"})


ROUTES = [Route("/", explorer_page), Mount("/assets", StaticFiles(directory=WEB_DIRECTORY / "assets"))]
