"""Guarantees of a run for columns and labels, and their limits."""

from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import MULTI_LABEL, REGRESSION
from vfl_flower.config.options.defences.embeddings import read_embedding_defence
from vfl_flower.config.options.defences.gradients import read_defence
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import split_list
from vfl_flower.crypto.mask_graph import FAILURE_BITS
from vfl_flower.privacy.label_dp.training_labels import epsilon_of
from vfl_flower.privacy.secure_aggregation import honest_parties, masks_of_each

_MASKS = "pairwise masks (X25519, HKDF-SHA256, ChaCha20) in"
MASKS = f"{_MASKS} Z/2^32 with 16 fractional bits"
NARROW_MASKS = f"{_MASKS} Z/2^16, in the finest steps that hold a sum of bounded rows"
NOISE = "discrete Gaussian noise on every upload of a passive party, clipped"
SHARED_NOISE = (
    "a share of discrete Gaussian noise on every upload of a passive party, and all of it on the "
    "sum of any {honest} of them, clipped"
)
ROW_NOISE = (
    "each row of it to Euclidean norm {clip:g}, and on gradients of that party's network, each "
    "row's clipped to norm {gradient:g}; the adjacency is one row of one party"
)
BOUNDED = "every row that is summed clipped by its party to Euclidean norm"
STANDARDIZED = (
    "columns of what is summed standardised by each party, so that none outweighs another"
)
CHECKED = (
    "the share of each passive party in the sum's variance known to it, so that it can refuse to "
    "dominate the sum"
)
PRIVATE = "initial weights and dropout that only their own party knows"
CLEAR = "what the passive parties sent travelled in the clear"
SINGLE = "what each passive party sent, noised, was seen by itself; nothing blinded it"
UNNOISED_EVALUATION = (
    "evaluations were sent without noise, which makes epsilon infinite; dp-eval = noised covers "
    "them"
)
VARIANCES = (
    "passive parties told each other the typical variance of what they sent to sums, in 16 bits an "
    "epoch, sealed under pair keys, which hold against an active party that deviates only where "
    "identities are pinned; the active party was told the largest share, in whole percent"
)
PUBLIC = (
    "initial weights follow from the seed, and whoever knows them can work out columns from "
    "embeddings or their sum; party-randomness = private hides them"
)

PUBLISHED = (
    "some parties start from published weights, and whoever has them can work out columns from "
    "embeddings or their sum"
)

READABLE = (
    "passive parties can read the labels of training rows off what they receive; label-privacy "
    "hides them"
)

_READABLE = {
    REGRESSION: "passive parties can learn the labels of training rows, which are numbers, from "
    "what they receive; nothing hides those",
    MULTI_LABEL: "passive parties can learn the labels of training rows, several of each, from "
    "what they receive; nothing hides those",
}
"""The same, of tasks that label privacy does not cover."""

DEFENDED = (
    "labels of training rows are in the gradients that passive parties received, changed by {}, "
    "which has no guarantee"
)
PUBLIC_NOISE = (
    ". The noise follows from the seed, and whoever knows that can take it off; party-randomness "
    "= private hides it"
)

COLUMNS_DEFENDED = (
    "columns are in the embeddings that passive parties learned under {}, which has no guarantee; "
    "client-level noise has one"
)
PUBLIC_DRAWS = (
    ". The {} of {} are the seed's, and whoever knows that knows them; party-randomness = private "
    "hides them"
)

ENCODED = (
    "codes of {} teach in the place of labels of training rows, which has no guarantee: rows of "
    "one class have one code, and whoever knows a few labels learns all codes"
)
HAS_ONE = "; label-privacy has one"
PUBLIC_CODES = (
    ". The codes follow from the seed, and whoever knows that has them; party-randomness = private "
    "hides them"
)

GIVEN = "passive parties were given the labels of all training rows; label-privacy hides them"
SHARED = "passive parties were given the top model and each other's embeddings of training rows"
ROUNDED = (
    "probabilities in files of predictions are rounded (decimals: {}), which has no guarantee and "
    "hides nothing from the active party, who computes them"
)
POOLED = "all parties' columns lay in one place, with the active party"

PAIR = (
    "with two passive parties, and no columns at the active one, each can work out from the "
    "prediction what the other says of a row; blinding does not hide it"
)

SOLE = (
    "masks do not hide what {} sent: it alone joined parties that stay as they are, whose sums "
    "without it are known from their own run; two new parties hide each other"
)

_UNDO_MASKS = (CLEAR, SINGLE, PUBLIC, PUBLISHED)

_Sentences = tuple[list[str], list[str]]
"""What is protected, and what a setting or another method would protect but does not."""


def protections(cfg: RunConfig, task: str = "") -> _Sentences:
    """List protections of columns and labels, and missing ones.

    Labels are classes, unless the `task` is another one.
    """
    (protected, unprotected), labels = column_protections(cfg), label_protection(cfg, task)
    return protected + labels[0], unprotected + labels[1]


def noise_level(cfg: RunConfig) -> str:
    """Return the name of the privacy that noise gives, by its unit."""
    return "row-level" if cfg.row_level else "client-level"


