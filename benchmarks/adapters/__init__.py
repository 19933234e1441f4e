"""One file per method: each runs a job and says how long its stages took."""
