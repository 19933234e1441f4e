"""Tables in files: any file is hostile until it is read, and what was done to it is said."""
