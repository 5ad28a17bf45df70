"""Client-level differential privacy at a passive party: clips and noises uploads."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State
from vfl_flower.learning.schedule import chunks
from vfl_flower.privacy.client_dp.budget import Noise
from vfl_flower.privacy.client_dp.carried import ContinuedUploads, earlier_counts, uploads_of
from vfl_flower.privacy.client_dp.failures import without_columns
from vfl_flower.privacy.client_dp.holder import Holder
from vfl_flower.privacy.client_dp.last_upload import read_last, write_last
from vfl_flower.privacy.client_dp.planning import budget_of
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads
from vfl_flower.protocol.components import Phase, Received
from vfl_flower.protocol.uploads import Upload, UploadMechanism


class ClientPrivacy(UploadMechanism):
    """Clips, noises and counts the uploads of a party.

    Attributes
    ----------
    budget : Budget or None
        The run's; None if nothing is noised.
    repeats : bool
        Whether the request in hand repeats one whose upload is counted.
    predicts : bool
        Whether no upload may be sent once more: the same rows may be another table's.

    Raises
    ------
    PrivacyError
        If the party has no folder to count its uploads in.
    """

    name = "privacy"
    party: Holder

    def __init__(self, party: Holder) -> None:
        super().__init__(party)
        self.budget = budget_of(party.cfg, party.data.rows)
        self._answered: Received | None = None
        self._earlier: State | None = None
        self._purpose = "training"
        self.repeats = self.predicts = False
        self._sent: Tensor | None = None
        self._carried: Counts | None = None
        if self.budget and party.folder is None:
            raise PrivacyError(
                f"{self._who} has no folder to count its uploads in, and without a count no "
                "epsilon holds; set out"
            )

    @property
    def _who(self) -> str:
        return party_name(self.party.rank)

    @cached_property
    def _uploads(self) -> Uploads:
        assert self.budget and self.party.folder  # noqa: S101  the constructor has looked
        return uploads_of(self.budget, self.party.folder, self._carried)

    def carry_over(self, folder: Path, told: Mapping[str, int]) -> None:
        """Count on top of an earlier run's noised uploads; see `earlier_counts`."""
        if self.budget and told:
            self._carried = earlier_counts(self.budget, folder, told)

    @property
    def before(self) -> Counts:
        """How many of the counted uploads are an earlier run's."""
        own = self._uploads if self.budget else None
        return own.before if isinstance(own, ContinuedUploads) else Counts()

    def counts(self) -> Counts:
        """Return the number of counted uploads, empty without noise."""
        return self._uploads.counts() if self.budget else Counts()

    def expect(self, counts: Mapping[str, int]) -> None:
        """Refuse a file that counts fewer uploads than a model folder says.

        Raises
        ------
        PrivacyError
            If it is missing, cut short or damaged.
        """
        if self.budget:
            self._uploads.expect(Counts(dict(counts)))

    def predicted(self, rows: Array | None = None) -> Counts:
        """Return the counts after a prediction, of test rows unless said."""
        rows = self.party.data.rows["test"] if rows is None else rows
        return self._uploads.after("evaluation", rows, chunks(self.party.cfg, rows))

    def afford(self, rows: Array | None = None) -> None:
        """Refuse a prediction that the budget cannot finish, before any upload.

        Parameters
        ----------
        rows : ndarray, optional
            Distinct row numbers; the run's test rows unless it is said.

        Raises
        ------
        PrivacyError
            Says how far the budget goes.
        """
        if not self.budget:
            return
        after = self.predicted(rows)
        if not self.budget.allows(after):
            sent = self.budget.noised(self.counts())
            raise PrivacyError(
                f"{self._who} has sent {sent} noised {self.budget.unit}; target-epsilon "
                f"{self.budget.cfg.target_epsilon:g} allows {self.budget.most}, and these rows "
                f"take {self.budget.noised(after) - sent} more: predict fewer, or train with a "
                "larger dp-sigma"
            )

    def noise(self) -> Noise | None:
        """Return the noise and epsilon of uploads; None without noise."""
        if not self.budget:
            return None
        return Noise(self.budget.sigma, self.budget.epsilon(self.counts()))

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Clip, noise and count an upload of columns."""
        if self.budget is None or not declared.of_columns:
            return upload
        if upload.message is not None:
            raise PrivacyError(f"{self._who} would noise an upload that is compressed already")
        if upload.weight != 1 and self.party.cfg.noise_distributed:
            raise PrivacyError(
                f"{self._who} would add its share of the noise to an upload of weight "
                f"{upload.weight}, which the others' shares do not have"
            )
        self._purpose = declared.purpose
        sent = self.upload(upload.values, self._repeatable(declared), declared.masked)
        return replace(upload, values=sent, noise=self.budget.mechanism_of(declared.masked).width)

    def check_in(self) -> None:
        """Refuse a prediction that the budget does not last for."""
        if self.party.cfg.task == "predict":
            self.afford()

    def admit(self, declared: Phase) -> None:
        """Refuse a phase whose upload the budget cannot pay, before it starts.

        Raises
        ------
        PrivacyError
            If it is spent; the text depends on the count alone.
        """
        self._earlier, self.repeats = None, False
        if self.budget is None or not declared.of_columns:
            return
        path, rank = self._uploads.path, self.party.rank
        if self._repeatable(declared) and (earlier := read_last(path, self._request, rank)):
            self._earlier = earlier
            self.repeats = earlier["count"] <= self.counts().total()
        if not self.repeats and not self.budget.allows(self._after(declared)):
            raise self._spent()

    def _repeatable(self, declared: Phase) -> bool:
        """Tell whether an upload may be sent again; shares must be fresh."""
        share = declared.masked and self.party.cfg.noise_distributed
        return declared.repeatable and not (self.predicts or share)

    def _after(self, declared: Phase) -> Counts:
        """Return the counts as the upload of a phase would leave them."""
        return self._uploads.after(declared.purpose, self.party.received.rows)

    def adds(self, declared: Phase) -> int:
        """Count the noised uploads, or mechanisms of a row, of a phase."""
        assert self.budget is not None  # noqa: S101  its caller has looked
        return self.budget.noised(self._after(declared)) - self.budget.noised(self.counts())

    def upload(self, x: Tensor, repeatable: bool = False, masked: bool = False) -> Tensor:
        """Clip, noise and count one upload that depends on columns.

        Parameters
        ----------
        x : Tensor
            All that the phase sends, of any shape, float32.
        repeatable : bool
            Whether the same request, made once more right away, even by a resumed run, is answered
            with the same noise, at no cost: for methods that could not do with less.
        masked : bool
            Whether others see the sum over all parties alone.

        Returns
        -------
        Tensor
            Same shape; clipped and noised, or `x` itself where the run says so; float64 with a
            share of distributed noise.

        Raises
        ------
        PrivacyError
            If the request has had an upload already, or the budget is spent. Neither depends on
            `x`: one that is not finite is sent as noise alone, and counted.
        """
        if self.budget is None:
            return x
        if self._answered is self.party.received:
            raise PrivacyError(f"{self._who} would answer one request with two uploads")
        kind = self._purpose
        released = self._earlier["sent"] if self._earlier else None
        if released is None:
            released = self._released(x, kind, masked)
            if repeatable:  # before it is counted, so that no count is for nothing
                count = self.counts().total() + 1
                write_last(self._uploads.path, self._request, count, released)
        rows, allowed = self.party.received.rows, self.budget.allows
        if not self.repeats and not self._uploads.add(kind, rows, allowed):
            raise self._spent()
        self._answered, self._earlier = self.party.received, None
        if kind == "training":
            self._sent = released.float()
        return released

    def _spent(self) -> PrivacyError:
        """Return the one refusal of an upload."""
        assert self.budget is not None  # noqa: S101  its callers have looked
        return PrivacyError(
            f"{self._who} has spent its privacy budget: target-epsilon "
            f"{self.budget.cfg.target_epsilon:g} allows {self.budget.most} {self.budget.unit}"
        )

    def _released(self, x: Tensor, kind: str, masked: bool) -> Tensor:
        """Clip and noise an upload, if its kind is noised."""
        assert self.budget is not None  # noqa: S101  `upload` has looked
        return self.budget.mechanism_of(masked).release(x) if self.budget.noises(kind) else x

    @property
    def _request(self) -> str:
        return f"{self.party.received.phase} {self.party.received.digest.hex()}"

    def sent(self, x: Tensor) -> Tensor:
        """Return the last training upload as others received it.

        That is `x` without noise.

        Methods whose next step depends on what the active party has got need it.
        """
        return x if self._sent is None else self._sent

    def pass_figure(self) -> None:
        """Refuse numbers about columns that are sent without noise.

        Raises
        ------
        PrivacyError
            If uploads are noised.
        """
        if self.budget:
            raise PrivacyError(
                f"{self._who} would answer '{self.party.received.phase}' without noise; nothing "
                "was sent"
            )

    def failure(self, error: Exception) -> Exception:
        """Replace an error that may depend on columns by one text.

        Without noise it is the error itself, and so is one of `TOLD`.
        """
        return error if self.budget is None else without_columns(error, self.party.rank)

    def begin(self) -> None:
        """Make the count's file, without which no checkpoint is written; see `Uploads.begin`."""
        if self.budget:
            self._uploads.begin()

    def state_dict(self) -> State:
        """Return the last upload, and a lower limit of the count.

        The floor is None before the count's file is made.
        """
        known = self._uploads.known if self.budget else None
        return {"counts": None if known is None else dict(known), "sent": self._sent}

    def load_state_dict(self, state: State) -> None:
        """Compare the memory with the count, which is never taken back.

        Raises
        ------
        PrivacyError
            If the party's file is gone, or knows of fewer uploads than there were.
        """
        if self.budget and state["counts"] is not None:
            self._uploads.expect(Counts(state["counts"]))
        self._sent = state["sent"]
