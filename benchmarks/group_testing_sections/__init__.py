"""The parts of the benchmark of group testing."""
