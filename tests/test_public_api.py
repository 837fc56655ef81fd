"""The docstrings of what is public: numpydoc sections that name what the signature does."""

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest

import dln
import dln.export
import dln.tune

MODULES = (dln, dln.tune, dln.export)
ESTIMATORS = (dln.RuleRegressor, dln.DLNRegressor)


def public_names():
    """Return the public classes and functions by name."""
    names = {f"{module.__name__}.{name}": getattr(module, name) for module in MODULES for name in module.__all__}
    return {name: value for name, value in names.items() if inspect.isclass(value) or inspect.isfunction(value)}


def public_methods():
    """Return the public methods that dln itself gives to its estimators, by name."""
    return {
        f"{kind.__name__}.{name}": value
        for kind in ESTIMATORS
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and value.__module__.startswith("dln.")
    }


NAMES, METHODS = public_names(), public_methods()
CLASSES = {name: value for name, value in NAMES.items() if inspect.isclass(value)}
FUNCTIONS = METHODS | {name: value for name, value in NAMES.items() if inspect.isfunction(value)}


def sections(value):
    """Return the sections of a numpydoc docstring by heading, as lines."""
    parts = re.split(r"^(\w+)\n-+$", inspect.cleandoc(value.__doc__ or ""), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (text.splitlines() for text in parts[2::2]), strict=True))


def documented(value, section):
    """Return the names that a section documents, in order."""
    lines = [line for line in sections(value).get(section, []) if line and not line.startswith(" ")]
    return [name.strip("* ") for line in lines for name in line.split(" : ")[0].split(",")]


def parameters(function):
    """Return the names of a function's parameters."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_tell_their_parameters_and_what_they_return(name):
    """Every parameter and result of a public function or method is documented, in the order of the signature."""
    function = FUNCTIONS[name]
    assert documented(function, "Parameters") == parameters(function)
    returns = inspect.signature(function).return_annotation
    assert ("Returns" in sections(function)) == (returns not in ("None", None))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes_tell_what_they_are_made_of(name):
    """A class that users make documents its parameters, a result its attributes, an error its arguments."""
    kind = CLASSES[name]
    assert kind.__doc__
    if issubclass(kind, Exception) and "__init__" not in vars(kind):
        return  # made of a message
    if dataclasses.is_dataclass(kind):
        names = documented(kind, "Parameters") or documented(kind, "Attributes")
        assert names == [field.name for field in dataclasses.fields(kind)]
    elif "Parameters" in sections(kind):
        assert sorted(documented(kind, "Parameters")) == sorted(parameters(kind))
    else:  # not made by users
        assert "Attributes" in sections(kind) or kind is dln.export.ExportableModel


@pytest.mark.parametrize("module", MODULES)
def test_all_names_what_is_there(module):
    """``__all__`` is sorted as ruff sorts it, and every name of it can be had."""
    assert all(hasattr(module, name) for name in module.__all__)
