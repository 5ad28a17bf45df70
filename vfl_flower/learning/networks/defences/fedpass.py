"""FedPass: embeddings scaled and shifted by a secret that training adapts to.

Gu et al. 2023, "FedPass: Privacy-Preserving Vertical Federated Deep Learning with Adaptive
Obfuscation", arXiv:2301.12623. *Built is the passive parties' half*, which is to hide columns; the
active party's passports, in its top model, which are to hide labels, are not. A passport layer
follows the embedding net, with weights W, b of its own, two passports s_1 and s_2, and D and E a
decoder and an encoder of a quarter of the width, with a leaky ReLU between:

    E_k = scale (W h_k(x_k) + b) + shift                                  (B, D)
    scale = D(E(W s_1 + b)),  shift = D(E(W s_2 + b))                     (D,)
    s_ij ~ N(m_ij, 1),  m_ij ~ U(-N, 0)

Passports are drawn once, when the network is built, from the party's own randomness, are kept with
its weights, and leave it never. W, D and E learn, and with them scale and shift. Coder and the one
draw are those of FATE's program, which has a tanh around scale and shift of a dense layer, too.

Answers
    Whoever knows all of the network but the passports, and would invert it: they are secret only
    where the party's randomness is private, and so are its weights then. UnSplit's clones fail at
    the dense layer, and fail alike if they are given the passports. *It answers no decoder*: scale
    and shift are the same for all rows, one invertible map more, which a regression on some known
    rows learns with the rest.
Costs
    Two layers more, and steps whose size grows with N: a large one needs a lower learning rate.
"""

import torch
from torch import Tensor, nn

from vfl_flower.learning.networks.defences.defence import EmbeddingDefence


class Passport(nn.Module):
    """A linear layer whose scale and shift follow from passports.

    Parameters
    ----------
    width : int
        D.
    reach : float
        N.
    """

    passports: Tensor

    def __init__(self, width: int, reach: float) -> None:
        super().__init__()
        self.reach, hidden = reach, max(width // 4, 1)
        self.linear = nn.Linear(width, width)
        self.coder = nn.Sequential(
            nn.Linear(width, hidden, bias=False),
            nn.LeakyReLU(),
            nn.Linear(hidden, width, bias=False),
        )
        self.register_buffer("passports", torch.empty(2, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw other passports, from torch's global generator."""
        means = -self.reach * torch.rand(self.passports.shape)
        self.passports.copy_(means + torch.randn(self.passports.shape))

    def forward(self, x: Tensor) -> Tensor:
        """Scale and shift a linear map: (B, D), either way."""
        scale, shift = self.coder(self.linear(self.passports))
        made: Tensor = scale * self.linear(x) + shift
        return made


class FedPass(EmbeddingDefence):
    """An embedding net with a passport layer at its end.

    Parameters
    ----------
    embed, width
        See `EmbeddingDefence`.
    reach : float
        N, of the means of passports.
    """

    def __init__(self, embed: nn.Module, width: int, reach: float) -> None:
        super().__init__(embed, width, reach)
        self.passport = Passport(width, reach)

    def forward(self, x: Tensor) -> Tensor:
        """See `EmbeddingDefence`."""
        made: Tensor = self.passport(self.embed(x))
        return made
