"""PraVFed, active party.

Wang et al. 2025, "PraVFed: Practical Heterogeneous Vertical Federated Learning via Representation
Learning", Algorithms 1 and 2.

K passive parties, N training rows, C classes, embedding width D; party k has an embedding net h_k
and a decision net p_k, the active party h_a and p_a:

    Y'    = noise(onehot(y))                            (N, C)  once; Eq. 8
    h_k   trained at party k on ||p_k(h_k(x_k)) - Y'||^2 / (2N), for T_k epochs; Eq. 4, 5
    ACC_k = accuracy of p_k(h_k(x_k)) against argmax Y'  ()
    W_k  ~= 256 ACC_k / sum_j ACC_j                     integers that sum to 256
    E_p   = sum_k [W_k E_k] / 256                       (N, D)  sent once, blinded; Eq. 9
    R     = p_a(h_a(x_a) + norm(E_p))                   (N, C)  trained here alone, on y

Learns
    Active: E_p and the ACC_k, but no E_k. Passive k: Y' and all ACC_j; so the labels, as far as the
    noise lets them through, and what its own columns tell of them once it has learnt from Y'.
    *Without label privacy Y' is the labels.* From that one upload the active party can go on to
    train as it likes; nobody sees it. *Who knows the initial weights, as all do if they are public,
    can repeat a party's training only with its columns; E_p still is a function of them.*
Assumes
    Semi-honest (honest-but-curious) parties; the active party does not collude with all passive
    parties but one; K >= 2 where embeddings are blinded.
Deviates
    The noise is epsilon-differentially private as it stands: sensitivity 2 (the paper names none),
    discrete, and by default randomised response with the estimate of the one-hot row without bias,
    which tells more at the same epsilon; ``laplace`` is the paper's. ACC_k go to all passive
    parties through the active party, which the weights reach anyhow. Eq. 7's masks scaled by
    weights leave low bits bare in a ring; here party k sends W_k E_k under the plain mask, which is
    the same sum. Nobody weighs less than a third of an even share: one party that weighed nearly
    alone would be seen through the sum. Each column of E_p is standardised on the training rows,
    and p_a has three layers: the paper says neither, and one layer leaves much of E_p unused. The
    active party trains on the true labels, and sends nothing that it computes from them. With
    ``embedding-bound`` h_k ends in scaling each row to that norm at most, in its own training too;
    the weights W_k come after it. With ``class-weights`` every party weights each row's error, by
    class weights that it computes from Y', and by the label that Y' has or lets expect. Under
    client-level privacy no ACC_k is told, and E_p is the plain mean of the noised E_k.
    Networks are this package's unless ``models`` names the authors', `pravfed-cnn`, `pravfed-lenet`
    and `pravfed-mlp`, or `pravfed-table`, which embeds a layer later than their program.
Costs
    Two exchanges of training in all. Per passive party and row 4D bytes up; 8 and the noisy label
    down: 1 byte with randomised response, 4C with Laplace noise. Rows that are evaluated or
    predicted are embedded once more each.
"""

import torch
from torch import Tensor

from vfl_flower.algorithms.integer_weights import MOST_PARTIES, TOTAL, weights_of
from vfl_flower.api import Party, Protocol, Purpose, agree_keys, ask, train
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.learning.losses import Labels

from .local import Local
from .specs.pravfed import PraVFedOptions


class PraVFed(Local):
    """PraVFed's active party: one upload of embeddings learnt from noisy labels."""

    options: PraVFedOptions
    layers = 3
    remembers = (*Local.remembers, "E_p", "accuracies")
    predicts_with = ("accuracies", "mean", "deviation")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        if self.parties - 1 > MOST_PARTIES:
            raise ConfigError(f"pravfed weights up to {MOST_PARTIES} passive parties, not more")
        self.E_p = torch.empty(0)  # (rows of all parties, D); NaN where nothing was sent
        self.accuracies = torch.empty(0)  # ACC_k
        self.mean, self.deviation = torch.zeros(1), torch.ones(1)  # of each column of E_p

    def protocol(self) -> Protocol:
        """Algorithm 2."""
        yield from agree_keys(self.cfg)
        if not len(self.E_p):
            yield from self.pretrain(self.rows["train"])
            yield from self.gather("embed", self.rows["train"], "training")
        self.mean, self.deviation = moments(self.E_p[torch.from_numpy(self.rows["train"])])
        yield from train(self)

    def pretrain(self, train: Array) -> Protocol:
        """Let the passive parties learn from noisy labels (lines 1 to 10)."""
        noisy = self.training_labels.published(torch.from_numpy(train))
        replies = yield ask("pretrain", train, noisy)
        noised = self.budget is not None  # then ACC_k are not told
        self.accuracies = torch.zeros(self.parties - 1) if noised else torch.cat(replies.tensors)

    def gather(self, phase: str, rows: Array, purpose: Purpose) -> Protocol:
        """Get E_p of some rows (lines 11 to 18)."""
        replies = yield ask(phase, rows, self.accuracies, purpose=purpose)
        if not len(self.E_p):
            self.E_p = torch.full((len(self.x), self.cfg.embedding_dim), torch.nan)
        noised = self.budget is not None
        mean = replies.sum() / (self.parties - 1) if noised else replies.sum(TOTAL) / TOTAL
        self.E_p[torch.from_numpy(rows)] = mean  # Eq. 9

    def labels_of(self, rows: Array) -> Labels:
        """Return true labels: training needs no exchange (lines 20 to 26)."""
        return self.truth(rows)

    def infer(self, rows: Array) -> Protocol:
        """Return logits; request embeddings that are missing."""
        index = torch.from_numpy(rows)
        new = index[self.E_p[index].isnan().any(1)].numpy() if len(self.E_p) else rows
        if len(new):
            yield from self.gather("embed_only", new, "evaluation")
        return (yield from super().infer(rows))

    def figures(self) -> dict[str, float]:
        """Return ACC_k and W_k / 256 of parties; nothing under noise."""
        if self.budget:
            return {}
        weights = weights_of(self.options.aggregation, self.accuracies)
        pairs = zip(self.accuracies.tolist(), weights, strict=True)
        return {
            f"{what}_of_{party_name(k)}": value
            for k, (accuracy, weight) in enumerate(pairs, 1)
            for what, value in (("local_accuracy", accuracy), ("weight", weight / TOTAL))
        }

    def norm(self, E_p: Tensor) -> Tensor:  # (B, D), either way
        """Standardise each column by its mean and deviation on training rows."""
        return (E_p - self.mean) / self.deviation

    def predict(self, rows: Array) -> Tensor:  # (B,) -> (B, C)
        """R = p_a(h_a(x_a) + norm(E_p))."""
        E_p = self.E_p[torch.from_numpy(rows)]
        return self.decide(self.embed_rows(rows) + self.norm(E_p))


def moments(E: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and deviation of each column, (D,) each.

    Columns are those of an (N, D) tensor; the deviation of a constant one is 1.
    """
    deviation, mean = torch.std_mean(E, 0, correction=0)
    deviation[deviation == 0] = 1
    return mean, deviation
