"""A page of another site starts no question; a link from there may be followed."""

from itertools import product

import pytest
from starlette.testclient import TestClient

from trninv.service.application import create_app
from trninv.settings import Settings

_QUESTION = "/graphql?query=%7B%20clusters%20%7B%20totalCount%20%7D%20%7D"
_PATHS = (
    _QUESTION,
    "/chips/u-trn2x64",
    "/pictures/timeline",
    "/reports/capacity.json",
    "/export/v_cluster.csv",
    "/metrics",
)


def _client(url: str, **settings: object) -> TestClient:
    return TestClient(create_app(url, Settings(database_url=url, log="off", **settings)), base_url="http://127.0.0.1")  # type: ignore[arg-type] # by name


def _fetch(site: str, mode: str, destination: str) -> dict[str, str]:
    return {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination}


@pytest.mark.parametrize(
    ("mode", "destination"), [("no-cors", "image"), ("cors", "empty"), ("no-cors", "script"), ("navigate", "iframe")]
)
def test_a_script_image_or_frame_of_another_site_is_refused(lite: str, mode: str, destination: str) -> None:
    with _client(lite) as client:
        for path in _PATHS:
            answer = client.get(path, headers=_fetch("cross-site", mode, destination))
            assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (403, "FORBIDDEN"), path
            assert "TRNINV_CORS_ORIGINS" in answer.text


def test_a_link_and_the_pages_of_the_same_site_are_not(lite: str) -> None:
    own = product(("same-origin", "same-site", "none"), ("cors", "no-cors", "navigate"), ("empty", "document", "image"))
    with _client(lite) as client:
        for path in _PATHS:
            for headers in (_fetch("cross-site", "navigate", "document"), *(_fetch(*one) for one in own), {}):
                assert client.get(path, headers=headers).status_code == 200, (path, headers)


def test_a_form_of_another_site_is_refused(lite: str) -> None:
    with _client(lite) as client:
        answer = client.post("/graphql", content="{}", headers=_fetch("cross-site", "navigate", "document"))
        assert answer.status_code == 403


@pytest.mark.parametrize(("origin", "status"), [("https://a.example", 200), ("https://b.example", 403), ("", 403)])
def test_a_listed_origin_may_send_requests(lite: str, origin: str, status: int) -> None:
    headers = _fetch("cross-site", "cors", "empty") | ({"Origin": origin} if origin else {})
    with _client(lite, cors_origins=("https://a.example",)) as client:
        assert client.get(_QUESTION, headers=headers).status_code == status
