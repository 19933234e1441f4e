"""The parts of the benchmark of boosted trees, one file each."""
