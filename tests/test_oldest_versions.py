"""``constraints/oldest.txt`` holds the lower bounds of pyproject.toml, so that CI tests them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("frames", "plot", "report", "dask", "report", "cli", "test")


def lower_bounds() -> dict[str, Version]:
    """The oldest allowed version of every library that users or tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = project["dependencies"] + [line for extra in EXTRAS for line in extras[extra]]
    bounds: dict[str, Version] = {}
    for requirement in map(Requirement, lines):
        (bound,) = requirement.specifier  # a lower bound, and nothing else
        assert bound.operator == ">=", requirement
        name = canonicalize_name(requirement.name)
        assert bounds.setdefault(name, Version(bound.version)) == Version(bound.version), name
    return bounds


def pins() -> dict[str, Version]:
    """The versions of constraints/oldest.txt."""
    lines = (ROOT / "constraints" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for requirement in (Requirement(line) for line in lines if line and line[0] != "#"):
        (pin,) = requirement.specifier
        assert pin.operator == "==", requirement
        found[canonicalize_name(requirement.name)] = Version(pin.version)
    return found


def test_the_oldest_versions_are_the_lower_bounds():
    assert pins() == lower_bounds(), "write the lower bounds into constraints/oldest.txt, too"
