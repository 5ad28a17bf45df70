"""Programs of papers' authors, that are no packages."""
