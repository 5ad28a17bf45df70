"""Options of a run that a node takes from the active party."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from vfl_flower.config.registry import method_options
from vfl_flower.config.run_config import RunConfig, given_options
from vfl_flower.config.schema import declaration, kebab

TAKEN = frozenset(
    (
        *("method", "task", "dataset", "parties", "seed", "partition", "active-columns"),
        "new-parties",
        *("missing-parties", "least-parties", "subset-training", "row-presence"),
        "without",
        *("pixel-scaling", "column-noise", "long-tail", "test-share", "validation", "train-rows"),
        *("split", "fold"),
        *("models", "top-layers", "top-model"),
        *("embedding-dim", "optimizers", "learning-rates", "schedule", "epochs", "batch-size"),
        *("stop-drop", "keep", "loss", "class-weights", "largest-weight"),
        *("metric", "threshold", "eval-every", "eval-batch-size"),
        *(
            "baselines",
            "blinding",
            "colluding-share",
            "party-randomness",
            "label-privacy",
            "label-epsilon",
            "gradient-defence",
            "embedding-defence",
            "label-encoding",
        ),
        *("label-sensitivity", "force-sensitivity", "dp-sigma", "dp-clip", "dp-delta"),
        *("dp-adjacency", "dp-gradient-clip"),
        *("target-epsilon", "dp-noise", "dp-eval", "dp-accountant", "checkpoint-every", "device"),
        *("threads", "eval-threads", "test-rows"),
        *("precision", "wire-precision", "embedding-bound", "embedding-scale", "share-check"),
        *("run-name", "alignment", "model"),
    )
)
"""Options that a node takes from the run: numbers, choices, and names of runs, but no paths.

The last three must be names without a path, of folders in the node's own state folder. An entry of
`models` that names a module is used only if the policy lists the module.
"""

OF_A_PARTY = frozenset(
    (
        *("models", "optimizers", "learning-rates", "device", "threads", "eval-threads"),
        *("alignment", "model"),
    )
)
"""Options among them that a node's own configuration or folders may change."""

LEFT = frozenset(
    (
        *(
            "truth",
            "service",
            "keep-missing",
            "tables",
            "id",
            "label",
            "data-dir",
            "download",
            "weights",
            "out",
            "track",
            "tensorboard",
            "profile",
            "score-digits",
        ),
        *("transport", "party-timeout", "return-timeout", "answer-timeout", "on-leave"),
        *("stream-listen", "stream-advertise", "stream-grace"),
    )
)
"""Options that no node takes from the run: paths, and settings of the active party's machine."""


def taken_from(options: Mapping[str, object]) -> dict[str, Any]:
    """Return the options that a node takes from a run's.

    Methods' own options are taken unless they are declared as paths.

    Raises
    ------
    ConfigError
        For an unknown option, or one of a wrong type.
    """
    own = {kebab(name) for name, each in method_options().items() if not declaration(each).path}
    given = given_options({key: value for key, value in options.items() if key != "resume"})
    return {key: value for key, value in given.items() if key in TAKEN or key in own}


def terms_of(cfg: RunConfig) -> bytes:
    """Return the SHA-256 of the options that all parties share."""
    common = {k: v for k, v in taken_from(cfg.to_mapping()).items() if k not in OF_A_PARTY}
    return sha256(json.dumps(common, sort_keys=True).encode()).digest()
