"""Options that all methods have, in groups, and options that several methods share."""
