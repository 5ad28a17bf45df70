"""Rules of a policy by key, and their check."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from vfl_flower.config.optimization.optimizers import largest_step
from vfl_flower.config.options.defences.embeddings import as_strong
from vfl_flower.config.policy import sizes
from vfl_flower.config.policy.case import Case, refusal
from vfl_flower.config.policy.label_rules import LABEL_RULES
from vfl_flower.config.policy.record import Policy
from vfl_flower.config.settings import Settings

SOLE = "it alone is new, and without it the sums of the others are known"
"""Reason why masks do not hide a newcomer."""


def check(policy: Policy, cfg: Settings, rank: int, pinned: Sequence[str] = ()) -> None:
    """Refuse a run that breaks a policy.

    Parameters
    ----------
    policy : Policy
        Of the party's owner.
    cfg : Settings
        The run's configuration, as the party has it.
    rank : int
        The party's, 1 to K.
    pinned : sequence of str
        Fingerprints of the identities that the party pins.

    Raises
    ------
    PolicyError
        Names the policy and the rule; its text may be told to the active party.
    """
    case = Case(policy, cfg, rank, pinned)
    for rule, broken in RULES.items():
        if why := broken(case):
            raise refusal(policy, "run", rule, why)


def _run_names(case: Case) -> str:
    name = case.cfg.run_name
    if any(fnmatchcase(name, pattern) for pattern in case.policy.run_names):
        return ""
    return f"no pattern is for run-name '{name}'"


def _peers(case: Case) -> str:
    if not case.policy.peers:
        return ""
    if not case.pinned:
        return "this node's configuration names no identity and peers"
    other = [k for k, each in enumerate(case.pinned, 1) if each not in case.policy.peers]
    return f"the identity pinned for party-{other[0]} is not listed" if other else ""


def _data(case: Case) -> str:
    if not case.policy.data or case.data:
        return ""
    return f"no entry is for the table or data set of this run (dataset = {case.cfg.dataset})"


def _adjacency(case: Case) -> str:
    if not case.uploads or not case.data or not case.data.limits_noise or not case.cfg.noised:
        return ""
    limited, given = case.data.adjacency, case.cfg.dp_adjacency
    if limited == given:
        return ""
    return f"limits of '{case.data.name}' are for adjacency {limited}, and dp-adjacency is {given}"


def _least_sigma(case: Case) -> str:
    least = case.data.least_sigma if case.data else 0.0
    if not case.uploads or not least:
        return ""
    if not case.noised:
        return f"it is {least:g}, and not all that parties send is noised"
    given = case.cfg.dp_sigma
    return f"it is {least:g}, and dp-sigma is {given:g}" if 0 < given < least else ""


def _largest_epsilon(case: Case) -> str:
    if not case.uploads or not case.data or not case.data.accounted or case.noised:
        return ""
    return f"it is {case.data.largest_epsilon:g}, and not all that parties send is noised"


def _methods(case: Case) -> str:
    listed = case.policy.methods
    if case.cfg.task == "align" or not listed or case.cfg.method in listed:
        return ""
    return f"it lists {', '.join(listed)}, and method is {case.cfg.method}"


def _secure_aggregation(case: Case) -> str:
    if not case.policy.require_secure_aggregation or not case.uploads or case.masked:
        return ""
    if case.cfg.blinded:
        return f"masks do not hide what this party sends: {SOLE}"
    return (
        f"nothing masks what single parties send (method {case.cfg.method}, blinding "
        f"{case.cfg.blinding})"
    )


def _colluding_share(case: Case) -> str:
    least, share = case.policy.least_colluding_share, case.cfg.colluding_share
    if not case.masked or share >= least:
        return ""
    return f"it is {least:g}, and masks hold against a share of {share:g} of the passive parties"


def _distributed_noise(case: Case) -> str:
    if case.policy.allow_distributed_noise or not case.uploads or not case.cfg.noise_distributed:
        return ""
    return "dp-noise is distributed: this party's noise alone would not be all that it counts"


def _cross_products(case: Case) -> str:
    told = case.cfg.task == "train" and case.uploads and case.cfg.options.cross_products
    if case.policy.allow_cross_products or not told:
        return ""
    return f"{case.cfg.method} would tell the active party products of different parties' columns"


def _missing_parties(case: Case) -> str:
    if case.policy.allow_missing_parties or not case.cfg.uses_missing:
        return ""
    return "missing-parties is use: other passive parties would learn which rows this one has"


def _single_embeddings(case: Case) -> str:
    if case.policy.allow_single_embeddings or not case.uploads or case.masked:
        return ""
    if not case.noised and case.cfg.blinded:
        return f"the active party can compute single embeddings: {SOLE}"
    if not case.noised:
        return (
            "the active party would see single embeddings without noise (method "
            f"{case.cfg.method}, blinding {case.cfg.blinding})"
        )
    if case.data and case.data.limits_noise:
        return ""
    return (
        "the active party would see single embeddings, and nothing says how much noise protects "
        "them; give their data an entry with least-sigma or largest-epsilon"
    )


def _private_weights(case: Case) -> str:
    if not case.policy.require_private_weights or not case.uploads:
        return ""
    if case.cfg.party_randomness != "private":
        return f"party-randomness is {case.cfg.party_randomness}"
    if not case.cfg.spec.weights_secret:
        return f"{case.cfg.method} tells the active party this party's first weights"
    return ""


def _embedding_bound(case: Case) -> str:
    unbounded = case.masked and case.cfg.row_bound is None
    if not case.policy.require_embedding_bound or not unbounded:
        return ""
    return f"embedding-bound is {case.cfg.embedding_bound}"


def _largest_bound(case: Case) -> str:
    bound, largest = case.cfg.row_bound, case.policy.largest_embedding_bound
    if not case.masked or bound is None or bound <= largest:
        return ""
    return f"it is {largest:g}, and embedding-bound is {case.cfg.embedding_bound}"


def _embedding_defences(case: Case) -> str:
    listed, used = case.policy.embedding_defences, case.cfg.embedding_defence
    if not case.uploads or not listed or as_strong(used, listed):
        return ""
    return f"it lists {', '.join(listed)}, and embedding-defence is {used}"


def _largest_share(case: Case) -> str:
    limit, checked = case.policy.largest_share, case.cfg.shares_checked
    if not case.masked or case.cfg.task != "train":
        return ""
    if limit is None:
        told = "share-check is on: other passive parties would learn the variance of uploads"
        return f"it is not set, and {told}" if checked else ""
    return "" if limit == 1 or checked else f"it is {limit:g}, and share-check is off"


def _learning_rate(case: Case) -> str:
    largest = case.policy.largest_learning_rate
    if not case.uploads or case.cfg.task != "train":
        return ""
    cfg, rank = case.cfg, case.rank
    step = largest_step(cfg.optimizer_of(rank))
    rate = max(cfg.rate_of(rank), step, *cfg.options.further_rates(rank))
    return f"it is {largest:g}, and this party's is {rate:g}" if rate > largest else ""


def _largest_weight(case: Case) -> str:
    largest, weight = case.policy.largest_weight, case.cfg.largest_weight
    if case.cfg.task != "train" or weight <= largest:
        return ""
    return f"it is {largest:g}, and largest-weight of the run is {weight:g}"


def _predictions(case: Case) -> str:
    none = case.policy.most_predictions_a_day == 0
    return f"it is 0, and task is {case.cfg.task}" if none and case.cfg.predicts else ""


def _modules(case: Case) -> str:
    if case.cfg.task == "align":
        return ""
    module, own, _ = case.cfg.model_of(case.rank).partition(":")
    known = (*case.policy.modules, *case.policy.own_modules)
    if not own or any(fnmatchcase(module, pattern) for pattern in known):
        return ""
    return f"this party's network is in module '{module}', which is not listed"


RULES: dict[str, Callable[[Case], str]] = {
    "run-names": _run_names,
    "peers": _peers,
    "data": _data,
    "methods": _methods,
    "require-secure-aggregation": _secure_aggregation,
    "allow-missing-parties": _missing_parties,
    "allow-single-embeddings": _single_embeddings,
    "least-colluding-share": _colluding_share,
    "allow-distributed-noise": _distributed_noise,
    "allow-cross-products": _cross_products,
    "require-private-weights": _private_weights,
    "require-embedding-bound": _embedding_bound,
    "largest-embedding-bound": _largest_bound,
    "embedding-defences": _embedding_defences,
    "largest-share": _largest_share,
    "largest-learning-rate": _learning_rate,
    "largest-weight": _largest_weight,
    **LABEL_RULES,
    "least-batch-size": sizes.least_batch,
    "most-batch-size": sizes.most_batch,
    "largest-embedding-dim": sizes.embedding_dim,
    "most-threads": sizes.threads,
    "most-predictions-a-day": _predictions,
    "modules": _modules,
    "adjacency": _adjacency,
    "least-sigma": _least_sigma,
    "largest-epsilon": _largest_epsilon,
}
"""Rules that a run's configuration can break, by key: each says why, or nothing."""

COUNTED = ("most-rows", "most-requests", "most-predictions-a-day", "largest-epsilon")
"""Keys that are also, or only, held against the requests that a node answers."""
