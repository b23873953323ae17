"""Going on from an iteration of a recorded run, with something changed. Knows no torch.

The state is rebuilt from the trace: what was committed, in which order, and which slots saw each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .config import DecodeConfig
from .errors import ConfigError
from .events import Commit, Event, Parent, RunFinished, RunStarted
from .trace import Trace

SAME_SLOTS = ("gen_length", "slot_size", "serial_blocks")  # they say what a slot is


@dataclass(frozen=True, kw_only=True)
class Fork:
    """Where a run goes on, and what is different in its first iteration.

    trace: the parent, a run of the ReFusion decoder
    iteration: the first one that is decoded anew
    force, forbid: slots that are chosen, or not, in that iteration, whatever their confidence
    write: tokens that fill slots, given by slot; that iteration then decodes these slots alone, and keeps the
        tokens whatever verify thinks of them

    Raises ConfigError for an iteration that the parent has not, or slots that are not masked there.
    """

    trace: Trace
    iteration: int
    force: tuple[int, ...] = ()
    forbid: tuple[int, ...] = ()
    write: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.trace.started.decoder != "refusion":
            raise ConfigError(
                "fork", self.trace.started.decoder, "is another decoder", "fork a ReFusion run"
            )
        numbers = {event.iteration for event in self.trace if event.iteration is not None}
        if self.iteration not in numbers:
            raise ConfigError(
                "fork iteration",
                self.iteration,
                "is not in the trace",
                f"give 0 to {max(numbers, default=0)}",
            )
        masked = self.remaining
        for name in ("force", "forbid", "write"):
            wrong = [slot for slot in getattr(self, name) if slot not in masked]
            if wrong:
                raise ConfigError(
                    f"fork {name}", wrong, "is not masked there", f"give some of {masked}"
                )
        self._check_written()
        both = set(self.force) & set(self.forbid)
        if both or set(self.forbid) == set(masked):
            raise ConfigError(
                "fork forbid", sorted(both or self.forbid), "leaves no choice", "forbid fewer"
            )

    def _check_written(self) -> None:
        if self.write and (self.force or self.forbid):
            raise ConfigError(
                "fork write",
                sorted(self.write),
                "is given with slots to force or forbid",
                "write in one fork, force or forbid in the next",
            )
        size, mask = self.trace.started.settings.slot_size, self.trace.started.model.mask_id
        for slot, tokens in self.write.items():
            if len(tokens) != size or mask in tokens:
                raise ConfigError(
                    "fork write",
                    f"slot {slot}: {len(tokens)} tokens",
                    f"does not fill a slot of {size}",
                    f"give {size} tokens other than the mask",
                )

    @property
    def parent(self) -> Parent:
        """What the new run's first event says about it."""
        return Parent(
            run_id=self.trace.started.run_id,
            iteration=self.iteration,
            force=self.force,
            forbid=self.forbid,
            written=tuple(sorted(self.write)),
        )

    @property
    def config(self) -> DecodeConfig:
        """The settings of the parent."""
        settings = self.trace.started.settings
        given = {name: getattr(settings, name) for name in DecodeConfig().to_dict()}
        return DecodeConfig(**{name: value for name, value in given.items() if value is not None})

    @property
    def block(self) -> int:
        """The serial block of the iteration."""
        return next(e.block for e in self.trace if e.iteration == self.iteration)

    @property
    def remaining(self) -> list[int]:
        """The slots of the block that are still masked, in position order."""
        started = self.trace.started
        per_block = started.slot_count // started.settings.serial_blocks
        gone = {slot.slot for commit in self.commits() for slot in commit.slots}
        gone |= {slot for commit in self.commits() for slot in commit.dropped_slots}
        return [
            s for s in range(self.block * per_block, (self.block + 1) * per_block) if s not in gone
        ]

    def commits(self) -> Iterator[Commit]:
        """The commits before the iteration."""
        return (event for event in self.past() if isinstance(event, Commit))

    def past(self) -> Iterator[Event]:
        """The parent's events before the iteration, but for its first."""
        for event in self.trace:
            if isinstance(event, RunFinished) or event.iteration == self.iteration:
                return
            if not isinstance(event, RunStarted):
                yield event

    def check(self, config: DecodeConfig) -> None:
        """Raises ConfigError where ``config`` cuts the response into other slots than the parent's."""
        for name in SAME_SLOTS:
            mine, theirs = getattr(config, name), getattr(self.config, name)
            if mine != theirs:
                raise ConfigError(name, mine, "is not that of the forked run", f"give {theirs}")
