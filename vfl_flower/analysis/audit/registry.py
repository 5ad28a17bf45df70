"""The attacks of a leakage card by name.

One line here makes an attack known everywhere.
"""

from typing import TYPE_CHECKING

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import load_object
from vfl_flower.config.schema import choices

if TYPE_CHECKING:  # names are completed without torch
    from vfl_flower.analysis.audit.attack import Attack

_ATTACKS = "vfl_flower.analysis.audit.attacks"
_LABELS, _COLUMNS = f"{_ATTACKS}.labels", f"{_ATTACKS}.columns"
_MODELS, _INTEGRITY = f"{_ATTACKS}.models", f"{_ATTACKS}.integrity"
ATTACKS = {
    "read-off": f"{_LABELS}.read_off:ReadOff",
    "denoised": f"{_LABELS}.denoised:Denoised",
    "learnt": f"{_LABELS}.learnt:Learnt",
    "own-model": f"{_LABELS}.own_model:OwnModel",
    "completion": f"{_LABELS}.completion.head:ModelCompletion",
    "mixmatch": f"{_LABELS}.completion.mixmatch:MixMatchCompletion",
    "splits": f"{_LABELS}.splits:Splits",
    "norm": f"{_LABELS}.norm:NormScoring",
    "cosine": f"{_LABELS}.cosine:CosineScoring",
    "spectral": f"{_LABELS}.spectral:SpectralScoring",
    "operator": f"{_LABELS}.operator:OperatorView",
    "malicious-optimizer": f"{_INTEGRITY}.malicious_optimizer:MaliciousOptimizer",
    "chosen-labels": f"{_INTEGRITY}.chosen_labels:ChosenLabels",
    "decoder": f"{_COLUMNS}.decoder:ActiveDecoder",
    "colluders": f"{_COLUMNS}.colluders:Colluders",
    "dominance": f"{_COLUMNS}.dominance:Dominance",
    "histograms": f"{_COLUMNS}.histograms:HistogramOrder",
    "public-weights": f"{_COLUMNS}.public_weights:PublicWeights",
    "unsplit": f"{_COLUMNS}.unsplit:UnSplit",
    "generative": f"{_MODELS}.generative:Generative",
    "equality-solving": f"{_MODELS}.equality_solving:EqualitySolving",
    "generative-scores": f"{_MODELS}.from_scores:GenerativeFromScores",
    "equality-scores": f"{_MODELS}.from_scores:EqualityFromScores",
    "path-restriction": f"{_MODELS}.path_restriction:PathRestriction",
    "property": f"{_COLUMNS}.property:PropertyInference",
    "membership": f"{_COLUMNS}.membership:MembershipInference",
    "backdoor": f"{_INTEGRITY}.backdoor:GradientReplacement",
    "villain": f"{_INTEGRITY}.villain:Villain",
    "poisoning": f"{_INTEGRITY}.poisoning:Poisoning",
    "free-rider": f"{_INTEGRITY}.free_rider:FreeRider",
    "dominating": f"{_INTEGRITY}.dominating:DominatingInputs",
    "random-words": f"{_INTEGRITY}.random_words:RandomWords",
}
"""Where each attack is, ``module:class``, in the order of a card."""

WITHOUT_INPUT = {
    "gradient inversion (Zhu et al. 2019, arXiv:1906.08935; CAFE, Jin et al. 2021, "
    "arXiv:2110.15122)": "no method sends gradients of weights",
}
"""Attacks of the literature whose input no method gives, with the reason."""


def attack_of(name: str) -> "Attack":
    """Import and make an attack.

    Raises
    ------
    ConfigError
        If there is none of that name.
    """
    if name not in ATTACKS:
        raise ConfigError(f"unknown attack '{name}'{choices(name, tuple(ATTACKS))}")
    kind: type[Attack] = load_object(ATTACKS[name])
    return kind()
