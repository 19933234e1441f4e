"""Parts of the race of forward selection, one file each."""
