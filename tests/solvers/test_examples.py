"""The examples in the solvers' docstrings run, and every public function has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

from trninv import solvers

MODULES = sorted(module.name for module in pkgutil.iter_modules(solvers.__path__, f"{solvers.__name__}."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_solver_run(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert not failed, f"{failed} examples of {name} fail"
    with_examples = {test.name for test in doctest.DocTestFinder().find(module) if test.examples}
    functions = {
        f"{name}.{function}"
        for function, value in vars(module).items()
        if not function.startswith("_") and inspect.isroutine(value) and value.__module__ == name
    }
    assert functions <= with_examples, f"no example in {sorted(functions - with_examples)}"
