"""The command itself: quick to help, clear without its libraries, known by three names."""

from __future__ import annotations

import pytest

from secateur.cli.methods import read_settings, selector_class, takes_categories

from .conftest import python  # noqa: TID252 - beside this file

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


@pytest.mark.parametrize("command", ["demo", "select", "cut", "compare", "report"])
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
    assert (takes_categories("featboost"), takes_categories("grafting")) == (True, False)
    assert selector_class("feature-gradients", "regression").__name__ == "FeatureGradientsSelector"
    assert selector_class("AGBM", "regression").__name__ == "AGBMRegressor"


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
