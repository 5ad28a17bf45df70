"""Policy of a node's owner: the record, its file, and its rules."""
