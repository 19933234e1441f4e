"""One cluster for all tests on many machines: starting it takes seconds."""

from __future__ import annotations

import pytest
from distributed import Client
from execution.clusters import start


@pytest.fixture(scope="session")
def client():
    with start(3) as cluster, Client(cluster) as found:
        yield found
