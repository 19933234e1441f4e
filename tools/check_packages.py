"""Build sdist and wheel, and try them in empty environments: ``./dev packages``.

The wheel is installed without extras, where the example of the README must print what the README
shows; then with each extra alone, where a short program uses what the extra brings. The sdist is
unpacked, and a part of its tests runs there. `./dev release` does all of this before it commits.
"""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import venv
import zipfile
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
VERSION_LINE = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
README_BLOCK = re.compile(
    r"```python\n(?P<code>.*?)```(?:\n+<!-- output -->\n```text\n(?P<output>.*?)```)?", re.DOTALL
)
METADATA = (
    *("Summary", "Keywords", "Author", "License-Expression", "License-File", "Classifier"),
    *(
        "Requires-Python",
        "Requires-Dist",
        "Provides-Extra",
        "Project-URL",
        "Description-Content-Type",
    ),
)
FIT = """
from sklearn.datasets import load_breast_cancer
from secateur import AGBMClassifier
X, y = load_breast_cancer(return_X_y=True)
model = AGBMClassifier(penalty=0.02, max_iter=5).fit(X, y)
"""
# The extras of users, each with a program that needs it; "secateur ..." is the command. The other
# extras are for working on the project.
EXTRAS = {
    "frames": """
        import pandas, polars, pyarrow
        names = [f"x{j}" for j in range(X.shape[1])]
        for table in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names),
                      pyarrow.table(dict(zip(names, X.T)))):
            again = AGBMClassifier(penalty=0.02, max_iter=5).fit(table, y)
            assert (again.support_ == model.support_).all()
            assert type(again.transform(table)) is type(table)
        """,
    "plot": """
        import matplotlib
        matplotlib.use("agg")
        from secateur import SelectionPathDisplay
        SelectionPathDisplay.from_estimator(model).figure_.savefig("path.png")
        """,
    "report": """
        import pathlib, secateur
        secateur.report(model, X, y, "page.html", cv=2)
        assert "of 30 features" in pathlib.Path("page.html").read_text(encoding="utf-8")
        """,
    "dask": """
        from dask.distributed import Client
        from secateur import DaskExecutor, open_table
        with (
            Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client,
            DaskExecutor(client) as executor,
        ):
            table = open_table(X, y, executor=executor)
            again = AGBMClassifier(penalty=0.02, max_iter=5).fit(table)
        assert (again.support_ == model.support_).all()
        """,
    "cli": "secateur demo --out demo",
    "export": """
        from secateur.export import to_onnx
        assert to_onnx(model).SerializeToString()
        """,
}
# Of every kind a few, half a minute in all: what must be in the sdist is what these read.
SDIST_TESTS = (
    "tests/test_packaging.py",
    "tests/test_documentation.py",
    "tests/test_figures.py",
    "tests/test_docs.py::test_documents_run[README.md]",
    "tests/test_docs.py::test_examples_run[first_selection.py]",
    "tests/path",
    "tests/export",
    "tests/contract/test_names.py",
    "tests/report/test_page.py",
    "tests/losses",
)


class ReleaseError(Exception):
    """The packages cannot be released; the message says why and what to do."""


def run(folder: Path, *command: str, **environment: str) -> str:
    """The output of a command; if it fails, its messages are those of the error."""
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode != 0:
        said = "\n".join(text for text in (done.stdout.strip(), done.stderr.strip()) if text)
        msg = f"'{' '.join(command)}' failed with exit code {done.returncode}:\n{said}"
        raise ReleaseError(msg)
    return done.stdout


def version_file(root: Path) -> Path:
    """The file that holds the version."""
    return root / "src" / "secateur" / "__init__.py"


def current_version(root: Path) -> str:
    """The version in the source."""
    found = VERSION_LINE.search(version_file(root).read_text(encoding="utf-8"))
    if found is None:
        msg = f'{version_file(root)} must have a line __version__ = "X.Y.Z". It has none.'
        raise ReleaseError(msg)
    return found[1]


