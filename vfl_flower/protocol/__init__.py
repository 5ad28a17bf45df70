"""Protocol generators, requests, replies and traffic ledger."""
