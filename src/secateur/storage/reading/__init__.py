"""Reading of files: formats, compression, text and its dialects, and which column is what."""
