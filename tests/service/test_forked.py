"""What a service under test logs as a failure fails the test, although clients see no more than an id."""

import json
import sqlite3
from contextlib import closing
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from conftest import Databases
from forking import forked_service

DOCUMENT = json.dumps({"query": "{ chips(first: 1) { nodes { address } } }"}).encode()


def ask(url: str) -> None:
    headers = {"Content-Type": "application/json"}
    try:
        with urlopen(Request(f"{url}/graphql", DOCUMENT, headers), timeout=30) as response:
            assert response.status == 200
    except HTTPError as error:
        error.close()


def ask_a_broken_service(url: str) -> None:
    with forked_service(url) as service:
        ask(service)
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.execute("PRAGMA legacy_alter_table = 1")
            connection.execute("ALTER TABLE chip RENAME TO gone")
            connection.commit()
        ask(service)


@pytest.mark.slow
def test_a_failure_fails_the_test_that_is_served(databases: Databases) -> None:
    with pytest.raises(AssertionError, match="no such table: chip"):
        ask_a_broken_service(databases.seeded("sqlite"))


@pytest.mark.slow
def test_a_request_that_is_refused_is_no_failure(databases: Databases) -> None:
    with forked_service(databases.seeded("sqlite")) as service:
        with pytest.raises(HTTPError) as refused:
            urlopen(f"{service}/failure", timeout=30)
        refused.value.close()
        assert refused.value.code == 404
