"""Run configuration: options, checks, registries."""
