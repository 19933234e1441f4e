"""The parts of the benchmark of ranking."""
