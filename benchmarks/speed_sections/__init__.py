"""The parts of the benchmark of single fits: kinds of tables, and the first fit."""
