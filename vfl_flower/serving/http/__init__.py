"""HTTP shell of a scoring service: access, statuses, metrics, TLS."""
