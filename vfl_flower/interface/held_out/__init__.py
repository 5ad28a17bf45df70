"""Cross-validation from Python."""
