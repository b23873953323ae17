"""``decode``: from a checkpoint and a prompt to events. The one place where text meets the decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .baselines import AutoregressiveDecoder, MaskedDiffusionDecoder
from .checkpoint import Checkpoint
from .config import (
    AnyDecodeConfig,
    AutoregressiveConfig,
    DecodeConfig,
    MaskedDiffusionConfig,
    RecordConfig,
)
from .decoder import SlotDecoder
from .errors import ConfigError, PromptError
from .events import Event
from .fork import Fork

_DECODERS = {
    DecodeConfig: SlotDecoder,
    AutoregressiveConfig: AutoregressiveDecoder,
    MaskedDiffusionConfig: MaskedDiffusionDecoder,
}


def decode(
    checkpoint: Checkpoint,
    *,
    prompt: str | None = None,
    prompt_ids: Iterable[int] | None = None,
    config: AnyDecodeConfig | None = None,
    record: RecordConfig | None = RecordConfig(),  # noqa: B008 (frozen)
    should_stop: Callable[[], bool] | None = None,
    fork: Fork | None = None,
) -> Iterator[Event]:
    """Decode a prompt; yields events, the last one ``run_finished``.

    prompt goes through the chat template; prompt_ids are used as they are. Give one of them.
    config: its type says which decoder; without one it is ReFusion's with its defaults.
    record: None yields ``run_started`` and ``run_finished`` only and computes nothing for watching.
    should_stop: asked before every forward; a stopped run still ends with ``run_finished``.
    fork: instead of a prompt: go on from an iteration of a recorded run. Its events up to there come first, so
        the new run is whole; ``config`` is the parent's unless given.

    Raises PromptError at once when the prompt cannot be used.
    """
    if fork is not None:
        started = fork.trace.started
        if prompt is not None or prompt_ids is not None:
            raise PromptError("prompt", prompt, "is given with a fork", "give one of the two")
        prompt_ids, config = started.prompt_ids, config or fork.config
        if not isinstance(config, DecodeConfig):
            raise ConfigError("config", config, "is of another decoder", "give a DecodeConfig")
        fork.check(config)
    if (prompt is None) == (prompt_ids is None):
        given = {"prompt": prompt, "prompt_ids": prompt_ids}
        raise PromptError("prompt", given, "is not one of two", "give prompt or prompt_ids")
    ids = (
        checkpoint.encode_prompt(prompt) if prompt_ids is None else checkpoint.check_ids(prompt_ids)
    )
    config = config or DecodeConfig()
    longest = checkpoint.model.config.max_position_embeddings
    if len(ids) + config.padded_length > longest:
        raise PromptError(
            "prompt and gen_length",
            f"{len(ids)} + {config.padded_length} tokens",
            f"exceed the model's {longest} positions",
            "shorten the prompt or gen_length",
        )
    has_tokenizer = checkpoint.tokenizer is not None
    return _DECODERS[type(config)](
        checkpoint.model,
        checkpoint.facts,
        prompt_ids=ids,
        config=config,
        record=record,
        describe=checkpoint.describe if has_tokenizer else None,
        to_text=checkpoint.decode_text if has_tokenizer else None,
        prompt_text=prompt if fork is None else started.prompt_text,
        should_stop=should_stop,
        **({"fork": fork} if fork else {}),
    ).run()
