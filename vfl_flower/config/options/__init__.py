"""Options of all methods, in groups, and options that several share."""
