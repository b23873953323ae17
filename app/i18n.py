"""The app's own texts in English and Chinese; the page takes the browser's language."""

from __future__ import annotations

import gradio as gr

POLICY_TEXTS = {
    "threshold": ("threshold (paper)", "阈值（论文）"),
    "best_k": ("best k", "最优 k 个"),
    "mean_probability": ("mean probability", "平均概率"),
    "mean_entropy": ("mean entropy", "平均熵"),
    "margin": ("margin", "间隔"),
    "left_to_right": ("left to right", "从左到右"),
    "random_slots": ("random", "随机"),
    "dependency_aware": ("dependency-aware", "考虑依赖"),
}
MAIN_TEXTS = POLICY_TEXTS | {
    "subtitle": (
        "see a language model write many parts of an answer at once",
        "看语言模型如何同时写出回答的多个部分",
    ),
    "nav": (
        "[Decode](./) [Lessons](lessons) [Race](race) [Compare](compare) [Research](research) [About](about)",
        "[解码](./) [课程](lessons) [比赛](race) [比较](compare) [研究](research) [关于](about)",
    ),
    "prompt": ("Prompt", "提示词"),
    "prompt_placeholder": (
        "Ask for a small Python function, a sum step by step, or JSON from a sentence",
        "让模型写一个小的 Python 函数、分步计算，或把一句话转成 JSON",
    ),
    "run": ("Run", "运行"),
    "stop": ("Stop", "停止"),
    "recorded": ("Examples", "示例"),
    "prompts": ("Prompts to try", "可以试试的提示词"),
    "settings": ("Decode settings", "解码设置"),
    "preset": ("Preset", "预设"),
    "balanced": ("Balanced", "均衡"),
    "careful": ("Careful", "谨慎"),
    "fast": ("Fast", "快速"),
    "one_slot": ("One slot at a time", "每次一个槽"),
    "slow_motion": ("Slow motion", "慢动作"),
    "paper": ("Paper's settings", "论文设置"),
    "paper_none": ("none", "无"),
    "paper_info": (
        "As in the paper for this benchmark, with 512 tokens",
        "与论文在该基准上的设置相同，长度 512 token",
    ),
    "paper_scaled": (
        "Scaled to the bundled model's brief answers: 64 tokens instead of 512, slots of 4, as many slots per "
        "block as in the paper. Thresholds as in the paper; a small model is too sure of itself, so they "
        "choose more here.",
        "自带模型的回答较短，故按比例缩小：64 个 token（论文为 512），槽大小为 4，每块的槽数与论文相同。"
        "阈值与论文相同；小模型往往过于自信，因此每次会选中更多的槽。",
    ),
    "gen_length": ("Response length (tokens)", "回答长度（token）"),
    "gen_length_info": ("Rounded up to whole slots in every block", "向上取整到每块整数个槽"),
    "slot_size": ("Slot size (tokens)", "槽大小（token）"),
    "serial_blocks": ("Serial blocks", "串行块数"),
    "serial_blocks_info": ("Decoded one after the other", "逐块依次解码"),
    "slot_threshold": ("Slot threshold", "槽阈值"),
    "slot_threshold_info": ("Choose slots with a confidence above it", "选择置信度高于它的槽"),
    "token_threshold": ("Token threshold", "token 阈值"),
    "token_threshold_info": ("Accept tokens with a probability above it", "接受概率高于它的 token"),
    "temperature": ("Temperature", "温度"),
    "temperature_info": ("Noise on the plan's drafts; 0 is greedy", "规划草稿上的噪声；0 为贪心"),
    "seed": ("Seed", "随机种子"),
    "dependency": ("Dependency of slots", "槽之间的依赖"),
    "dependency_info": (
        "Attention is read off the plan; revealed and joint cost forwards of their own",
        "注意力直接取自规划；揭示与联合需要额外的前向",
    ),
    "attention": ("attention", "注意力"),
    "attention_heads": ("attention, by layer and head", "注意力，按层与头"),
    "revealed": ("revealed", "揭示"),
    "joint": ("joint, of the chosen slots", "联合（选中的槽）"),
    "policy": ("Policy", "选择策略"),
    "policy_info": ("How slots are chosen", "如何选择槽"),
    "policy_count": ("Slots per iteration", "每次迭代的槽数"),
    "policy_count_info": (
        "For best k, left to right, random",
        "用于最优 k 个、从左到右、随机",
    ),
    "dependency_limit": ("Dependency limit", "依赖上限"),
    "dependency_limit_info": (
        "For dependency-aware; 0 to 0.69",
        "用于考虑依赖；0 到 0.69",
    ),
    "recompute_infill": ("Recompute after infill", "填充后重新计算"),
    "recompute_infill_info": (
        "One more forward instead of reusing keys and values",
        "多一次前向，而不复用键值",
    ),
    "fork": ("Fork here", "从此处分叉"),
    "open": ("Open trace", "打开轨迹"),
}


Texts = dict[str, tuple[str, str]]


def translations(examples: dict[str, dict[str, str]], *more: Texts) -> gr.I18n:
    """The tables that Gradio sends to the page; ``examples`` are the titles of the recorded ones by name,
    ``more`` the texts of other pages, English and Chinese."""
    texts = MAIN_TEXTS.copy()
    for part in more:
        texts |= part
    english = {key: en for key, (en, _) in texts.items()}
    chinese = {key: zh for key, (_, zh) in texts.items()}
    for name, title in examples.items():
        english[name], chinese[name] = title["en"], title["zh"]
    return gr.I18n(en=english, zh=chinese, **{"zh-CN": chinese})
