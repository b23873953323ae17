"""What several commands share: options, each with its help once, the decode settings made of them, and files
that are written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TextIO

import typer

from .config import (
    LAYOUTS,
    AnyDecodeConfig,
    AutoregressiveConfig,
    DecodeConfig,
    MaskedDiffusionConfig,
)
from .errors import ConfigError, PromptError
from .selection import known_policies

DEFAULTS = DecodeConfig()

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Model = Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')]
Device = Annotated[str, typer.Option(help='"auto" or a torch device.')]
Decoder = Annotated[
    str,
    typer.Option(help="refusion, ar (autoregressive) or mdm (masked diffusion), same weights."),
]
GenLength = Annotated[int, typer.Option(help="Response length in tokens.")]
SlotSize = Annotated[
    int | None,
    typer.Option(
        help=f"Tokens per slot ({DEFAULTS.slot_size}); ar: a mask is asked at every so many tokens "
        f"({AutoregressiveConfig().slot_size}), 0 for a model of plain next tokens."
    ),
]
SerialBlocks = Annotated[
    int | None,
    typer.Option(
        help=f"Groups of slots (mdm: of tokens) decoded in turn ({DEFAULTS.serial_blocks}; mdm: 1)."
    ),
]
SlotThreshold = Annotated[float, typer.Option(help="Choose slots with a confidence above this.")]
TokenThreshold = Annotated[float, typer.Option(help="Accept tokens with a probability above this.")]
Temperature = Annotated[float, typer.Option(help="Noise on the plan's drafts; 0 is greedy.")]
Seed = Annotated[int, typer.Option(help="Seed of that noise.")]
Policy = Annotated[str, typer.Option(help=f"How slots are chosen: {', '.join(known_policies())}.")]
PolicyCount = Annotated[int, typer.Option(help="Slots that policies choose that choose a number.")]
DependencyLimit = Annotated[
    float, typer.Option(help="dependency_aware: most dependency of two chosen slots.")
]
RecomputeInfill = Annotated[
    bool, typer.Option(help="Compute entries of slots infilled together anew instead of reusing.")
]
TokensPerStep = Annotated[int, typer.Option(help="mdm: tokens committed per step.")]
ConfidenceThreshold = Annotated[
    float | None, typer.Option(help="mdm: commit all tokens above this instead.")
]
Layout = Annotated[str, typer.Option(help=f"mdm: how tokens are fed, {' or '.join(LAYOUTS)}.")]


def decode_config(
    decoder: str,
    *,
    gen_length: int,
    slot_size: int | None,
    serial_blocks: int | None,
    slot_threshold: float,
    token_threshold: float,
    temperature: float = 0.0,
    seed: int = 0,
    policy: str = "threshold",
    policy_count: int = 1,
    dependency_limit: float = DEFAULTS.dependency_limit,
    recompute_infill: bool = False,
    tokens_per_step: int,
    confidence_threshold: float | None,
    layout: str,
) -> AnyDecodeConfig:
    """The settings for a decoder by name. Raises ConfigError on an unknown one or an impossible setting."""
    if decoder == "refusion":
        return DecodeConfig(
            gen_length=gen_length,
            slot_size=DEFAULTS.slot_size if slot_size is None else slot_size,
            serial_blocks=DEFAULTS.serial_blocks if serial_blocks is None else serial_blocks,
            slot_threshold=slot_threshold,
            token_threshold=token_threshold,
            temperature=temperature,
            seed=seed,
            policy=policy,
            policy_count=policy_count,
            dependency_limit=dependency_limit,
            recompute_infill=recompute_infill,
        )
    if decoder == "ar":
        every = AutoregressiveConfig().slot_size if slot_size is None else slot_size or None
        return AutoregressiveConfig(gen_length=gen_length, slot_size=every)
    if decoder == "mdm":
        return MaskedDiffusionConfig(
            gen_length=gen_length,
            serial_blocks=1 if serial_blocks is None else serial_blocks,
            tokens_per_step=tokens_per_step,
            confidence_threshold=confidence_threshold,
            layout=layout,
        )
    raise ConfigError("decoder", decoder, "is unknown", "give refusion, ar or mdm")


def open_for_writing(path: Path, option: str, mode: str = "w") -> TextIO:
    """The file that an option names, opened. Raises PromptError where it cannot be written."""
    try:
        return path.open(mode, encoding="utf-8")
    except OSError as problem:
        raise PromptError(
            option, str(path), f"cannot be written ({problem.strerror})", "check the folder"
        ) from None
