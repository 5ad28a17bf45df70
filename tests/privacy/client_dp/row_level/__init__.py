"""Row-level adjacency."""
