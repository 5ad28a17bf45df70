"""Random words under masks, which nobody can tell from masked ones.

The sum of all parties' words is random then. A run should end in an error, at the bound of rows
or at a loss that is not finite, and not go on with a useless model.
"""

import secrets
from dataclasses import replace

import numpy as np

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import DEVIATOR, by, score_on_test
from vfl_flower.analysis.audit.transcripts.stage import EndedRun, Stage
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import Phase
from vfl_flower.protocol.uploads import Upload


class RandomWords(Attack):
    """Uniformly random words in the place of masked uploads."""

    target, adversary = Target.INTEGRITY, Adversary.DEVIATING_PASSIVE
    anchor = "Lycklama et al. 2023, arXiv:2107.03311 (why sums need bounds)"
    idea = "a masked party sends random words; whether the run ends in an error"

    def applies(self, stage: Stage) -> str:
        """Refuse runs without masks."""
        return "" if stage.masked else "uploads are not masked, and checked one by one"

    def run(self, stage: Stage) -> Score:
        """Return 1, or 0 if the run ended in an error."""
        try:
            made = stage.again(by(_send_random_words))
        except EndedRun as ended:
            return _score(0.0, ended.kind)
        metric, value = score_on_test(made.active) if made.active.progress.test else ("score", 0.0)
        return _score(1.0, f"{metric} {value:.3f} left")


def _score(unnoticed: float, source: str) -> Score:
    return Score("unnoticed", unnoticed, 0.0, "error", DEVIATOR, source)


def _send_random_words(party: PassiveParty) -> None:
    masker = party.masker  # type: ignore[attr-defined]  # a component's name
    apply = masker.apply

    def random(upload: Upload, declared: Phase) -> Upload:
        masked: Upload = apply(upload, declared)
        if masked.message is None or not declared.masked:
            return masked
        [words] = masked.message
        drawn = np.frombuffer(secrets.token_bytes(words.nbytes), words.dtype)
        return replace(masked, message=(drawn.reshape(words.shape),))

    vars(masker)["apply"] = random
