"""Give a fleet one method for each placement question.

The stub file placement_methods.pyi, which tests/fleet_stub.py writes, has their types.
"""

from trninv.placement.questions import NAMES, find
from trninv.routing.question_methods import question_method


class PlacementMethods:
    """A base class with a method for each name in `NAMES`; the end of this module sets them."""


for _name in NAMES:
    setattr(PlacementMethods, _name, question_method(find, _name))
