"""Compiled code goes to a private folder where numba finds none that it can write to."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import secateur
from secateur._kernels import code_cache
from secateur.exceptions import SecateurWarning, StorageError
from secateur.selectors import warm_up

pytestmark = pytest.mark.skipif(os.name == "nt", reason="folders of the user are made otherwise")

USE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from secateur import AGBMRegressor
    from secateur._kernels.partition import gather
print(*[str(each.message) for each in caught if "NUMBA" in str(each.message)], sep="|")
import os, numba
print(os.environ.get("NUMBA_CACHE_DIR"), numba.config.CACHE_DIR, gather.stats.cache_path, sep="|")
"""


@pytest.fixture
def sealed(tmp_path):
    """A copy of the package without any folder that can be written to, also for root."""
    source = Path(secateur.__file__).parent
    skipped = shutil.ignore_patterns("__pycache__", "templates", "*.nbi", "*.nbc")
    package = shutil.copytree(source, tmp_path / "site" / "secateur", ignore=skipped)
    (package / "_kernels" / "__pycache__").write_text("a file where a folder should be")
    (tmp_path / "home").write_text("a file as well")
    (tmp_path / "tmp").mkdir()
    return tmp_path


def run(sealed, **more):
    home = str(sealed / "home")
    known = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "PYTHON"))}
    known |= {"PYTHONPATH": str(sealed / "site"), "HOME": home, "TMPDIR": str(sealed / "tmp")}
    known |= {"PYTHONDONTWRITEBYTECODE": "1", **more}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    warned, places = done.stdout.splitlines()
    return warned, places.split("|")


@pytest.mark.slow
def test_a_selector_is_imported_where_nothing_can_be_written(sealed):
    private = sealed / "tmp" / f"secateur-numba-{os.getuid()}"
    warned, (variable, config, used) = run(sealed)
    assert warned.count("NUMBA_CACHE_DIR") == 1
    assert "warm-up --folder" in warned
    assert variable == config == str(private)
    assert used.startswith(str(private))
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    # a folder that is given is used, without a word
    assert run(sealed, NUMBA_CACHE_DIR=str(sealed / "given"))[0] == ""


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Numba that finds no folder."""

    def refuse(**_):
        raise RuntimeError

    monkeypatch.setattr(code_cache.numba, "njit", refuse)
    monkeypatch.setattr(code_cache.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(code_cache.numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    return tmp_path / f"secateur-numba-{os.getuid()}"


def test_the_private_folder_is_used_again(nowhere):
    for _ in range(2):
        with pytest.warns(SecateurWarning, match="NUMBA_CACHE_DIR"):
            code_cache.ensure_cache()
        assert os.environ["NUMBA_CACHE_DIR"] == str(nowhere)
        assert str(nowhere) == code_cache.numba.config.CACHE_DIR
        assert stat.S_IMODE(nowhere.stat().st_mode) == 0o700
        os.environ["NUMBA_CACHE_DIR"] = ""


def test_a_folder_that_others_can_write_to_is_not_used(nowhere):
    nowhere.mkdir()
    nowhere.chmod(0o777)
    with pytest.warns(SecateurWarning, match="NUMBA_CACHE_DIR"):
        code_cache.ensure_cache()
    used = Path(os.environ["NUMBA_CACHE_DIR"])
    assert used != nowhere
    assert stat.S_IMODE(used.stat().st_mode) == 0o700
    nowhere.rmdir()
    nowhere.symlink_to(used)
    os.environ["NUMBA_CACHE_DIR"] = ""
    with pytest.warns(SecateurWarning, match="NUMBA_CACHE_DIR"):
        code_cache.ensure_cache()
    assert os.environ["NUMBA_CACHE_DIR"] not in {str(nowhere), str(used)}


def test_code_of_a_folder_that_cannot_be_written_to_is_copied(nowhere, tmp_path, monkeypatch):
    (tmp_path / "image" / "_kernels_1").mkdir(parents=True)
    (tmp_path / "image" / "_kernels_1" / "gather.nbi").write_bytes(b"code")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "image"))
    code_cache.ensure_cache()  # no warning: the folder was given on purpose
    assert (nowhere / "_kernels_1" / "gather.nbi").read_bytes() == b"code"
    assert os.environ["NUMBA_CACHE_DIR"] == str(nowhere)


def test_without_any_folder_the_error_says_what_to_set(nowhere, monkeypatch, tmp_path):
    monkeypatch.setattr(code_cache.tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(StorageError, match="Set NUMBA_CACHE_DIR"):
        code_cache.ensure_cache()


def test_warm_up_fits_every_selector():
    public = {name for name in secateur.__all__ if hasattr(getattr(secateur, name), "fit")}
    assert {type(selector).__name__ for selector, _, _ in warm_up._fits()} == public


def test_warm_up_runs_with_the_folder_and_says_what_failed(tmp_path, monkeypatch):
    seen = []

    def ran(command, env, **_):
        seen.append((command, env["NUMBA_CACHE_DIR"]))
        return subprocess.CompletedProcess(command, len(seen) - 1, "", "no\nspace left")

    monkeypatch.setattr(subprocess, "run", ran)
    secateur.warm_up(tmp_path / "a" / "b")
    assert seen[0][1] == str(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(StorageError, match="space left"):
        secateur.warm_up(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="folder"):
        secateur.warm_up(tmp_path / "file")


def test_the_command_names_the_variable(tmp_path, monkeypatch, capsys):
    from secateur.cli import main

    given = []
    monkeypatch.setattr("secateur.selectors.warm_up.warm_up", given.append)
    assert main(["warm-up", "--folder", str(tmp_path)]) == 0
    assert given == [tmp_path]
    assert f"NUMBA_CACHE_DIR={tmp_path}" in capsys.readouterr().out.replace("\n", "")
