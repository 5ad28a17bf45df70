"""Reports that a person reads: one page about one or several runs."""
