"""Parts of the benchmark of forward selection, one file each."""
