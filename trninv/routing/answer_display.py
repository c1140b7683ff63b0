"""Give answers short texts for prompts, HTML for notebooks, and tables."""

from typing import Any

from trninv.rendered_text import Rendered


class AnswerDisplay:
    """Methods of every answer that show it or convert it."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.__repr__ = AnswerDisplay.__repr__  # type: ignore[method-assign] # or a dataclass gets one of all its fields

    def __repr__(self) -> str:
        from trninv.routing.tabular import short_text  # noqa: PLC0415 # for prompts only; it imports answers

        return short_text(type(self).__name__, self.render())

    def _repr_html_(self) -> str:
        from trninv.routing.tabular import html_text  # noqa: PLC0415 # as above

        return html_text(self.render())

    def render(self) -> Rendered:
        """Yield the answer as lines and tables of text."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and properties as plain values, quantities in the unit that their name ends with."""
        from trninv.routing.tabular import to_record  # noqa: PLC0415 # as above

        return to_record(self)

    def to_arrow(self, name: str | None = None) -> Any:
        """Return a list of the answer as a table of pyarrow: its only one beside the facts, or the one of a name."""
        from trninv.routing.tabular import answer_rows, arrow_table  # noqa: PLC0415 # as above

        return arrow_table(*answer_rows(self, name))

    def to_pandas(self, name: str | None = None) -> Any:
        """Return a list of the answer as a data frame of pandas; see `to_arrow`."""
        from trninv.routing.tabular import answer_rows, pandas_frame  # noqa: PLC0415 # as above

        return pandas_frame(*answer_rows(self, name))

    def to_polars(self, name: str | None = None) -> Any:
        """Return a list of the answer as a data frame of Polars; see `to_arrow`."""
        from trninv.routing.tabular import answer_rows, polars_frame  # noqa: PLC0415 # as above

        return polars_frame(*answer_rows(self, name))
