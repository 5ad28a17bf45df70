"""Options of secure aggregation, label privacy and client-level privacy, and their limits."""

from dataclasses import dataclass

from vfl_flower.config.catalog import ACCOUNTANTS, ADJACENCIES, LABEL_MECHANISMS
from vfl_flower.config.options.defences.embeddings import EMBEDDING_DEFENCES
from vfl_flower.config.options.defences.gradients import GRADIENT_DEFENCES
from vfl_flower.config.options.defences.labels import LABEL_ENCODINGS
from vfl_flower.config.options.kinds import offered
from vfl_flower.config.schema import option

TRUE_SENSITIVITY = 2.0
"""L1 distance of two labels' one-hot rows: the sensitivity that makes label-epsilon true."""

LEAST_SIGMA, MOST_SIGMA = 0.1, 1000.0
"""Less noise protects nothing; under more, clipped numbers are but a few steps of the grid."""

LEAST_TARGET, MOST_TARGET = 0.001, 1000.0
"""Of target-epsilon."""

LEAST_BOUND, MOST_BOUND = 0.001, 1e6
"""Of embedding-bound."""

LEAST_STEPS = 64
"""From 0 to the bound of a row's number, in a masked sum of 16 bits."""

MOST_NARROW = 2**15 // (LEAST_STEPS + 1)
"""Parties' weights that such a sum leaves as many steps to; each is rounded by half a step."""

MOST_DIGITS = 6
"""Decimals of a probability; float32 has few more."""

USUAL_BOUND = "16"
"""The embedding-bound between machines; benchmarks/results.md has the accuracy under it."""


@dataclass(frozen=True, kw_only=True)
class PrivacyOptions:
    """Secure aggregation and private randomness."""

    blinding: str = option(
        "auto",
        "secure aggregation: pairwise masks, or none (unprotected); auto: pairwise where possible",
        choices=("auto", "pairwise", "none"),
    )
    colluding_share: float = option(
        1.0,
        "share of passive parties that may collude; below 1 masks are of a sparse random graph",
        least=0,
        most=1,
    )
    party_randomness: str = option(
        "auto",
        "initial weights, dropout: public (from seed) or each party's private; auto: public where "
        "one machine has all parties, else private",
        choices=("auto", "public", "private"),
    )
    embedding_bound: str = option(
        "auto",
        "largest norm of summed rows, or none; auto: none on one machine in whole wire-precision, "
        f"else {USUAL_BOUND}",
        suggested=("auto", "none", USUAL_BOUND),
    )
    embedding_scale: str = option(
        "raw",
        "summed columns: raw or standardized",
        choices=("raw", "standardized"),
    )
    embedding_defence: str = option(
        "none",
        f"none, {', '.join(EMBEDDING_DEFENCES)}, as in nopeek:1",
        suggested=offered(EMBEDDING_DEFENCES),
    )
    share_check: str = option(
        "off",
        "parties check their shares of summed variance",
        choices=("off", "on"),
    )
    gradient_defence: str = option(
        "none",
        f"change of gradients sent: none, {', '.join(GRADIENT_DEFENCES)}, as in isotropic:1",
        suggested=offered(GRADIENT_DEFENCES),
    )
    label_encoding: str = option(
        "none",
        f"codes instead of labels: none, {', '.join(LABEL_ENCODINGS)}",
        suggested=offered(LABEL_ENCODINGS),
    )
    score_digits: int = option(
        0,
        "decimals of scores in prediction files; 0: all",
        least=0,
        most=MOST_DIGITS,
    )

    @property
    def standardized(self) -> bool:
        """Whether passive parties standardise the columns of summed uploads."""
        return self.embedding_scale == "standardized"

    @property
    def embeddings_defended(self) -> bool:
        """Whether passive parties' networks defend their embeddings."""
        return self.embedding_defence != "none"

    @property
    def shares_checked(self) -> bool:
        """Whether passive parties check their shares of summed uploads."""
        return self.share_check == "on"

    @property
    def defended(self) -> bool:
        """Whether gradients are changed before they leave the active party."""
        return self.gradient_defence != "none"

    @property
    def encoded(self) -> bool:
        """Whether codes teach in the place of labels."""
        return self.label_encoding != "none"


@dataclass(frozen=True, kw_only=True)
class LabelPrivacyOptions:
    """Label differential privacy."""

    label_privacy: str = option(
        "auto",
        f"noise on labels that teach others: none, {', '.join(LABEL_MECHANISMS)}; auto: the "
        "method's, mostly none",
        choices=("auto", "none", *LABEL_MECHANISMS),
    )
    label_epsilon: float = option(1.0, "epsilon of each label", least=0.001, most=20)
    label_sensitivity: float = option(
        2.0,
        "L1 sensitivity for laplace; 2 is true",
        above=0,
        most=1000,
    )
    force_sensitivity: bool = option(
        False, "accept a label-sensitivity below 2, and report the run as not private"
    )


@dataclass(frozen=True, kw_only=True)
class ClientPrivacyOptions:
    """Client-level differential privacy."""

    dp_adjacency: str = option(
        "party",
        "protects a party's data, or each row",
        choices=ADJACENCIES,
    )
    dp_sigma: float = option(
        0.0,
        "noise on uploads in multiples of the clip; 0: none, or what target-epsilon needs",
    )
    dp_clip: float = option(1.0, "norm of an upload, or of its rows", least=1e-6, most=1e6)
    dp_gradient_clip: float = option(1.0, "norm of a row's gradient", least=1e-6, most=1e6)
    dp_delta: float = option(1e-5, "delta of each passive party's epsilon", least=1e-12, most=0.1)
    target_epsilon: float = option(0.0, "limit of epsilon, ends training; 0: none")
    dp_noise: str = option(
        "own",
        "whole in each upload, or shares in a sum",
        choices=("own", "distributed"),
    )
    dp_eval: str = option(
        "noised",
        "evaluations; clear: infinite epsilon",
        choices=("noised", "clear"),
    )
    dp_accountant: str = option(
        "rdp", "bound of epsilon; pld is tighter, slower", choices=ACCOUNTANTS
    )

    @property
    def noised(self) -> bool:
        """Whether passive parties noise their uploads."""
        return self.dp_sigma > 0 or self.target_epsilon > 0

    @property
    def row_level(self) -> bool:
        """Whether noise protects single rows, and gradients are noised too."""
        return self.noised and self.dp_adjacency == "row"

    @property
    def noise_distributed(self) -> bool:
        """Whether each party adds a share of a masked sum's noise."""
        return self.dp_noise == "distributed"