def _between(cfg: RunConfig) -> str:
    """Say between which parties masks are, if not between all."""
    others = masks_of_each(cfg)
    if others == cfg.parties - 2:
        return ""
    return (
        f", of each passive party with {others} of {cfg.parties - 2} others, drawn together; they "
        f"hold as long as a share of at most {cfg.colluding_share:g} of the passive parties "
        f"colludes, but for a chance of 2^-{FAILURE_BITS} at each draw"
    )


def _noise(cfg: RunConfig) -> str:
    """Name the noise of uploads."""
    noise = NOISE
    if cfg.noise_distributed:
        noise = SHARED_NOISE.format(honest=honest_parties(cfg))
    if cfg.row_level:
        row = ROW_NOISE.format(clip=cfg.dp_clip, gradient=cfg.dp_gradient_clip)
        return f"{noise}, {row}"
    return f"{noise} to Frobenius norm {cfg.dp_clip:g}; the adjacency is a party's whole data"


def label_protection(cfg: RunConfig, task: str = "") -> _Sentences:
    """State whether training labels are hidden from the passive parties."""
    if not cfg.teaches:
        return [], []
    protected, open_ends = _label_noise(cfg, task)
    encrypted = cfg.options.labels_encrypted
    return [*([encrypted] if encrypted else []), *protected], open_ends


def _label_noise(cfg: RunConfig, task: str) -> _Sentences:
    """State whether noise hides training labels."""
    remedy = "" if cfg.label_noise else HAS_ONE
    defended = [_defence(cfg, remedy)] if cfg.defended else []
    defended += [_encoding(cfg, remedy)] if cfg.encoded else []
    if not cfg.label_noise and cfg.options.labels_noised:
        return [cfg.options.labels_noised], defended
    if not cfg.label_noise:
        readable = _READABLE.get(task, READABLE)
        return [], defended or [
            cfg.options.label_exposure or (GIVEN if cfg.labels_given else readable)
        ]
    epsilon = epsilon_of(cfg)
    noised = f"labels of training rows noised once by {cfg.label_noise}"
    text = f"{noised}, label differential privacy with epsilon {epsilon:g} a label"
    if epsilon > cfg.label_epsilon:
        forced = f"label-sensitivity is forced below what is true: {text}, not as configured"
        return [], [forced, *defended]
    return [text], defended


def _defence(cfg: RunConfig, remedy: str) -> str:
    """Say that gradients were changed, without a guarantee."""
    public = read_defence(cfg.gradient_defence)[0].noisy and cfg.party_randomness != "private"
    return DEFENDED.format(cfg.gradient_defence) + remedy + (PUBLIC_NOISE if public else "")


def _embedding_defence(cfg: RunConfig) -> str:
    """Say that embeddings were defended, without a guarantee."""
    drawn = read_embedding_defence(cfg.embedding_defence)[0].drawn
    told = COLUMNS_DEFENDED.format(cfg.embedding_defence)
    if not drawn or cfg.party_randomness == "private":
        return told
    return told + PUBLIC_DRAWS.format(drawn, cfg.embedding_defence)


def _encoding(cfg: RunConfig, remedy: str) -> str:
    """Say that codes were learnt, without a guarantee."""
    public = cfg.party_randomness != "private"
    return ENCODED.format(cfg.label_encoding) + remedy + (PUBLIC_CODES if public else "")


def column_protections(cfg: RunConfig) -> _Sentences:
    """List protections of the passive parties' columns, and missing ones."""
    if cfg.spec.alone:
        return [], [POOLED] if cfg.spec.pools else []
    masked, secret = cfg.blinded, cfg.spec.weights_secret
    private = cfg.party_randomness == "private"
    published = any(split_list(cfg.weights))
    ways = (
        (f"{NARROW_MASKS if cfg.narrow else MASKS}{_between(cfg)}", masked),
        (_noise(cfg), cfg.noised),
        (f"{BOUNDED} {cfg.row_bound or 0:g}", cfg.row_bound is not None),
        (STANDARDIZED, masked and cfg.standardized),
        (CHECKED, cfg.shares_checked),
        (PRIVATE, private and not published and secret),
    )
    gaps = (
        (CLEAR, not masked and not cfg.noised),
        (SINGLE, not masked and cfg.noised),
        (_embedding_defence(cfg) if cfg.embeddings_defended else "", cfg.embeddings_defended),
        (UNNOISED_EVALUATION, cfg.noised and cfg.dp_eval == "clear"),
        (VARIANCES, cfg.shares_checked),
        (SOLE.format(party_name(cfg.parties - 1)), masked and cfg.new_parties == 1),
        (PAIR, masked and cfg.holders == 2 < cfg.parties),
        (SHARED, cfg.labels_shared),
        (PUBLIC, not private and secret),
        (cfg.spec.column_exposure, bool(cfg.spec.column_exposure) and not cfg.noised),
        (cfg.options.cross_products, bool(cfg.options.cross_products)),
        (PUBLISHED, published),
        (ROUNDED.format(cfg.score_digits), cfg.score_digits > 0),
    )
    protected, open_ends = ([text for text, there in each if there] for each in (ways, gaps))
    return protected, open_ends


def masks_undone(cfg: RunConfig) -> list[str]:
    """List why keys, however authentic, would hide no columns.

    Other gaps, such as variances that parties tell each other, are for a party's policy.
    """
    return [text for text in column_protections(cfg)[1] if text in _UNDO_MASKS]
