"""Where rows live and who computes on them: blocks of rows, and executors over the blocks."""
