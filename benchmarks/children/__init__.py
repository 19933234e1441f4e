"""Scripts that benchmarks run in a process of their own; each prints one line of JSON."""
