"""/docs: the site with ETags and without a token, nothing beside it, and a page if it is not built."""

from pathlib import Path

import pytest
from documentation import built_site
from starlette.testclient import TestClient

from trninv.cli import self_test
from trninv.service import documentation
from trninv.service.application import create_app
from trninv.settings import Settings


@pytest.fixture(scope="module")
def client() -> TestClient:
    built_site()
    settings = Settings(database_url="sqlite:////nonexistent.db", log="off", auth="tokens")
    application = create_app(settings.database_url, settings)
    return TestClient(application, base_url="http://127.0.0.1")


def test_pages_need_no_token_and_have_an_etag(client: TestClient) -> None:
    assert client.get("/fleet/drift").status_code in (401, 404, 405)
    answer = client.get("/docs")
    assert (answer.status_code, answer.url.path) == (200, "/docs/")
    assert "trninv" in answer.text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    again = client.get("/docs/", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head("/docs/reference/cli.html").status_code == 200


def test_files_whose_name_says_what_is_in_them_are_kept_and_pages_are_not(client: TestClient) -> None:
    assets = built_site() / "html" / "assets"
    style = next(assets.rglob("*.css")).relative_to(assets)
    assert "immutable" in client.get(f"/docs/assets/{style}").headers["Cache-Control"]
    for path in ("", "reference/cli.html", "search.json"):
        assert client.get(f"/docs/{path}").headers["Cache-Control"] == "no-cache", path


@pytest.mark.parametrize(
    "path",
    [
        "nothing.html",
        "../digest.txt",
        "..%2fdigest.txt",
        "%2e%2e/%2e%2e/pyproject.toml",
        "assets/..%2f..%2f..%2fpyproject.toml",
        "%2fetc/passwd",
        "//etc/passwd",
        "a" * 5_000,
    ],
)
def test_what_is_not_a_page_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(f"/docs/{path}")
    assert answer.status_code == 404
    assert answer.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"


def test_posting_is_refused(client: TestClient) -> None:
    assert client.post("/docs/").status_code == 405


def test_a_checkout_without_the_site_says_how_to_build_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (documentation, self_test):
        monkeypatch.setattr(module, "site_directory", lambda: tmp_path / "site")
    for path in ("/docs/", "/docs/reference/cli.html"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "<code>./run docs</code>" in answer.text
    probe = self_test._documentation_probe()
    answer = client.get(probe.path)
    assert answer.status_code == probe.status
    assert probe.expected in answer.content
