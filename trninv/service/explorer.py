"""/: the explorer's page and its files."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import trninv

WEB = Path(trninv.__file__).parent / "web"


async def explorer(_request: Request) -> Response:
    """The page; its views are told apart by what follows #."""
    return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})


ROUTES = [Route("/", explorer), Mount("/assets", StaticFiles(directory=WEB / "assets"))]
