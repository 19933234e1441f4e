"""The parts of the benchmark of multitask selection."""
