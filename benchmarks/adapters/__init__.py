"""One file per contestant: each runs a job and says how long its stages took."""
