"""What is loaded when: ``import secateur`` is light, and no data frame library brings another."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import secateur
from secateur.exceptions import MissingDependencyError, import_optional

HEAVY = ("numba", "pandas", "polars", "pyarrow", "dask", "matplotlib", "plotly", "sklearn", "scipy")


HIDE = """
import sys

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
"""


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh Python has loaded after running ``code``."""
    listing = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", listing],
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.mark.parametrize("library", ["numba", "sklearn", "pandas"])
def test_the_probe_sees_a_library_that_is_loaded(library):
    assert library in loaded_after(f"import {library}")


def test_import_secateur_loads_nothing_heavy():
    loaded = loaded_after("import secateur")
    assert "secateur" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert "numpy" not in loaded


def test_looking_around_loads_nothing_heavy():
    code = "import secateur; dir(secateur); secateur.__version__; hasattr(secateur, 'nothing')"
    assert loaded_after(code).isdisjoint(HEAVY)


def test_paths_need_no_numba_and_no_scikit_learn():
    code = "import secateur.path; secateur.SelectionPath; secateur.OneStandardError"
    assert loaded_after(code).isdisjoint(HEAVY)


def test_datasets_are_light():
    assert loaded_after("import secateur.datasets").isdisjoint(HEAVY)


FIT = """
from secateur import AGBMClassifier
from secateur.datasets import make_nonlinear_pair
problem = make_nonlinear_pair(n_rows=80)
{frame}
model = AGBMClassifier(max_iter=3, penalty=0.01, early_stopping=False, random_state=0)
model.fit(X, problem.y).predict(X)
"""


# scikit-learn may load data frame libraries of its own: what counts is what we load beyond that.
FIT_SKLEARN = """
import contextlib, narwhals
with contextlib.suppress(ImportError):  # scikit-learn has had callbacks since 1.9
    import sklearn.callback
from sklearn.feature_selection import SelectFromModel
from sklearn.tree import DecisionTreeClassifier
X, y = [[0.0], [1.0]], [0, 1]
SelectFromModel(DecisionTreeClassifier()).fit(X, y).transform(X)
"""


def test_fitting_an_array_loads_no_data_frame_library():
    loaded = loaded_after(FIT.format(frame="X = problem.X")) - loaded_after(FIT_SKLEARN)
    assert "secateur" in loaded
    assert loaded.isdisjoint({"pandas", "polars", "pyarrow", "matplotlib", "dask", "plotly"})


def test_fitting_a_polars_frame_does_not_load_pandas():
    pytest.importorskip("polars")
    frame = "import polars\nX = polars.DataFrame(problem.X, schema=list(problem.feature_names))"
    loaded = loaded_after(FIT.format(frame=frame))
    assert "polars" in loaded
    assert "pandas" not in loaded - loaded_after(FIT_SKLEARN)


@pytest.mark.parametrize("name", secateur.__all__)
def test_every_public_name_resolves(name):
    assert getattr(secateur, name).__name__.removeprefix("secateur.") == name
    assert name in dir(secateur)


def test_public_names_are_sorted_and_unique():
    assert secateur.__all__ == sorted(set(secateur.__all__))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="GBFS"):
        secateur.GBFS  # noqa: B018 - the access is the test


def test_version_is_that_of_the_installed_package():
    try:
        installed = importlib.metadata.version("secateur")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("secateur runs from its source folder, not installed")
    assert secateur.__version__ == installed


def test_a_missing_optional_library_is_named_with_its_extra():
    with pytest.raises(MissingDependencyError, match=r"no_such_library.*'secateur\[plot\]'"):
        import_optional("no_such_library.part", "A plot", "secateur[plot]")


@pytest.mark.slow
def test_the_example_of_the_readme_runs_without_optional_libraries():
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    example = readme.split("```python\n")[1].split("```")[0]
    extras = ("frames", "plot", "dask", "report", "cli")
    hidden = [
        re.split(r"[^\w-]", name)[0].replace("-", "_")
        for name in importlib.metadata.requires("secateur") or []
        if name.endswith(tuple(f"extra == '{extra}'" for extra in extras))
    ]
    assert {"pandas", "polars", "matplotlib", "typer"} <= set(hidden)
    assert {"sklearn", "secateur"} <= loaded_after(HIDE.format(hidden) + example)
