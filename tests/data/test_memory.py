"""Available memory: of the machine, and of the cgroups that a container runs in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from secateur.data.memory import available_memory

MB = 10**6


def make_tree(root, files):
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def cgroup2(folder, limit, used, cache=0):
    return {
        f"sys/fs/cgroup/{folder}memory.max": f"{limit}\n",
        f"sys/fs/cgroup/{folder}memory.current": f"{used}\n",
        f"sys/fs/cgroup/{folder}memory.stat": f"anon 5\ninactive_file {cache}\n",
    }


def cgroup1(folder, limit, used, cache=0):
    return {
        f"sys/fs/cgroup/memory/{folder}memory.limit_in_bytes": f"{limit}\n",
        f"sys/fs/cgroup/memory/{folder}memory.usage_in_bytes": f"{used}\n",
        f"sys/fs/cgroup/memory/{folder}memory.stat": f"rss 5\ntotal_inactive_file {cache}\n",
    }


MACHINE = {"proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:    4000000 kB\n"}
TWO = {"proc/self/cgroup": "0::/app.slice/run\n"}
ONE = {"proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/docker/1\n1:name=systemd:/a\n"}
NO_LIMIT = 9223372036854771712  # what version 1 says where there is none

CASES = {
    "machine alone": (MACHINE, 4_096_000_000),
    "nothing known": ({}, None),
    "cgroup 2 without a limit": (
        MACHINE | TWO | cgroup2("app.slice/run/", "max", 7),
        4_096_000_000,
    ),
    "cgroup 2": (MACHINE | TWO | cgroup2("app.slice/run/", 900 * MB, 300 * MB), 600 * MB),
    "cache counts as free": (
        MACHINE | TWO | cgroup2("app.slice/run/", 900 * MB, 300 * MB, 100 * MB),
        700 * MB,
    ),
    "more cache than use": (
        MACHINE | TWO | cgroup2("app.slice/run/", 900 * MB, 300 * MB, 400 * MB),
        900 * MB,
    ),
    "the limit of a parent": (
        MACHINE
        | TWO
        | cgroup2("app.slice/run/", "max", 300 * MB)
        | cgroup2("app.slice/", 500 * MB, 400 * MB),
        100 * MB,
    ),
    "its own namespace": (
        MACHINE | {"proc/self/cgroup": "0::/\n"} | cgroup2("", 800 * MB, 300 * MB),
        500 * MB,
    ),
    "a path of the host": (MACHINE | TWO | cgroup2("", 800 * MB, 300 * MB), 500 * MB),
    "more used than allowed": (MACHINE | TWO | cgroup2("", 100 * MB, 300 * MB), 0),
    "more allowed than there is": (
        MACHINE | TWO | cgroup2("app.slice/run/", 9 * 10**12, 1),
        4_096_000_000,
    ),
    "cgroup 1": (MACHINE | ONE | cgroup1("docker/1/", 900 * MB, 300 * MB, 50 * MB), 650 * MB),
    "cgroup 1 without a limit": (
        MACHINE | ONE | cgroup1("docker/1/", NO_LIMIT, 300 * MB),
        4_096_000_000,
    ),
    "the lowest of nested limits": (
        MACHINE
        | {"proc/self/cgroup": "0::/pod/app/run\n"}
        | cgroup2("pod/app/run/", 900 * MB, 100 * MB)
        | cgroup2("pod/app/", 700 * MB, 200 * MB)
        | cgroup2("pod/", 2000 * MB, 1700 * MB)
        | cgroup2("", "max", 3000 * MB),
        300 * MB,
    ),
    "no limit anywhere": (
        MACHINE | TWO | cgroup2("app.slice/run/", "max", 7) | cgroup2("", "max", 7),
        4_096_000_000,
    ),
    "a limit without numbers of use": (
        MACHINE | TWO | {"sys/fs/cgroup/app.slice/run/memory.max": "600000000\n"},
        600 * MB,
    ),
    "use without a limit": (
        MACHINE | TWO | {"sys/fs/cgroup/app.slice/run/memory.current": "600000000\n"},
        4_096_000_000,
    ),
    "without numbers of the cache": (
        MACHINE
        | TWO
        | {
            name: text
            for name, text in cgroup2("", 800 * MB, 300 * MB).items()
            if "stat" not in name
        },
        500 * MB,
    ),
    "empty files and lines that are no cgroups": (
        MACHINE
        | {"proc/self/cgroup": "\n0\nwhat:ever\n0::/a\n"}
        | {"sys/fs/cgroup/a/memory.max": "", "sys/fs/cgroup/a/memory.current": "x\n"},
        4_096_000_000,
    ),
    "a cgroup alone": (TWO | cgroup2("app.slice/run/", 900 * MB, 300 * MB), 600 * MB),
    "cgroup 1, the limit of a parent": (
        MACHINE
        | ONE
        | cgroup1("docker/1/", NO_LIMIT, 300 * MB)
        | cgroup1("docker/", 500 * MB, 400 * MB, 30 * MB),
        130 * MB,
    ),
    "cgroup 1 and 2 together": (
        MACHINE
        | {"proc/self/cgroup": "4:memory:/docker/1\n0::/docker/1\n"}
        | cgroup1("docker/1/", 900 * MB, 300 * MB)
        | cgroup2("docker/1/", 800 * MB, 300 * MB),
        500 * MB,
    ),
    "cgroup 1 in a container": (MACHINE | ONE | cgroup1("", 700 * MB, 300 * MB), 400 * MB),
}


@pytest.mark.parametrize(("files", "expected"), CASES.values(), ids=CASES)
def test_the_smallest_limit_counts(tmp_path, files, expected):
    assert available_memory(make_tree(tmp_path, files)) == expected


@pytest.fixture
def small_cgroup():
    """The file that moves a process into a real cgroup of 800 MB; skips where none can be made."""
    base = Path("/sys/fs/cgroup")
    version1 = (base / "memory").is_dir()
    folder = (base / "memory" if version1 else base) / f"secateur-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        limit = folder / ("memory.limit_in_bytes" if version1 else "memory.max")
        if not limit.exists():
            pytest.skip("cgroups have no limit of memory here")
        limit.write_text("800000000")
        yield folder / "cgroup.procs"
    finally:
        folder.rmdir()


def test_the_limit_of_a_real_cgroup_counts(small_cgroup):
    code = (
        f"import os; open({str(small_cgroup)!r}, 'w').write(str(os.getpid()))\n"
        "from secateur.data.memory import available_memory; print(available_memory())"
    )
    path = os.pathsep.join(str(Path(part).resolve()) for part in sys.path if part)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 100_000_000 < int(done.stdout) < 800_000_000
