"""Reports as files over HTTP: Parquet where PyArrow is installed, and in words where it is not."""

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from trninv.service.application import create_app
from trninv.settings import Settings

FORMATS = {"query": "{ reportFormats }"}


@pytest.fixture
def client(seeded: str) -> Iterator[TestClient]:
    made = create_app(seeded, Settings(database_url=seeded, log="off"))
    with TestClient(made, base_url="http://127.0.0.1", raise_server_exceptions=False) as opened:
        yield opened


def test_a_report_is_the_same_as_parquet_and_as_csv(client: TestClient) -> None:
    answer = client.get("/reports/capacity.parquet?generation=trn3")
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert answer.headers["x-truncated"] == "false"
    table = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    header, *rows = csv.reader(io.StringIO(client.get("/reports/capacity.csv?generation=trn3").text))
    assert table.column_names == header
    assert len(rows) == table.num_rows > 1
    assert [str(chips) for chips in table["chips"].to_pylist()] == [row[header.index("chips")] for row in rows]
    assert str(table.schema.field("chips").type) == "int64"
    assert "parquet" in client.post("/graphql", json=FORMATS).json()["data"]["reportFormats"]


def _settled_etag(client: TestClient, asked: dict[str, str]) -> str:
    """Return the ETag with which the next request is answered 304.

    SQLite's revision may change, or be unknown for a moment, when another connection recovers the WAL index: the answer
    is then sent again, with another ETag.
    """
    for _ in range(9):
        etag = client.get("/graphql", params=asked).headers.get("etag", "")
        again = client.get("/graphql", params=asked, headers={"If-None-Match": etag})
        if again.status_code == 304:
            return etag
    raise AssertionError(f"the ETag never settled: {etag}, {again.headers}")


def test_an_etag_is_also_of_the_reports_of_a_user(lite: str, tmp_path: Path) -> None:
    settings = Settings(database_url=lite, log="off", reports=tmp_path)
    asked = {"query": '{ reports { name title } report(name: "mine") { rows } }'}
    file = tmp_path / "mine.sql"
    file.write_text("SELECT 1 AS one")
    with TestClient(create_app(lite, settings), base_url="http://127.0.0.1") as client:
        for text in ("SELECT 2 AS two", "SELECT 3 AS three"):
            known = {"If-None-Match": _settled_etag(client, asked)}
            file.write_text(text)
            again = client.get("/graphql", params=asked, headers=known)
            assert (again.status_code, again.json()["data"]["report"]["rows"]) == (200, [[int(text.split()[1])]])
        known = {"If-None-Match": _settled_etag(client, asked)}
        (tmp_path / "another.sql").write_text("-- title: Another\nSELECT 1")
        assert "Another" in client.get("/graphql", params=asked, headers=known).text
        known = {"If-None-Match": _settled_etag(client, asked)}
        (tmp_path / "another.sql").unlink()
        again = client.get("/graphql", params=asked, headers=known)
        assert (again.status_code, "Another" in again.text) == (200, False)


def test_without_pyarrow_there_is_no_parquet_and_the_answer_says_what_to_install(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = client.get("/reports/capacity.parquet")
    assert answer.status_code == 400
    assert "install the extra parquet" in answer.text
    assert client.post("/graphql", json=FORMATS).json()["data"] == {"reportFormats": ["json", "csv", "ndjson"]}
