"""The package keeps to its layers; and the checker notices when it does not."""

from __future__ import annotations

import re
from pathlib import Path

import architecture
import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "secateur"


@pytest.fixture(scope="module")
def modules() -> list[architecture.Module]:
    return architecture.read_package(SOURCE)


@pytest.mark.parametrize("check", architecture.CHECKS, ids=lambda check: check.__name__)
def test_package_keeps_the_rules(check, modules):
    found = [complaint for module in modules for complaint in check(module)]
    assert not found, "\n" + "\n".join(found)


def test_checker_sees_the_package(modules):
    names = {module.name for module in modules}
    assert {"secateur", "secateur.typing", "secateur.datasets"} <= names


def complaints_about(folder: Path, module: str, text: str) -> list[str]:
    """Complaints about a package with one module, with a first line unless ``text`` is."""
    file = folder / module
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if text.startswith('"""') else f'"""One idea."""\n{text}\n')
    return architecture.complaints(folder)


ALLOWED = [
    ("selectors/boosted.py", "from secateur.engines.boosted.trace import trace"),
    ("selectors/boosted.py", "import sklearn\nfrom secateur.path import Step"),
    ("engines/boosted/trace.py", "from secateur.engines.drive import drive"),
    ("engines/boosted/trace.py", "from secateur.engines import drive"),
    ("engines/boosted/trace.py", "from secateur.engines.boosted.trees import Tree"),
    ("engines/boosted/trace.py", "from secateur import typing"),
    ("path/path.py", "def table():\n    import pandas\n    return pandas"),
    ("path/step.py", "import numpy as np\nfrom secateur.exceptions import InputError"),
    ("path/codec.py", "from secateur import __version__"),
    ("data/frames.py", "if TYPE_CHECKING:\n    import pandas"),
    ("_kernels/binning.py", "import numba"),
    ("report/html.py", "from secateur.path import SelectionPath"),
    ("report/from_data.py", "from secateur.data.frames import read_table"),
    ("cli/app.py", "from secateur.datasets import load_demo\nprint(load_demo())"),
    ("datasets/demo.py", "from sklearn.datasets import load_iris"),
]


@pytest.mark.parametrize(("module", "text"), ALLOWED)
def test_what_is_allowed_draws_no_complaint(tmp_path, module, text):
    assert complaints_about(tmp_path, module, text) == []


FORBIDDEN = [
    ("path/step.py", "from secateur.selectors.boosted import GBFSClassifier", "may use"),
    ("path/step.py", "from secateur._kernels.binning import bin_values", "may use"),
    ("path/step.py", "import scipy", "numpy and the standard library only"),
    ("path/step.py", "import rich.table", "numpy and the standard library only"),
    ("losses.py", "from secateur.data.table import Problem", "may use"),
    ("data/table.py", "from secateur.engines.drive import drive", "is not below"),
    ("data/table.py", "def f():\n    import secateur.selectors", "is not below"),
    ("data/table.py", "if TYPE_CHECKING:\n    import secateur.selectors", "is not below"),
    ("data/table.py", "from secateur import GBFSClassifier", "front door"),
    ("data/table.py", "import secateur", "front door"),
    ("data/frames.py", "import pandas", "inside the function"),
    ("data/binning.py", "import numba", "_kernels only"),
    ("data/binning.py", "def f():\n    from numba import njit", "_kernels only"),
    ("engines/boosted/trace.py", "from sklearn.base import clone", "no scikit-learn"),
    ("engines/boosted/trace.py", "def f():\n    import sklearn", "no scikit-learn"),
    ("engines/boosted/trace.py", "from secateur.engines.grafting import x", "no other"),
    ("engines/boosted/trace.py", "from secateur.engines import grafting", "no other"),
    ("report/html.py", "from secateur.selectors.base import Base", "may use"),
    ("report/html.py", "from secateur.data.costs import FeatureCosts", "may use"),
    ("report/from_data.py", "from secateur.selectors.base import Base", "may use"),
    ("selectors/boosted.py", "from secateur.datasets import load_demo", "nothing but cli"),
    ("datasets/demo.py", "from secateur.path import Step", "may use"),
    ("datasets/demo.py", "import requests", "numpy and scikit-learn only"),
    ("selectors/boosted.py", "from .base import Base", "relative import"),
    ("selectors/boosted.py", "print('hello')", "prints"),
    ("helpers/misc.py", "x = 1", "no place in the layers"),
    ("__init__.py", "import scipy", "lazy_loader and the standard library only"),
]


@pytest.mark.parametrize(("module", "text", "reason"), FORBIDDEN)
def test_what_is_forbidden_draws_one_complaint(tmp_path, module, text, reason):
    found = complaints_about(tmp_path, module, text)
    assert len(found) == 1
    assert reason in found[0]


@pytest.mark.parametrize("text", ["", "x = 1\n", '"""\nSecond line first.\n"""\n'])
def test_a_module_without_a_first_line_is_found(tmp_path, text):
    (tmp_path / "typing.py").write_text(text)
    [complaint] = architecture.complaints(tmp_path)
    assert "first line" in complaint


def test_a_long_module_is_found(tmp_path):
    text = "x = 1\n" * architecture.MODULE_LINES
    [complaint] = complaints_about(tmp_path, "typing.py", text)
    assert "lines, more than" in complaint


def function_of(n_lines: int, docstring: str = "") -> str:
    return f"def long():\n{docstring}" + "    x = 1\n" * n_lines


def test_a_long_function_is_found(tmp_path):
    [complaint] = complaints_about(tmp_path, "typing.py", function_of(41))
    assert "typing:2 long has 41 lines, more than 40" in complaint


def test_a_long_method_is_found(tmp_path):
    method = "".join(f"    {line}\n" for line in function_of(41).splitlines())
    [complaint] = complaints_about(tmp_path, "typing.py", f"class A:\n{method}")
    assert "long has 41 lines" in complaint


def test_docstrings_do_not_make_a_function_long(tmp_path):
    docstring = '    """Tell.\n' + "    More.\n" * 50 + '    """\n'
    assert complaints_about(tmp_path, "typing.py", function_of(40, docstring)) == []


def test_kernels_may_be_longer_but_not_endless(tmp_path):
    assert complaints_about(tmp_path, "_kernels/a.py", function_of(60)) == []
    [complaint] = complaints_about(tmp_path, "_kernels/a.py", function_of(61))
    assert "more than 60" in complaint


# ---- ARCHITECTURE.md --------------------------------------------------------------------------

DOCUMENT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# `data/frames.py: read_table`, also where a line ends in between
MENTIONS = sorted(set(re.findall(r"`([\w/]+\.py)(?::\s*(\w+))?`", DOCUMENT)))


def test_architecture_document_mentions_modules():
    assert len(MENTIONS) > 30
    assert len(DOCUMENT.encode()) <= 12_000


@pytest.mark.parametrize(("file", "name"), MENTIONS)
def test_modules_and_functions_of_the_document_exist(file, name):
    suffix = Path(file).parts
    found = [p for p in SOURCE.rglob("*.py") if p.parts[-len(suffix) :] == suffix]
    found = found or [p for p in [ROOT / file] if p.is_file()]
    assert found, f"ARCHITECTURE.md mentions {file}, which does not exist"
    assert not name or any(re.search(rf"(def|class) {name}\b", p.read_text()) for p in found)
