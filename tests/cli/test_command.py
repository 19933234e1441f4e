"""The command itself: quick to help, clear without its libraries, known by three names."""

from __future__ import annotations

import functools
import re
import sys
import tomllib
from pathlib import Path

import architecture
import pytest

from secateur.cli.methods import fits_stored, has_parameter, read_settings, selector_class

from .conftest import python  # noqa: TID252 - beside this file

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "secateur"
HEAVY = {"numpy", "numba", "sklearn", "scipy", "pandas", "polars", "pyarrow", "plotly"}


@pytest.mark.parametrize("arguments", [["--help"], ["select", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        f"import sys; from secateur.cli import main; code = main({arguments!r}); "
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    done = python("-c", code)
    assert done.returncode == 0
    assert HEAVY.isdisjoint(done.stderr.split())


@pytest.mark.parametrize("command", ["demo", "select", "cut", "compare", "report", "warm-up"])
def test_every_command_has_help(run, command):
    done = run(command, "--help")
    assert done.code == 0
    assert "Usage" in done.out


def test_without_arguments_help_is_shown(run):
    done = run()
    assert done.code == 2
    assert "select" in done.out + done.err


def test_an_unknown_command_is_a_usage_error(run):
    done = run("choose")
    assert done.code == 2
    assert "choose" in done.err


def test_python_m_secateur():
    done = python("-m", "secateur", "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("secateur ")


def test_without_typer_one_line_says_what_to_install():
    code = (
        "import sys; sys.modules['typer'] = None; from secateur.cli import main; sys.exit(main([]))"
    )
    done = python("-c", code)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pip install 'secateur[cli]'" in done.stderr


def test_without_polars_a_csv_says_what_to_install(table):
    code = (
        "import sys; sys.modules['polars'] = None; from secateur.cli import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    done = python("-c", code, "select", str(table), "-y", "y")
    assert done.returncode == 1
    assert "secateur[cli]" in done.stderr


def test_methods_are_found_among_the_public_names():
    assert selector_class("gtgbm", "classification").__name__ == "GTGBMClassifier"
    assert has_parameter("featboost", "categorical_features")
    assert not has_parameter("grafting", "categorical_features")
    assert selector_class("feature-gradients", "regression").__name__ == "FeatureGradientsSelector"
    assert selector_class("AGBM", "regression").__name__ == "AGBMRegressor"


def test_a_method_is_found_without_building_any_selector(monkeypatch):
    import secateur

    built = []
    for name in secateur.__all__:
        kind = getattr(secateur, name)
        if isinstance(kind, type) and hasattr(kind, "with_cut"):
            monkeypatch.setattr(kind, "__init__", counting(kind.__init__, built))
    assert selector_class("agbm", "regression") is secateur.AGBMRegressor
    assert has_parameter("agbm", "categorical_features")
    assert not fits_stored("featboost")
    assert built == []


def counting(init, built):
    """The same constructor, which keeps what it builds."""

    @functools.wraps(init)
    def counted(self, *args, **options):
        built.append(self)
        init(self, *args, **options)

    return counted


def test_the_extra_has_exactly_what_the_command_line_imports():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    imported = {
        found.name.split(".")[0]
        for module in architecture.read_package(SOURCE)
        if module.parts[:1] in [("cli",), ("storage",), ("report",)]
        for found in architecture.imports_of(module)
        if not found.only_types
    }
    sources = [file.read_text(encoding="utf-8") for file in (SOURCE / "storage").rglob("*.py")]
    imported |= {name for text in sources for name in re.findall(r'library\("(\w+)"\)', text)}
    needed = imported - {"secateur"} - set(sys.stdlib_module_names)
    needed -= names_of(project["dependencies"]) | {"markupsafe"}  # which jinja2 brings
    # of other extras, which messages name: frames of the user, plots, clusters
    needed -= {"pandas", "matplotlib", "dask", "distributed"}
    assert needed == names_of(extras["cli"])


def names_of(requirements):
    """The modules that requirements install."""
    names = {re.match(r"[\w-]+", each)[0].replace("-", "_") for each in requirements}
    return {"sklearn" if name == "scikit_learn" else name for name in names}


def test_settings_are_read_as_python_or_text():
    kind = selector_class("agbm", "classification")
    given = ["max_iter=7", "leaf=newton", "penalty=[0.1, 0.01]", "early_stopping=false", "cv=None"]
    assert read_settings(given, kind) == {
        "max_iter": 7,
        "leaf": "newton",
        "penalty": [0.1, 0.01],
        "early_stopping": False,
        "cv": None,
    }
