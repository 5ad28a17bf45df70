"""Row-level differential privacy: one row of one party is protected."""
