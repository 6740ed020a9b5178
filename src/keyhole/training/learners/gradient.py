"""What learners that train a network by gradient descent share: settings, steps, readings, and what they refuse."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from keyhole.errors import ArgumentError
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.observation import Observer
from keyhole.training.task import ProblemSize

Same = TypeVar("Same", bound="GradientLearner")  # the run-time checker reads no Self here


@dataclass(frozen=True)
class GradientLearner:
    """Settings of a network and of its training; readings of the hidden part are taken where there is an observer."""

    settings: TransformerSettings = field(default_factory=TransformerSettings)
    observer: Observer | None = field(default=None, compare=False, repr=False)
    packages: ClassVar[tuple[str, ...]] = ("jax", "jaxlib", "optax", "numpy")
    bears_noise: ClassVar[bool] = True

    @property
    def numerics(self) -> int:
        """2 where weights of attention are dropped: those to drop were drawn by other bits before. Else 1."""
        return 2 if self.settings.attention_dropout else 1

    @property
    def steps(self) -> int:
        """At most so many steps of gradient descent."""
        return self.settings.steps

    def with_steps(self: Same, steps: int) -> Same:  # noqa: PYI019
        """The same settings but for the steps, rounded up to whole stretches between readings."""
        stretches = max(1, -(-steps // self.settings.every))
        return replace(self, settings=replace(self.settings, steps=stretches * self.settings.every))

    def with_observer(self: Same, observer: Observer) -> Same:  # noqa: PYI019
        """The same settings, with readings on a probe: accuracy, Fourier weight, of one layer attention too."""
        return replace(self, observer=observer)

    def validate(self, size: ProblemSize, *, online: bool) -> None:  # noqa: ARG002  (any size will do)
        """Refuse fresh samples that are to come all at once."""
        if online and not self.settings.batch:
            raise ArgumentError(
                "Fresh samples were asked for with a batch of 0, the whole training set; there is none. Give sample "
                "sizes, or choose settings with a batch of at least 1."
            )
