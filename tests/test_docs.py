"""Every Python block in the documents runs, and every example does."""

from __future__ import annotations

import doctest
import io
import re
import runpy
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from secateur.exceptions import MissingDependencyError
from secateur.selectors.base import PathSelector

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WRITTEN = ("_build", "auto_examples", "generated")  # what ./dev docs leaves there
PAGES = sorted(
    file for file in DOCS.rglob("*.md") if file.relative_to(DOCS).parts[0] not in WRITTEN
)
DOCUMENTS = [ROOT / "README.md", *PAGES]
# libraries that examples show and the tests need not have; the documentation is built with them
NOT_IN_THE_TESTS = {"onnxruntime", "optuna", "shap"}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

BLOCK = re.compile(
    r"^(?:<!--\s*skip:?\s*(?P<reason>[^>]*?)\s*-->\n)?"
    r"(?P<indent>[ ]*)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```"
    r"(?:\n+<!--\s*output\s*-->\n```text\n(?P<output>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
SKIP = re.compile(r"<!--\s*skip")


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


class Block(NamedTuple):
    """One block of code in a document; ``skip`` is the reason not to run it, or None.

    ``output`` is the text that the document shows below it, marked by ``<!-- output -->``.
    """

    line: int
    code: str
    skip: str | None
    output: str | None


def blocks_of(text: str) -> list[Block]:
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        indent = match["indent"]
        code = "".join(part.removeprefix(indent) for part in match["code"].splitlines(True))
        found.append(Block(line, code, match["reason"], match["output"]))
    return found


def run_blocks(file: Path, *, check_output: bool = False) -> dict[str, Any]:
    """Run the blocks of a document one after another, in one namespace."""
    namespace: dict[str, Any] = {"__name__": file.stem}
    for block in blocks_of(file.read_text(encoding="utf-8")):
        if block.skip is None:
            padding = "\n" * (block.line - 1)  # tracebacks then show the line of the document
            # a document says itself which features of the future it wants
            code = compile(padding + block.code, str(file), "exec", dont_inherit=True)
            with redirect_stdout(io.StringIO()) as printed:
                exec(code, namespace)  # noqa: S102
            if check_output and block.output is not None:
                assert same_output(block.output, printed.getvalue()), printed.getvalue()
    return namespace


def same_output(shown: str, printed: str) -> bool:
    """Equal but for white space, and for what the document leaves out by three dots."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    return doctest.OutputChecker().check_output(shown, printed, flags)


@pytest.fixture
def few_rounds(monkeypatch):
    """Fits of few rounds and folds, whatever was asked for: what they choose does not matter."""
    fit = PathSelector.fit

    def fit_quickly(self, *args, **more):
        known = self.get_params(deep=False)
        quick = {"max_iter": 15, "max_epochs": 20, "cv": 2, "learning_rate": 0.4}
        usual = {name: known[name] for name in quick if is_slow(name, known)}
        vars(self).update({name: quick[name] for name in usual})
        try:
            return fit(self, *args, **more)
        finally:
            vars(self).update(usual)

    monkeypatch.setattr(PathSelector, "fit", fit_quickly)
    monkeypatch.setattr("secateur.engines.grafting.linear.GRID_POINTS", 8)


def is_slow(name: str, parameters: dict[str, Any]) -> bool:
    """Whether a parameter is the usual number of folds, many rounds or a small rate."""
    value = parameters.get(name)
    if name == "cv":
        return name in parameters and value is None
    return isinstance(value, int | float) and (value < 0.4 or value > 20)


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_documents_run(file, tmp_path, monkeypatch, few_rounds):
    monkeypatch.chdir(tmp_path)  # what a document writes does not land in the project
    run_blocks(file)


@pytest.mark.slow
@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_documents_run_as_they_are(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(file, check_output=True)


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_every_output_follows_its_block(file):
    text = file.read_text(encoding="utf-8")
    outputs = [block for block in blocks_of(text) if block.output is not None]
    assert len(outputs) == text.count("<!-- output -->")


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_every_skip_has_its_block_and_its_reason(file):
    text = file.read_text(encoding="utf-8")
    skipped = [block for block in blocks_of(text) if block.skip is not None]
    assert len(skipped) == len(SKIP.findall(text))
    assert all(block.skip for block in skipped), "say why: <!-- skip: needs a cluster -->"


@pytest.mark.parametrize(
    "file",
    [  # worker processes take many seconds to start
        pytest.param(file, marks=pytest.mark.slow if file.name == "plot_dask.py" else ())
        for file in EXAMPLES
    ],
    ids=lambda file: file.name,
)
def test_examples_run(file, tmp_path, monkeypatch, capsys, few_rounds):
    run_example(file, tmp_path, monkeypatch)
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_examples_run_as_they_are(file, tmp_path, monkeypatch, capsys):
    run_example(file, tmp_path, monkeypatch)
    assert capsys.readouterr().out


def run_example(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    try:
        runpy.run_path(str(file), run_name="__main__")
    except ModuleNotFoundError as error:
        if error.name not in NOT_IN_THE_TESTS:
            raise
        pytest.skip(f"needs {error.name}")
    except MissingDependencyError as error:
        if "skl2onnx" not in str(error):
            raise
        pytest.skip("needs skl2onnx")


def test_links_between_documents_lead_somewhere():
    files = [*ROOT.glob("*.md"), *PAGES, *(ROOT / "changes").glob("*.md")]
    broken = [
        f"{file.name}: {target}"
        for file in files
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", file.read_text(encoding="utf-8"))
        if "://" not in target and not (file.parent / target).exists()
    ]
    assert broken == []


# ---- the reader of blocks ---------------------------------------------------------------------


def test_blocks_share_one_namespace_and_other_languages_are_left(tmp_path):
    file = tmp_path / "a.md"
    file.write_text("```python\nx = 1\n```\ntext\n```sh\nfalse\n```\n```python\ny = x + 1\n```\n")
    assert run_blocks(file)["y"] == 2


def test_a_failing_block_fails_at_its_line(tmp_path):
    file = tmp_path / "a.md"
    file.write_text("text\n\n```python\nx = 1\nx.nothing\n```\n")
    with pytest.raises(AttributeError) as caught:
        run_blocks(file)
    assert caught.traceback[-1].lineno + 1 == 5


def test_a_skipped_block_does_not_run(tmp_path):
    text = "<!-- skip: needs a cluster -->\n```python\n1 / 0\n```\n"
    file = tmp_path / "a.md"
    file.write_text(text)
    run_blocks(file)
    assert blocks_of(text)[0].skip == "needs a cluster"


def test_indented_blocks_run(tmp_path):
    file = tmp_path / "a.md"
    file.write_text("- item\n\n  ```python\n  if True:\n      z = 3\n  ```\n")
    assert run_blocks(file)["z"] == 3
