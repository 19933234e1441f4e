"""Tables in files: read whole or in blocks of rows, and tables stored on disk."""
