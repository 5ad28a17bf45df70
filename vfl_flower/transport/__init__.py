"""Transports: in-process, Flower messages, gRPC stream."""
