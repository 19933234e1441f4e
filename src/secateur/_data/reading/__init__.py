"""Files as columns: formats, compression, dialects, missing words and dates, each told once."""
