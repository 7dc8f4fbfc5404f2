r"""What the objectives of `regrax.training` ask of a learner with trained parameters."""

from abc import abstractmethod
from typing import Any, ClassVar

from jaxtyping import Array, Float

from regrax.learners import Learner

Batch = Float[Array, "T d n"]


class TrainableLearner(Learner):
    r"""A learner with parameters to train: besides playing round by round it maps whole batches at once.

    Batches keep the sequence axis last, where it is contiguous: `losses[t, j, n]` is the loss of action $j$ in
    round $t$ of sequence $n$. `policies` (the training form) and `policy` with `update` (the playing form) agree
    to rounding, or up to the projection that play adds on the ball. Every array leaf is a trained parameter;
    everything else is static.
    """

    name: ClassVar[str]  # of the kind of model, in checkpoints, `str` and `MODELS`

    @property
    @abstractmethod
    def actions(self) -> int:
        """How many actions $d$ the parameters are for."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Constructor arguments besides `key`, kept in checkpoints: with the parameters they are the whole model."""

    @abstractmethod
    def policies(self, losses: Batch) -> Batch:
        r"""The training form: $\pi_t$ of every round and sequence, from rounds $1..t-1$ of `losses`."""

    def __str__(self) -> str:
        return f"{self.name}({self.actions})"
