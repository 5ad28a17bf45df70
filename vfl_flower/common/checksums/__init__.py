"""SHA-256 of a state file's content, kept in the file itself."""
