"""Numbers that are read from results of runs, by name.

======================  ==========================================================================
name                    number
======================  ==========================================================================
test:PARTY              test accuracy of a party's model, in percent; PARTY is active or party-K
test-mean               mean of all parties' test accuracies
train:PARTY             training accuracy of the last evaluation, in percent
validation:PARTY        validation accuracy of the last evaluation, in percent
after:EPOCHS            the active party's validation accuracy after so many epochs, in percent
recall-std:PARTY        deviation over classes of the recall, which is the accuracy of each class
precision-std:PARTY     deviation over classes of the precision
exchanges               number of exchanges of training
mib                     2^20 bytes of training, up and down, of all parties
mib-round:WAY           the same of one passive party in one exchange: up, down, or in all
mib-to:SHARE            the same, when the active party's validation accuracy first was SHARE
epsilon                 epsilon of training of the passive party with most
retrained:END:PERCENT   test accuracy after training again with some parties only, as top:50
pretrained:PARTY        test accuracy of what a passive party has learnt by itself, in percent
norm:PARTY              norm of a party's head, in percent of the largest
noised:PARTY            test accuracy with noise on the columns of one party, in percent
rank-correlation        Spearman's, of heads' norms and losses of accuracy by noise, times 100
======================  ==========================================================================

A share or an accuracy that was not reached gives None.
"""

import statistics
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

MIB = 1 << 20
Seed = Mapping[str, Any]
"""Record of one run, as `benchmarks.reproducing.runs` writes it."""


def read(reading: str, seed: Seed) -> float | None:
    """Return a number of one run.

    Parameters
    ----------
    reading : str
        A name of the table above.
    seed : mapping
        The record of the run.

    Raises
    ------
    KeyError
        If no reading has that name.
    """
    name, *rest = reading.split(":")
    return READINGS[name](seed, *rest)


def guessing(reading: str, seed: Seed) -> float | None:
    """Return the accuracy of guessing the most frequent class, in percent.

    None if the reading is no test accuracy of a party, or the classes are not known.
    """
    name, _, party = reading.partition(":")
    confusion = seed["metrics"][party].get("confusion") if name == "test" else None
    return 100 * float(np.sum(confusion, 1).max() / np.sum(confusion)) if confusion else None


def _test(seed: Seed, party: str) -> float:
    return 100 * float(seed["test_accuracy"][party])


def _test_mean(seed: Seed) -> float:
    return 100 * statistics.fmean(seed["test_accuracy"].values())


def _train(seed: Seed, party: str) -> float | None:
    known = seed["course"][-1].get("train") if seed["course"] else None
    return 100 * float(known[party]) if known else None


def _validation(seed: Seed, party: str) -> float | None:
    return 100 * float(seed["course"][-1]["validation"][party]) if seed["course"] else None


def _after(seed: Seed, epochs: str) -> float | None:
    there = [e for e in seed["course"] if e["epoch"] == int(epochs)]
    return 100 * float(there[-1]["validation"]["active"]) if there else None


def _recall_std(seed: Seed, party: str) -> float:
    return _std_over(seed["metrics"][party]["confusion"], 1)


def _precision_std(seed: Seed, party: str) -> float:
    return _std_over(seed["metrics"][party]["confusion"], 0)


def _std_over(confusion: list[list[int]], axis: int) -> float:
    """Return the deviation of right shares over classes, in percent.

    By rows (1), or columns (0) of the confusion matrix. A class that is never predicted has no
    right ones: its share is 0.
    """
    counts = np.asarray(confusion, dtype=float)
    return float(100 * np.std(counts.diagonal() / counts.sum(axis).clip(1)))


def _exchanges(seed: Seed) -> float:
    return float(seed["exchanges"])


def _mib(seed: Seed) -> float:
    return float(seed["bytes_up"] + seed["bytes_down"]) / MIB


def _mib_round(seed: Seed, way: str) -> float:
    mib = {"up": seed["bytes_up"] / MIB, "down": seed["bytes_down"] / MIB, "in all": _mib(seed)}
    return float(mib[way]) / float(seed["exchanges"]) / (int(seed["parties"]) - 1)


def _mib_to(seed: Seed, share: str) -> float | None:
    there = [e["bytes"] for e in seed["course"] if e["validation"]["active"] >= float(share)]
    return float(there[0]) / MIB if there else None


def _epsilon(seed: Seed) -> float | None:
    epsilon: float | None = seed["epsilon"]
    return epsilon


def _retrained(seed: Seed, end: str, percent: str) -> float:
    return 100 * float(seed["retrained"][f"{end}:{percent}"])


def _pretrained(seed: Seed, party: str) -> float:
    return 100 * float(seed["pretrained"][party])


def _norm(seed: Seed, party: str) -> float:
    return 100 * float(seed["heads"][party]["norm"])


def _noised(seed: Seed, party: str) -> float:
    return 100 * float(seed["heads"][party]["noised"])


def _rank_correlation(seed: Seed) -> float | None:
    found = seed["rank_correlation"]
    return None if found is None else 100 * float(found)


READINGS: dict[str, Callable[..., float | None]] = {
    "test": _test,
    "test-mean": _test_mean,
    "train": _train,
    "validation": _validation,
    "after": _after,
    "recall-std": _recall_std,
    "precision-std": _precision_std,
    "exchanges": _exchanges,
    "mib": _mib,
    "mib-round": _mib_round,
    "mib-to": _mib_to,
    "epsilon": _epsilon,
    "retrained": _retrained,
    "pretrained": _pretrained,
    "norm": _norm,
    "noised": _noised,
    "rank-correlation": _rank_correlation,
}
"""Functions by the first word of a reading's name."""
