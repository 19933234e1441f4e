"""Ctrl-C at any moment: exit code 130, and either the old files or all new ones."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import pytest

from secateur.cli.console import interrupts_end_the_command

from .conftest import QUICK, environment  # noqa: TID252 - beside this file

RESULTS = {"features.txt", "path.json", "report.html", "selection.json"}


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C works, here and in children, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(table, out, *options):
    command = [sys.executable, "-m", "secateur", "select", str(table), "-y", "y", "-o", str(out)]
    return subprocess.Popen(
        [*command, *options, *QUICK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def check_whole(folder):
    """Either nothing, or all files of one run, and each of them whole."""
    left = {file.name for file in folder.parent.iterdir() if file.name.startswith(".")}
    assert left == set()
    if not folder.exists():
        return None
    assert {file.name for file in folder.iterdir()} == RESULTS
    document = json.loads((folder / "selection.json").read_text())
    json.loads((folder / "path.json").read_text())
    assert (folder / "report.html").read_text().rstrip().endswith("</html>")
    chosen = (folder / "features.txt").read_text().split()
    assert {row["name"] for row in document["features"]} == set(chosen)
    return document


@pytest.mark.slow
def test_a_real_process_and_a_real_signal_at_random_moments(table, tmp_path):
    folder = tmp_path / "r"
    for out in ("warm", "r"):
        begun = time.perf_counter()
        process = start(table, tmp_path / out)
        process.communicate()
        assert process.returncode == 0
    usual_seconds = time.perf_counter() - begun
    rng = random.Random(1)  # noqa: S311 - moments, not secrets
    codes = []
    for _ in range(12):
        process = start(table, folder, "--force", "--seed", "5")
        time.sleep(rng.uniform(0.05, 1.1) * usual_seconds)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        codes.append(process.returncode)
        now = check_whole(folder)
        assert now is not None
        if process.returncode == 0:
            assert now["seed"] == 5
    assert set(codes) <= {0, 130, -signal.SIGINT}  # the last before Python itself is up
    assert 130 in codes


def test_nothing_is_left_where_there_was_nothing(table, tmp_path):
    process = start(table, tmp_path / "r")
    for line in process.stderr:  # wait until it is at work
        if line.startswith("Selecting"):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert check_whole(tmp_path / "r") is None


def test_a_fit_that_swallows_the_interrupt_does_not_hide_it():
    def swallow():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return "half"
        return "whole"

    def work(done):
        with interrupts_end_the_command():
            done.append(swallow())

    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        work(done)
    assert done == ["half"]


def test_interrupts_wait_for_a_few_operations_and_then_come():
    done = []

    def work():
        with interrupts_end_the_command(wait=True):
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
