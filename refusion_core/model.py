"""A compact causal decoder-only transformer: the Qwen3 block, or the Llama block without QK-norm.

Attention is causal in buffer order (the order in which tokens are fed), rotary positions are the true
positions of the tokens (paper, section 3). So tokens can be fed in any order over one cache. Parameter names
are those of Hugging Face checkpoints. Knows nothing of slots, masks as tokens, or text.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .cache import KVCache
from .config import ModelConfig


class AttentionWatcher(Protocol):
    """Sees the queries and keys of every layer of one forward."""

    def see(self, queries: Tensor, keys: Tensor, mask: Tensor | None) -> None:
        """queries [H, T, D], keys [H_kv, L, D], mask [T, L] of what may be seen (None: everything)."""


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps)


def rotary_angles(positions: Tensor, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotary angles, each [..., T, head_dim], float32."""
    exponents = torch.arange(0, head_dim, 2, device=positions.device, dtype=torch.float32)
    frequencies = theta ** (-exponents / head_dim)
    half = positions[..., None].float() * frequencies  # [..., T, head_dim / 2]
    angles = torch.cat((half, half), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply rotary positions to x [..., H, T, head_dim]; cos and sin [..., 1, T, head_dim]."""
    first, second = x.chunk(2, dim=-1)
    return x * cos.to(x.dtype) + torch.cat((-second, first), dim=-1) * sin.to(x.dtype)


class Attention(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = config.head_dim
        bias, hidden = config.attention_bias, config.hidden_size
        self.q_proj = nn.Linear(hidden, self.heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(self.heads * self.head_dim, hidden, bias=bias)
        norm = config.qk_norm
        self.q_norm = RMSNorm(self.head_dim, config.rms_norm_eps) if norm else nn.Identity()
        self.k_norm = RMSNorm(self.head_dim, config.rms_norm_eps) if norm else nn.Identity()

    def forward(
        self,
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        mask: Tensor | None,
        layer: int,
        cache: KVCache | None,
        watcher: AttentionWatcher | None,
    ) -> Tensor:
        batch, tokens, _ = x.shape
        shape = (batch, tokens, -1, self.head_dim)
        q = self.q_norm(self.q_proj(x).view(shape)).transpose(1, 2)  # [B, H, T, D]
        k = self.k_norm(self.k_proj(x).view(shape)).transpose(1, 2)  # [B, H_kv, T, D]
        v = self.v_proj(x).view(shape).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            keys, values = cache.append(layer, k[0], v[0])
            k, v = keys[None], values[None]  # [1, H_kv, length + T, D]
        if watcher is not None:
            watcher.see(q[0], k[0], mask)
        # Causal without a cache is the only case that needs no explicit mask: with one, is_causal would
        # align the queries with the oldest keys.
        out = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            is_causal=mask is None and cache is None,
            enable_gqa=self.heads != self.kv_heads,
        )
        return self.o_proj(out.transpose(1, 2).reshape(batch, tokens, -1))


class MLP(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = MLP(config)
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x: Tensor, *attention_args) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), *attention_args)
        return x + self.mlp(self.post_attention_layernorm(x))


class Backbone(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)


class Transformer(nn.Module):
    """The model: ``hidden`` and ``logits`` for batches, ``feed`` for a flat sequence over a cache."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.model = Backbone(config)
        if not config.tie_word_embeddings:
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    @property
    def device(self) -> torch.device:
        return self.model.norm.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.norm.weight.dtype

    def parameter_count(self) -> int:
        """Number of weights; tied ones count once."""
        return sum(p.numel() for p in self.parameters())

    def hidden(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
        watcher: AttentionWatcher | None = None,
    ) -> Tensor:
        """Final hidden states [B, T, hidden_size] of ids [B, T] at positions [B, T].

        mask: what each query may see, bool, broadcast to [B, H, T, L]. None is causal in feed order without
        a cache, and everything with one. With a cache, B is 1 and L = cache.length + T.
        """
        x = self.model.embed_tokens(ids)
        cos, sin = rotary_angles(positions, self.config.head_dim, self.config.rope_theta)
        cos, sin = cos[:, None], sin[:, None]  # [B, 1, T, head_dim]
        for number, block in enumerate(self.model.layers):
            x = block(x, cos, sin, mask, number, cache, watcher)
        return self.model.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Vocabulary logits [..., vocab_size] of hidden states [..., hidden_size]."""
        tied = self.config.tie_word_embeddings
        weight = self.model.embed_tokens.weight if tied else self.lm_head.weight
        return F.linear(hidden, weight)

    def new_cache(self, capacity: int) -> KVCache:
        """An empty cache for ``capacity`` tokens of this model."""
        return KVCache(
            layers=self.config.num_hidden_layers,
            kv_heads=self.config.num_key_value_heads,
            head_dim=self.config.head_dim,
            capacity=capacity,
            dtype=self.dtype,
            device=self.device,
        )

    @torch.no_grad()
    def feed(
        self,
        ids: list[int],
        positions: list[int],
        cache: KVCache,
        groups: list[int] | None = None,
        watcher: AttentionWatcher | None = None,
    ) -> Tensor:
        """Feed a flat sequence over the cache and append its entries; hidden states [T, hidden_size].

        A query sees the committed entries (group 0), those of its own group, and the earlier tokens of its
        own group in this sequence. Without ``groups`` all tokens are of group 0.
        """
        device = self.device
        group = torch.tensor(groups or [0] * len(ids), dtype=torch.long, device=device)
        mask = visibility(group, cache.groups) if len(ids) > 1 or groups else None
        hidden = self.hidden(
            torch.tensor([ids], device=device),
            torch.tensor([positions], device=device),
            mask,
            cache,
            watcher,
        )
        cache.advance(group)
        return hidden[0]


def visibility(query_groups: Tensor, cached_groups: Tensor) -> Tensor:
    """What each of T queries may see of the cached and the fed entries, bool [T, length + T]."""
    cached = (cached_groups == 0) | (cached_groups == query_groups[:, None])  # [T, length]
    fed = (query_groups == query_groups[:, None]).tril()  # [T, T]
    return torch.cat((cached, fed), dim=1)
