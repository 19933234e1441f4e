"""What all benchmarks share: measuring, searching, data, tables, the page."""
