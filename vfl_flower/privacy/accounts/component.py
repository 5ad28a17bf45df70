"""Counter of uploads in the account of a party's data set."""

from functools import cached_property
from hashlib import sha256
from typing import Protocol

import numpy as np

from vfl_flower.common.codec import to_array
from vfl_flower.common.errors import PolicyError
from vfl_flower.config.policy.case import refusal
from vfl_flower.privacy.accounts.account import PARTY, Account, Limit, account_in
from vfl_flower.privacy.accounts.place import accounts_of, checked_folder, run_of
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.client_dp.holder import Holder
from vfl_flower.protocol.components import Phase
from vfl_flower.protocol.uploads import Upload, UploadCounter

_ROWS = 4096
"""Rows that are digested at a time."""
_DIGEST = 16
"""Hexadecimal digits of a table's SHA-256 that an account holds."""


class Accountable(Holder, Protocol):
    """An owner with columns and an upload count.

    Attributes
    ----------
    privacy : ClientPrivacy
        Noises and counts its uploads.
    """

    privacy: ClientPrivacy


class UploadAccount(UploadCounter):
    """Notes uploads in the account of their data set.

    It does so where the owner's policy names the data set: never in a simulation, which has the
    open policy.

    Raises
    ------
    PrivacyError
        If the party has no folder, or the run's name is that of the folder of accounts.
    """

    name = "account"
    party: Accountable

    def __init__(self, party: Accountable) -> None:
        super().__init__(party)
        self.entry = party.policy.data_of(party.cfg, party.rank)
        if self.entry:
            self._folder = checked_folder(party)

    @property
    def _run(self) -> str:
        return run_of(self._folder)

    @property
    def _account(self) -> Account:
        assert self.entry is not None  # noqa: S101  its callers have looked
        return account_in(accounts_of(self._folder), self.entry.name)

    @cached_property
    def _limit(self) -> Limit | None:
        if self.entry is None or self.entry.largest_epsilon is None:
            return None
        return Limit(self.entry.largest_epsilon, self.entry.delta)

    @cached_property
    def _table(self) -> str:
        """Digest of the party's columns."""
        x = self.party.data.x
        digest = sha256(str(tuple(x.shape)).encode())
        for start in range(0, len(x), _ROWS):
            digest.update(np.ascontiguousarray(to_array(x[start : start + _ROWS])).data)
        return digest.hexdigest()[:_DIGEST]

    def _sigma(self, kind: str) -> float:
        """Return the noise multiplier of a kind of uploads, or 0.

        It is 0 too where the noise protects another unit than the owner's limits.
        """
        budget = self.party.privacy.budget
        assert self.entry is not None  # noqa: S101  its callers have looked
        same = self.entry.adjacency == self.party.cfg.dp_adjacency
        return budget.sigma if budget and budget.noises(kind) and same else 0.0

    def _allows(self, weight: float) -> bool:
        return self._limit is None or self._limit.allows(weight)

    def _spent(self, sigma: float) -> PolicyError:
        """Build the one refusal of an upload that the account cannot pay."""
        assert self._limit is not None  # noqa: S101  without a limit nothing is refused
        assert self.entry is not None  # noqa: S101  as above
        noise = f"with dp-sigma {sigma:g}" if sigma else "without noise"
        return refusal(
            self.party.policy,
            "upload",
            "largest-epsilon",
            f"{self._limit.epsilon:g} over all runs on '{self.entry.name}' leaves none {noise}",
        )

    def _check_sigma(self, sigma: float) -> None:
        """Refuse less noise than the data set's owner asks for."""
        if self.entry and sigma < self.entry.least_sigma:
            raise refusal(
                self.party.policy,
                "run",
                "least-sigma",
                f"it is {self.entry.least_sigma:g} for '{self.entry.name}', and dp-sigma is "
                f"{sigma:g}",
            )

    @property
    def _unit(self) -> str:
        """Mechanisms that the run's account counts, in messages."""
        budget = self.party.privacy.budget
        return budget.unit if budget else "uploads"

    @property
    def _by_row(self) -> bool:
        """Whether the run's count of rows decides an upload's cost.

        Not in a prediction, whose rows may be those of another data set than the count's: each of
        its uploads counts, as if they held the same rows.
        """
        return self.party.cfg.row_level and not self.party.cfg.predicts

    def _missing(self) -> int:
        """Return the number of a training's counted uploads missing in the account.

        A prediction goes on in the count of the run that trained, maybe on another data set.
        """
        privacy = self.party.privacy
        if not privacy.budget or self.party.cfg.predicts:
            return 0
        counted = privacy.budget.noised(privacy.counts() - privacy.before)
        return max(counted - self._account.uploads(self._run), 0)

    def _planned(self) -> int:
        """Return how many noised uploads this run is still to have."""
        budget, before = self.party.privacy.budget, self.party.privacy.before
        assert budget is not None  # noqa: S101  its caller has looked
        counted = budget.noised(self.party.privacy.counts() - before)
        if self.party.cfg.task == "serve":  # each upload is paid when it is asked for
            return 0
        if self.party.cfg.task == "predict":
            uploads = self.party.privacy.predicted() - self.party.privacy.counts()
            return uploads["evaluation"] if budget.noises("evaluation") else 0
        most = min(budget.noised(budget.planned), budget.most - budget.noised(before))
        return max(int(most) - counted, 0)

    def check_in(self) -> None:
        """Refuse a run that the account does not last for.

        Raises
        ------
        PolicyError
            Names the rule, and says how much is left.
        """
        if not self.entry or self.party.cfg.spec.alone:
            return
        sigma = self._sigma("training")
        self._check_sigma(min(sigma, self._sigma("evaluation")))
        with self._account.opened():
            self._account.told(self._run, self._table, self._limit, self.entry.adjacency)
            if self._limit:
                self._check_affordable(self._limit, sigma)

    def _check_affordable(self, limit: Limit, sigma: float) -> None:
        """Refuse a run of more uploads than are left."""
        if not sigma:
            raise self._spent(sigma)
        left = limit.left(self._account.weight, sigma)
        more = self._missing() + self._planned()
        if more > left:
            spent = self._account.epsilon(limit.delta)
            why = (
                f"it is {limit.epsilon:g} over all runs on '{self._account.path.stem}', "
                f"{spent:.4g} is spent, which leaves {left} {self._unit} with dp-sigma {sigma:g}, "
                f"and this run takes {more}"
            )
            raise refusal(self.party.policy, "run", "largest-epsilon", why)

    def admit(self, declared: Phase) -> None:
        """Refuse an upload that the account cannot pay.

        Raises
        ------
        PolicyError
            Names the rule; the text does not depend on data.
        """
        if not self.entry or not declared.of_columns:
            return
        sigma = self._sigma(declared.purpose)
        self._check_sigma(sigma)
        if not self._limit or self.party.privacy.repeats:
            return
        more = self.party.privacy.adds(declared) if sigma and self._by_row else 1
        with self._account.opened():
            left = self._limit.left(self._account.weight, sigma) - self._missing()
        if not sigma or left < more:
            raise self._spent(sigma)

    def count(self, upload: Upload, declared: Phase) -> None:
        """Note an upload before it leaves, on disk."""
        if self.entry and declared.of_columns:
            self._note(self._sigma(declared.purpose))

    def pass_figure(self) -> None:
        """Note a number about columns, which has no noise."""
        if self.entry:
            self._note(0.0)

    def _note(self, sigma: float) -> None:
        """Note one upload, which is counted already, and missing ones."""
        with self._account.opened():
            cfg = self.party.cfg
            counted = sigma and (self.party.privacy.repeats or self._by_row)
            more = max(0 if counted else 1, self._missing() if sigma else 0)
            clip = cfg.dp_clip if sigma else 0.0
            adjacency = cfg.dp_adjacency if sigma else PARTY
            run, allows = self._run, self._allows
            if more and not self._account.add(run, sigma, clip, more, allows, adjacency):
                raise self._spent(sigma)
