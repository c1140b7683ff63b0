"""Give answers short texts for prompts, HTML for notebooks, and tables."""

from typing import Any, TypeVar

from trninv.errors import TrninvError
from trninv.rendered_text import Rendered
from trninv.routing.picture import AnswerOrigin

_ORIGIN = "_origin"
"""The attribute of an answer with its `AnswerOrigin`; no field, as equal answers of different fleets are equal."""
D = TypeVar("D", bound="AnswerDisplay")


def with_origin(answer: D, fleet: Any, revision: str | None) -> D:
    """Note on an answer which fleet gave it, so that a notebook can draw it."""
    vars(answer)[_ORIGIN] = AnswerOrigin(fleet, revision)
    return answer


class AnswerDisplay:
    """Methods of every answer that show it or convert it."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.__repr__ = AnswerDisplay.__repr__  # type: ignore[method-assign] # or a dataclass gets one of all its fields

    def __repr__(self) -> str:
        from trninv.routing.tabular import short_text  # noqa: PLC0415 # for prompts only; it imports answers

        return short_text(type(self).__name__, self.render())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _ORIGIN}

    def _repr_html_(self) -> str:
        from trninv.routing.tabular import html_text  # noqa: PLC0415 # as above

        return html_text(self.render()) + self._draw()

    def _draw(self) -> str:
        """Return the answer's picture as HTML; nothing if it has none, or the fleet has changed since."""
        arguments, origin = self.picture_arguments(), vars(self).get(_ORIGIN)
        if arguments is None or origin is None or origin.revision is None:
            return ""
        try:
            picture = origin.fleet.draw(**arguments)
        except TrninvError:  # several domains, or the fleet is closed
            return ""
        html: str = picture._repr_html_()  # the name is Jupyter's
        return html if picture.revision == origin.revision else ""

    def picture_arguments(self) -> dict[str, Any] | None:
        """Return the arguments of `Fleet.draw` for a picture of the answer; None if it has none."""
        return None

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
