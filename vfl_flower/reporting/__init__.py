"""Console output and HTML reports."""
