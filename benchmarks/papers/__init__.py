"""What each paper reports, as data; a module a paper, with a `Paper` called ``PAPER``."""
