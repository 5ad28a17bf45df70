"""Networks of papers, a module each."""