def build_and_check(root: Path, version: str) -> None:
    """Build sdist and wheel into ``dist/X.Y.Z``, check their metadata, try both."""
    folder = root / "dist" / version
    shutil.rmtree(folder, ignore_errors=True)
    run(root, sys.executable, "-m", "build", "--outdir", str(folder))
    packages = sorted(map(str, folder.iterdir()))
    run(root, sys.executable, "-m", "twine", "check", "--strict", *packages)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    check_metadata(wheel)
    check_wheel(wheel, version, *readme_example(root))
    for extra, program in EXTRAS.items():
        check_extra(wheel, extra, program)
    check_sdist(sdist, wheel)


def check_metadata(wheel: Path) -> None:
    """What a registry shows must be there, and the texts of the licences in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (file,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(file))
        licenses = [Path(name).name for name in archive.namelist() if "/licenses/" in name]
    missing = [field for field in METADATA if field not in metadata]
    missing += [
        name for name in metadata.get_all("License-File", []) if Path(name).name not in licenses
    ]
    if missing:
        msg = f"The metadata of the wheel must be complete. Missing: {', '.join(missing)}."
        raise ReleaseError(msg)


def readme_example(root: Path) -> tuple[str, str]:
    """The first example of README.md, and the output that is shown below it ("" for none)."""
    found = README_BLOCK.search((root / "README.md").read_text(encoding="utf-8"))
    if found is None:
        msg = "README.md must have an example that begins with ```python. It has none."
        raise ReleaseError(msg)
    return found["code"], found["output"] or ""


class Environment:
    """An empty environment in a temporary folder, which is also where its programs run."""

    def __init__(self) -> None:
        self._holder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.folder = Path(self._holder.name)
        venv.create(self.folder / "env", with_pip=True)
        self._programs = self.folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._holder.cleanup()

    def install(self, requirement: str) -> None:
        """Install a requirement; the packages that are there must then fit together."""
        options = ("-q", "--disable-pip-version-check", "--no-compile")
        self.call("-m", "pip", "install", *options, requirement)
        self.call("-m", "pip", "check")

    def call(self, *arguments: str, at: Path | None = None) -> str:
        """What Python prints when it is called with these arguments."""
        return run(at or self.folder, str(self._programs / "python"), *arguments, PYTHONPATH="")

    def command(self, *arguments: str) -> str:
        """What a command of the environment prints."""
        return run(self.folder, str(self._programs / arguments[0]), *arguments[1:], PYTHONPATH="")


def check_wheel(wheel: Path, version: str, example: str, shown: str) -> None:
    """Install a wheel without extras; its version and the output of an example must be right."""
    with Environment() as empty:
        empty.install(str(wheel))
        check_answer(empty.call("-c", "import secateur; print(secateur.__version__)"), version)
        printed = empty.call("-c", example)
        if printed.split() != shown.split():
            msg = f"The example of README.md must print\n{shown}\nIt prints\n{printed}"
            raise ReleaseError(msg)


def check_answer(answer: str, version: str) -> None:
    """The installed package must name the version that is released."""
    if version not in answer.split():
        msg = f"The installed wheel must say version {version}. It says {answer.strip()!r}."
        raise ReleaseError(msg)


def check_extra(wheel: Path, extra: str, program: str) -> None:
    """Install a wheel with one extra, and run what needs it."""
    with Environment() as environment:
        environment.install(f"{wheel}[{extra}]")
        if program.startswith("secateur "):
            environment.command("secateur", "--version")
            environment.command(*program.split())
        else:
            environment.call("-c", FIT + textwrap.dedent(program))


def check_sdist(sdist: Path, wheel: Path) -> None:
    """Unpack an sdist and run a part of its tests there."""
    with Environment() as environment:
        environment.install(f"{wheel}[test]")
        with tarfile.open(sdist) as archive:
            archive.extractall(environment.folder, filter="data")
        unpacked = environment.folder / sdist.name.removesuffix(".tar.gz")
        environment.call("-m", "pytest", "-q", "-x", "-m", "not slow", *SDIST_TESTS, at=unpacked)


def main() -> int:
    """Build and check the packages of the version in the source."""
    try:
        build_and_check(ROOT, current_version(ROOT))
    except ReleaseError as error:
        print(f"packages: {error}", file=sys.stderr)
        return 1
    print(f"dist/{current_version(ROOT)} has a wheel and an sdist that work.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
