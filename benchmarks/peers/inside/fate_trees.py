"""Boosted trees by FATE's Hetero-SecureBoost.

After ``doc/2.0/fate/ml/hetero_secureboost_tutorial.md`` of FATE's repository: the guest has the
labels, and all parties are processes that exchange through files of FATE's standalone federation.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fate.arch.config import cfg
from fate.arch.dataframe import PandasReader
from fate.arch.federation.backends.standalone import StandaloneFederation
from fate.arch.launchers.multiprocess_launcher import launch
from fate.arch.unify import device
from fate.ml.ensemble.algo.secureboost.hetero.guest import HeteroSecureBoostGuest
from fate.ml.ensemble.algo.secureboost.hetero.host import HeteroSecureBoostHost
from fate.ml.ensemble.learner.decision_tree.tree_core.loss import BCELoss

from benchmarks.peers.inside.table import Meter, TableWork
from benchmarks.peers.inside.work import FOLDER

CIPHER, MOCK = "FATE_CIPHER", "mock"
"""Environment variable with the length of Paillier's key in bits, or `MOCK`: no encryption."""
METER = Meter()
PUSH_BYTES = StandaloneFederation._push_bytes  # noqa: SLF001
PUSH_TABLE = StandaloneFederation._push_table  # noqa: SLF001


def push_bytes(federation: Any, v: bytes, name: str, tag: str, parties: list[Any]) -> None:  # noqa: ANN401
    """Send bytes, and count them."""
    METER.bytes += len(v) * len(parties)
    PUSH_BYTES(federation, v, name, tag, parties)


def push_table(federation: Any, table: Any, name: str, tag: str, parties: list[Any]) -> None:  # noqa: ANN401
    """Send a table, and count its serialized values."""
    METER.bytes += sum(len(v) for _, v in table.table.collect()) * len(parties)
    PUSH_TABLE(federation, table, name, tag, parties)


def frame(ctx: Any, work: TableWork, rank: int, part: str) -> Any:  # noqa: ANN401
    """Return a party's rows of a part as FATE's frame."""
    x = work.columns(rank, part)
    table = pd.DataFrame(x, columns=[f"x{n}" for n in range(x.shape[1])])
    if not rank:
        table["y"] = work.labels(part).astype(int)
    table["sample_id"] = table["id"] = np.arange(len(x))
    label = {} if rank else {"label_name": "y"}
    reader = PandasReader(sample_id_name="sample_id", match_id_name="id", dtype="float32", **label)
    return reader.to_frame(ctx, table)


def booster(work: TableWork, rank: int) -> Any:  # noqa: ANN401
    """Return the trees of a party."""
    rules = work.rules
    shared = {
        "num_trees": rules["rounds"],
        "max_depth": rules["depth"],
        "max_bin": rules["bins"],
    }
    if rank:
        return HeteroSecureBoostHost(**shared)
    return HeteroSecureBoostGuest(
        **shared,
        objective="binary:bce",
        learning_rate=rules["rate"],
        l2=rules["l2"],
        min_child_weight=rules["least_child"],
        min_impurity_split=1e-6,
    )


def ticking(trees: Any) -> None:  # noqa: ANN401
    """Let trees note the end of each round."""
    update = trees._update_feature_importance  # noqa: SLF001

    def noted(importance: object) -> None:
        update(importance)
        METER.round()

    trees._update_feature_importance = noted  # noqa: SLF001


def begin_at(base: float) -> None:
    """Let scores begin at the log odds of the labels.

    FATE's begin at 0. Predictions lack them, which changes no order of scores.
    """

    def initialize(label: Any) -> Any:  # noqa: ANN401
        scores = label.create_frame()
        scores["score"] = float(np.log(base / (1 - base)))
        return scores

    BCELoss.initialize = staticmethod(initialize)


def encrypt_by(ctx: Any, cipher: str) -> None:  # noqa: ANN401
    """Choose the cipher."""
    if cipher == MOCK:
        cfg.config.safety.phe.mock.allow = True
        options = {"kind": MOCK, "key_length": 1024}
    else:
        options = {"kind": "paillier", "key_length": int(cipher)}
    ctx.cipher.set_phe(device.CPU, options)


def run(ctx: Any) -> None:  # noqa: ANN401
    """Be one of the parties: train, predict; the guest writes the outcome."""
    StandaloneFederation._push_bytes = push_bytes  # noqa: SLF001
    StandaloneFederation._push_table = push_table  # noqa: SLF001
    work, rank = TableWork(Path(os.environ[FOLDER])), ctx.rank
    encrypt_by(ctx, os.environ[CIPHER])
    begin_at(work.rules["base"])
    trees = booster(work, rank)
    ticking(trees)
    train, test = (frame(ctx, work, rank, part) for part in ("train", "test"))
    trees.fit(ctx, train)
    (work.folder / f"rounds-{rank}.txt").write_text(str(METER.outcome()["bytes"]))
    said = trees.predict(ctx.sub_ctx("predict"), test)
    if not rank:
        table = said.as_pd_df()
        order = table["sample_id"].astype(int).argsort()
        scores = table["predict_score"].to_numpy()[order].astype(float)
        others = [work.folder / f"rounds-{k}.txt" for k in range(work.parties)]
        sent = sum(float(path.read_text()) for path in others)
        work.write(METER.outcome() | {"bytes": sent, "score": work.auc(scores)})


def main(folder: Path, way: str) -> None:
    """Run all parties, each a process that reads the same command line."""
    hosts = TableWork(folder).parties - 1
    parties = ["guest:9999", *(f"host:{10000 + k}" for k in range(hosts))]
    sys.argv[1:] = ["--parties", *parties, "--log_level", "ERROR"]
    sys.argv += ["--data_dir", str(folder / "federation")]
    launch(run)
