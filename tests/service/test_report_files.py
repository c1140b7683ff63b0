"""Reports as files over HTTP: Parquet where PyArrow is installed, and in words where it is not."""

import csv
import io
import sys
from collections.abc import Iterator

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


def test_without_pyarrow_there_is_no_parquet_and_the_answer_says_what_to_install(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = client.get("/reports/capacity.parquet")
    assert answer.status_code == 400
    assert "pip install 'trninv[parquet]'" in answer.text
    assert client.post("/graphql", json=FORMATS).json()["data"] == {"reportFormats": ["json", "csv", "ndjson"]}
