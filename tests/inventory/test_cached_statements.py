"""Statements that differ only in the constant text of a concatenation are compiled once each, and not confused."""

from sqlalchemy import ColumnElement, Engine, literal, select

from trninv.database.sql_constructs import Concat, ConcatArgument
from trninv.database.tables import TABLES


def test_constant_text_is_part_of_the_key() -> None:
    slug: ColumnElement[str] = TABLES["cluster"].c.slug
    pieces_of: list[list[ConcatArgument]] = [["a/", slug], ["a/", slug], ["b/", slug], [slug, "a/"]]
    key, same, other, shifted = (
        select(Concat(pieces))._generate_cache_key()  # what SQLAlchemy's cache compares
        for pieces in pieces_of
    )
    assert key is not None
    assert key == same
    assert len({key.key, other and other.key, shifted and shifted.key}) == 3


def test_answers_follow_constants_and_values(engine: Engine) -> None:
    with engine.connect() as connection:
        for prefix in ("a", "b%", "'"):
            for value in ("x", "y"):
                assert connection.scalar(select(Concat([prefix, literal(value), "/"]))) == f"{prefix}{value}/"
