"""How large pages are that are fetched when they are opened."""

import gzip

from trninv.service.explorer import WEB_DIRECTORY

CHUNK = 15_500
"""Bytes of a page that is fetched when it is opened, compressed."""


def test_each_page_that_is_fetched_later_is_small() -> None:
    for name in ("compare", "jobs", "reports", "table", "timeline"):
        files = [file for kind in ("js", "css") if (file := WEB_DIRECTORY / "assets" / f"{name}.{kind}").exists()]
        assert files, name
        assert sum(len(gzip.compress(file.read_bytes())) for file in files) < CHUNK, name
