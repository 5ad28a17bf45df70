"""Bytes and exchanges of a step, as the methods' headers state."""

from collections.abc import Callable
from functools import partial

D, C, K = 16, 10, 3

Bytes = Callable[[int], dict[tuple[str, str], list[int]]]
"""From B to payload bytes of each array, per step and passive party, by phase and direction."""


def easter_bytes(b: int) -> dict[tuple[str, str], list[int]]:
    """Bytes of a step of EASTER.

    4BD + 4BC up, 4B + 4BD + 4BC down, as the header says.
    """
    return {
        ("embed", "up"): [4 * b * D],
        ("predict", "up"): [4 * b * C],
        ("embed", "down"): [4 * b],
        ("predict", "down"): [4 * b * D],
        ("update", "down"): [4 * b * C],
    }


def splitnn_bytes(b: int) -> dict[tuple[str, str], list[int]]:
    """4BD up, 4B + 4BD down."""
    return {
        ("embed", "up"): [4 * b * D],
        ("embed", "down"): [4 * b],
        ("update", "down"): [4 * b * D],
    }


def c_vfl_bytes(b: int) -> dict[tuple[str, str], list[int]]:
    """Bytes of a step of Compressed-VFL.

    8 + BD + 4 up in eight bits a number, 4B + 4BD down.
    """
    return splitnn_bytes(b) | {("embed", "up"): [8, b * D, 4]}


def both_ways_bytes(b: int) -> dict[tuple[str, str], list[int]]:
    """Bytes of a step with both directions on the lattice.

    8 + BD/2 + 4 up in four bits a number, 4B + 8 + BD down in eight.
    """
    return c_vfl_bytes(b) | {("embed", "up"): [8, b * D // 2, 4], ("update", "down"): [8, b * D]}


def published_bytes(
    b: int, embeddings: int = K + 1, short: bool = False
) -> dict[tuple[str, str], list[int]]:
    """Bytes of a step with shared labels.

    |C| + 4 up; 4B, then B of labels, the top model and everybody's embeddings down.

    |C| is that of half of 16 numbers a row: 4 bytes each, and 4 bits for its place. Short, the top
    model's weights and biases have eight bits a number, and 8 bytes for the range of each.
    """
    message = [4 * b * 8, b * 8 * 4 // 8]
    weights = embeddings * D * C
    top = [8, weights, 8, C] if short else [4 * weights, 4 * C]
    return {
        ("embed", "up"): [*message, 4],
        ("embed", "down"): [4 * b],
        ("descend", "down"): [b, *top, *message * embeddings],
    }


def agg_vfl_bytes(b: int) -> dict[tuple[str, str], list[int]]:
    """4BC up, 4B + 4BC down."""
    return {
        ("predict", "up"): [4 * b * C],
        ("predict", "down"): [4 * b],
        ("update", "down"): [4 * b * C],
    }


def vimadmm_bytes(b: int) -> dict[tuple[str, str], list[int]]:
    """4BD up, 4B + 4BC + 4DC down."""
    return {
        ("embed", "up"): [4 * b * D],
        ("embed", "down"): [4 * b],
        ("update", "down"): [4 * b * C, 4 * D * C],
    }


def pravfed_bytes(n: int) -> dict[tuple[str, str], list[int]]:
    """Bytes of PraVFed's run.

    4 + 4ND up, 4N + N, then 4N + 4K down, once for all N rows.
    """
    return {
        ("pretrain", "up"): [4],
        ("pretrain", "down"): [4 * n, n],
        ("embed", "up"): [4 * n * D],
        ("embed", "down"): [4 * n, 4 * K],
    }


def adptvfedconv_bytes(n: int) -> dict[tuple[str, str], list[int]]:
    """Bytes of transfer, fine-tuning and upload.

    W_e^0 and 4N + 4V down; 8 down and up for the one epoch; 4N + 8 down, 4N c' h' w' up.

    V = 144; of tiles of 4 x 4 pixels maps of 4 x 4 x 4 numbers, by a convolution and BatchNorm.
    """
    W_e = [4 * 9 * 4, 16, 16, 16, 16, 16, 8]
    return {
        ("adapt", "down"): [4 * n, 4 * 144, *W_e],
        ("finetune", "down"): [8],
        ("finetune", "up"): [8],
        ("embed", "down"): [4 * n, 8],
        ("embed", "up"): [4 * n * 4 * 4 * 4],
    }


def logistic_bytes(b: int) -> dict[tuple[str, str], list[int]]:
    """4NM + 1,376 up, 4N + 4NM + 176 down."""
    return {
        ("direct", "up"): [4 * b * C, 1376],
        ("direct", "down"): [4 * b, 16, 4 * b * C],
        ("move", "down"): [160],
    }


FORMULAS: dict[str, Bytes] = {
    "easter": easter_bytes,
    "vfedmh": easter_bytes,
    "pravfed": pravfed_bytes,
    "splitnn": splitnn_bytes,
    "fedbcd": splitnn_bytes,
    "c_vfl": c_vfl_bytes,
    "c_vfl both ways": both_ways_bytes,
    "c_vfl as published": published_bytes,
    "c_vfl as published, both ways": partial(published_bytes, short=True),
    "vafl": splitnn_bytes,
    "vafl in turns": splitnn_bytes,
    "splitnn of labels only": splitnn_bytes,
    "c_vfl as published of labels only": partial(published_bytes, embeddings=K),
    "agg_vfl": agg_vfl_bytes,
    "agg_vfl adaptive": agg_vfl_bytes,
    "agg_vfl within a bound": agg_vfl_bytes,
    "agg_vfl checked": agg_vfl_bytes,
    "vimadmm": vimadmm_bytes,
    "vimadmm_j": agg_vfl_bytes,
    "linear_admm": agg_vfl_bytes,
    "logistic": logistic_bytes,
    "logistic with lasso": logistic_bytes,
    "fdml": agg_vfl_bytes,
    "adptvfedconv": adptvfedconv_bytes,
    "local": lambda b: {},
    "central": lambda b: {},
}

DATA_DEPENDENT = {"boosted_trees", "boosted_trees encrypted"}
"""Methods whose messages are as long as data decide; their own tests count them."""

BEFORE: dict[str, Bytes] = {"fdml": lambda n: {("hold", "down"): [4 * n, n]}}
"""From N to what is sent once, before the first step."""
