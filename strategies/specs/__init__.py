"""Declarations of the methods, one file each, named like its strategy; they import no torch."""
