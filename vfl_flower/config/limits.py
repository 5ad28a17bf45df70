"""Limits of privacy parameters."""

TRUE_SENSITIVITY = 2.0
"""L1 distance of two labels' one-hot rows: the sensitivity that makes label-epsilon true."""

LEAST_EPSILON, MOST_EPSILON = 0.001, 20.0
"""Of label-epsilon."""

LEAST_SIGMA, MOST_SIGMA = 0.1, 1000.0
"""Less noise protects nothing; under more, clipped numbers are but a few steps of the grid."""
