"""Collect the routing questions as methods; the stub, written by tests/fleet_stub.py, has their types."""

from trninv.routing.question_methods import question_method
from trninv.routing.questions import find, question_names


class RoutingMethods:
    """A method for each file of trninv/routing/questions."""


for _name in question_names():
    setattr(RoutingMethods, _name, question_method(find, _name))
