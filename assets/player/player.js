/**
 * The player of ReFusion decoding: it reads the events of one run (JSON Lines, see docs/trace-format.md),
 * folds them into the state at a cursor, and draws that state. Everything is drawn from the events alone.
 *
 * One plain script: no framework, no network, no build step. `RefusionPlayer.mount(element, options)` is all it
 * exposes. Model text reaches the page through textContent only.
 *
 * Order of this file: constants and texts, trace and fold (no DOM), views, transport, mount.
 */
(function () {
  "use strict";

  // ------------------------------------------------------------------------------------------- constants

  const SCHEMA_VERSION = 1;
  const MAX_TRACE_CHARACTERS = 200 * 1024 * 1024;
  const MAX_RESPONSE_TOKENS = 65536;
  const KEYFRAME_EVENTS = 48;
  const SPEEDS = [0.5, 1, 2, 4];
  const SCOREBOARD_ROWS = 64;
  const CELL_TEXT_LIMIT = 160;
  const GAP_REPEAT_MS = 2000;
  const MASK_DOT = "•"; // unlike the middle dot that stands for a space

  /** What a response position looks like at the cursor. */
  const CELL = Object.freeze({
    MASKED: 0, CANDIDATE: 1, DRAFTED: 2, FIRST: 3, ACCEPTED: 4, REJECTED: 5, BEHIND: 6, FORCED: 7,
    COMMITTED: 8, DROPPED: 9, CUT: 10,
  });
  const CELL_NAMES = [
    "masked", "candidate", "drafted", "first", "accepted", "rejected", "behind", "forced", "committed",
    "dropped", "cut",
  ];
  const CELL_OF_STATUS = {
    first: CELL.FIRST, accepted: CELL.ACCEPTED, rejected: CELL.REJECTED, behind: CELL.BEHIND,
    forced: CELL.FORCED,
  };

  /** What a slot is doing at the cursor. FRESH: committed by this very iteration. OPEN: the run ended before. */
  const SLOT = Object.freeze({
    MASKED: 0, CANDIDATE: 1, CHOSEN: 2, PASSED: 3, INFILL: 4, RETURNED: 5, FRESH: 6, COMMITTED: 7, PARTIAL: 8,
    DROPPED: 9, OPEN: 10,
  });
  const SLOT_NAMES = [
    "masked", "candidate", "chosen", "passed", "infill", "returned", "fresh", "committed", "partial", "dropped",
    "open",
  ];

  const ORIGINS = ["none", "plan", "verified", "infill", "forced", "next"];
  const PHASES = ["plan", "verify", "infill_predict", "infill_verify", "ar", "mdm"];

  /** Milliseconds an event stays at speed 1. */
  const PACE = {
    run_started: 700, vocabulary: 0, forward: 90, plan: 480, dependency: 40, verify: 480, infill_round: 330,
    commit: 380, cache: 90, run_finished: 0,
  };

  /**
   * What of an event is drawn, and so must be there: [x] is a list of x, "slot" a slot number of the run, and a
   * name with "?" may be missing. The strict check is the core's; this one keeps a damaged file from breaking the
   * page.
   */
  const NUMBERS = ["number"];
  const ALTERNATIVES = [[NUMBERS]];
  const SHAPES = {
    run_started: {
      schema_version: "number", model: { eos_id: "number" }, prompt_ids: NUMBERS,
      settings: {
        slot_size: "number", serial_blocks: "number", slot_threshold: "number", token_threshold: "number",
      },
      response_start: "number", response_length: "number", slot_count: "number", "prompt_text?": "string",
      "notices?": ["string"],
    },
    vocabulary: { tokens: [{ id: "number", text: "string" }] },
    forward: {
      phase: "string", segments: [{ kind: "string", tokens: "number" }], tokens_computed: "number",
      cache_hits: "number",
    },
    plan: {
      slots: [{
        slot: "slot", confidence: "number", rank: "number", tokens: NUMBERS, probabilities: NUMBERS,
        "alternatives?": ALTERNATIVES, "mask_offsets?": NUMBERS,
      }],
      chosen_slots: ["slot"],
    },
    verify: {
      slots: [{
        slot: "slot", tokens: NUMBERS, probabilities: NUMBERS, statuses: ["string"], accepted_run: "number",
      }],
    },
    infill_round: {
      slots: [{
        slot: "slot", run_before: "number", run_after: "number", tokens: NUMBERS, predicted: NUMBERS,
        verified: NUMBERS, statuses: ["string"], "alternatives?": ALTERNATIVES, "mask_offsets?": NUMBERS,
      }],
      "straggler?": "slot",
    },
    commit: {
      slots: [{ slot: "slot", tokens: NUMBERS, positions: NUMBERS, cache_indexes: NUMBERS, origins: ["string"] }],
      "dropped_slots?": ["slot"], "eos_position?": "number",
    },
    cache: { discarded: "number" },
    dependency: { rows: ["slot"], columns: ["slot"], matrix: [NUMBERS], prompt: NUMBERS },
    run_finished: {
      stats: {
        iterations: "number", committed_tokens: "number", forwards: "number", tokens_per_forward: "number",
        cache_hit_rate: "number",
      },
    },
  };

  /** Lists that go together, entry by entry. */
  const PARALLEL = {
    plan: ["tokens", "probabilities"],
    verify: ["tokens", "probabilities", "statuses"],
    infill_round: ["predicted", "verified", "statuses"],
    commit: ["tokens", "positions", "origins"],
  };

  // ----------------------------------------------------------------------------------------------- texts
  // {name} is a value, {n?one:many} a plural, [term] or [term|shown words] a word with a definition on hover.

  const TEXTS = {
    en: {
      "player": "Decoding player",
      "prompt": "Prompt",
      "prompt.empty": "empty prompt",
      "prompt.more": "Show all",
      "prompt.less": "Show less",
      "stage": "Response · slots in reading order",
      "timeline": "Timeline · slots × iterations",
      "cache": "Cache",
      "scoreboard": "Scoreboard · plan of iteration {i}",
      "scoreboard.none": "Scoreboard",
      "scoreboard.threshold": "threshold {p}",
      "scoreboard.empty": "The plan of an iteration shows every remaining slot here.",
      "scoreboard.more": "{n} more, the highest {p}",
      "dependency": "Dependency · slot on slot",
      "dependency.none": "No dependency was recorded for this iteration.",
      "dependency.caption":
        "Iteration {i}: attention mass in the plan forward (mean over layers and heads), row on column. " +
        "Amber: chosen. Darkest: {p}.",
      "dependency.head": "prompt",
      "dependency.cell": "slot {row} on slot {column}: {p}",
      "dependency.prompt": "slot {row} on the prompt: {p}",
      "answer": "Answer as text",
      "answer.pending": "Shown when the run ends.",
      "answer.broken": "No answer: the events end before the run does.",
      "answer.empty": "Empty answer: the first token is eos.",
      "answer.none": "No text: the run had no tokenizer.",
      "empty.title": "Nothing to play yet",
      "empty.body": "Open a recorded trace or run a prompt.",
      "waiting.title": "Waiting for the first event",
      "waiting.body": "The model is reading the prompt.",
      "narration.idle": "Narration of the current event",
      "where.iteration": "Iteration {i} · {phase}",
      "where.start": "Start",
      "where.end": "End",
      "count": "event {i} / {n}",
      "status.iteration": "iteration {i} / {n}",
      "status.live": "iteration {i}",
      "status.forward": "forward {f}",
      "phase.run_started": "start", "phase.vocabulary": "token texts", "phase.forward": "forward",
      "phase.plan": "plan", "phase.verify": "verify", "phase.infill_round": "infill, round {r}",
      "phase.commit": "commit", "phase.cache": "cache", "phase.dependency": "dependency",
      "phase.run_finished": "end",
      "forward.plan": "plan", "forward.verify": "verify", "forward.infill_predict": "infill, predict",
      "forward.infill_verify": "infill, verify", "forward.ar": "autoregressive",
      "forward.mdm": "masked diffusion",
      "decoder.refusion": "ReFusion", "decoder.ar": "Autoregressive", "decoder.mdm": "Masked diffusion",
      "block": "block {b}",
      "slot": "slot {s}", "slots": "slots {s}", "and": " and ", "comma": ", ", "some": "{s} and {more} more",
      "facts":
        "{decoder} · {model} · {slots} {slots?slot:slots} of {size} · {blocks} {blocks?block:blocks} · " +
        "slot threshold {slot} · token threshold {token}",
      "facts.tokens": "{decoder} · {model} · {slots} {slots?token:tokens} · {blocks} {blocks?block:blocks} · {rule}",
      "rule.next": "one token per forward", "rule.count": "{n} {n?token:tokens} per forward",
      "rule.threshold": "confidence threshold {p}",
      "tag.chosen": "chosen {p}", "tag.best": "best of none {p}", "tag.passed": "accepted",
      "tag.infill": "infill {run} / {size}", "tag.slowest": "infill {run} / {size}, slowest",
      "tag.complete": "infill complete", "tag.returned": "back to masks", "tag.fresh": "committed",
      "tag.dropped": "dropped after eos",
      "tag.open": "not decoded", "tag.partial": "{run} / {size}",
      "outcome.below": "below", "outcome.lower": "less sure", "outcome.chosen": "chosen", "outcome.best": "best of none",
      "outcome.accepted": "accepted", "outcome.complete": "complete", "outcome.infill": "infill {run} / {size}",
      "outcome.returned": "rejected", "outcome.behind": "behind the break",
      "outcome.dropped": "dropped", "outcome.committed": "committed",
      "legend.masked": "masked", "legend.candidate": "draft, not chosen", "legend.chosen": "chosen",
      "legend.rejected": "rejected", "legend.plan": "from the plan", "legend.verified": "verified",
      "legend.infill": "infilled", "legend.forced": "forced", "legend.dropped": "dropped after eos",
      "legend.confidence": "confidence", "legend.returned": "chosen, not committed",
      "legend.committed": "committed", "legend.rounds": "3r: infill rounds",
      "legend.reused": "reused", "legend.computed": "computed", "legend.infill_phase": "striped: infill",
      "legend.tpf": "line: tokens per forward so far",
      "numbers.tpf": "tokens / forward", "numbers.hits": "cache hits", "numbers.forwards": "forwards",
      "numbers.committed": "committed tokens",
      "totals": "reused {reused} · computed {computed} · discarded {discarded}",
      "strip.buffer": "Buffer order: as the cache holds it",
      "strip.text": "Text order",
      "strip.prompt": "prompt {n}",
      "timeline.cell": "slot {s}, iteration {i}: {what}",
      "timeline.hint": "Click a column to go to its iteration.",
      "cell.done": "committed before", "cell.dropped": "dropped after eos", "cell.later": "not in this block",
      "cell.confidence": "confidence {p}", "cell.chosen": "chosen",
      "cell.committed": "committed", "cell.returned": "back to masks",
      "cell.rounds": "{n} infill {n?round:rounds}",
      "ledger.bar": "forward {f} · {phase}: {computed} computed, {hits} reused · {tpf} tokens / forward so far",
      "ledger.hint": "One bar a forward. Click to go there.",
      "button.play": "Play", "button.pause": "Pause", "button.back": "Back one event",
      "button.forward": "Forward one event", "button.iterationBack": "Back one iteration",
      "button.iterationForward": "Forward one iteration", "button.scrub": "Position in the run",
      "button.speed": "Speed", "button.follow": "Following", "button.catchUp": "Catch up",
      "button.followTitle": "Stay at the newest event",
      "inspector.id": "id {id}", "inspector.position": "position {p}", "inspector.cache": "cache index {c}",
      "inspector.iteration": "committed in iteration {i}",
      "inspector.plan": "plan", "inspector.first": "first token, needs no check",
      "inspector.verify": "verify", "inspector.predict": "round {r}, predict",
      "inspector.check": "round {r}, verify", "inspector.forward": "forward {f}",
      "inspector.alternatives": "alternatives", "inspector.masked": "masked",
      "inspector.dropped": "dropped after eos", "inspector.cut": "committed, but after eos: not part of the text",
      "inspector.bytes": "{n} bytes, shown joined with its neighbours", "inspector.long": "{n} characters",
      "inspector.overMask": "the model proposed the mask; this is the best other token",
      "status.masked": "masked", "status.candidate": "draft of a slot not chosen", "status.drafted": "drafted",
      "status.first": "accepted, first token", "status.accepted": "accepted", "status.rejected": "rejected",
      "status.behind": "behind the rejection", "status.forced": "forced", "status.committed": "committed",
      "status.dropped": "dropped after eos", "status.cut": "dropped after eos",
      "origin.plan": "from the plan", "origin.verified": "verified", "origin.infill": "infilled",
      "origin.forced": "forced", "origin.next": "from the token before",
      "count.prompt": "{n} of the prompt", "count.mask": "{n} {n?mask:masks}",
      "count.draft": "{n} drafted {n?token:tokens}", "count.decoded": "{n} decoded {n?token:tokens}",
      "say.run_started":
        "{decoder} decoding of {length} tokens: {slots} {slots?[slot]:[slot|slots]} of {size} in {blocks} " +
        "[serial_block|serial {blocks?block:blocks}].",
      "say.thresholds":
        "A slot is [chosen] above [confidence] {slot}; a drafted token is accepted above probability {token}.",
      "say.rule.next": "Every forward decodes the next token, from left to right.",
      "say.rule.count": "Every forward computes everything anew and decodes the {n} most confident {n?token:tokens}.",
      "say.rule.threshold":
        "Every forward computes everything anew and decodes the tokens with a [confidence] above {p}, or the best one.",
      "say.vocabulary": "The texts of {n} token {n?id:ids} that come next.",
      "say.forward.plan": "Forward {f} for the [plan]: {parts} computed, {hits} [hit|cache entries] reused.",
      "say.forward.verify": "Forward {f} to [verify]: {parts} computed, {hits} [hit|cache entries] reused.",
      "say.forward.infill_predict":
        "Forward {f} of the [infill]: the masks are filled anew; {parts} computed, " +
        "{hits} [hit|cache entries] reused.",
      "say.forward.infill_verify":
        "Forward {f} of the [infill]: the filled tokens are verified; {parts} computed, " +
        "{hits} [hit|cache entries] reused.",
      "say.forward.ar": "Forward {f}: {parts} computed, {hits} [hit|cache entries] reused.",
      "say.forward.mdm": "Forward {f}: {parts} computed, {hits} [hit|cache entries] reused.",
      "say.plan.above":
        "The [plan] puts {n} of {m} remaining [slot|slots] above {threshold}: {list}. " +
        "{n?It is:They are} [chosen] and drafted.",
      "say.plan.next": "The next token has the probability {p}.",
      "say.plan.count": "Of {m} masked tokens the most confident {n?is:are} [chosen]: {list}.",
      "say.plan.best":
        "The [plan] puts no [slot] above {threshold}. Slot {slot} has the highest [confidence], {p}, and is " +
        "[chosen] alone.",
      "say.plan.mask": "At {n} {n?place:places} the model proposed the mask; the best other token was taken.",
      "say.verify.whole":
        "[verify|Read left to right], all {tokens} [draft|drafted] tokens pass: {slots} {n?is:are} accepted whole.",
      "say.verify.break":
        "[verify|Read left to right], the [draft] of slot {slot} breaks at {token} ({test}).",
      "say.verify.kept": "{kept} {k?is:are} accepted whole; {back} {b?goes:go} back to the masks.",
      "say.verify.infill_one": "No whole slot is accepted, so slot {slot} goes to [infill].",
      "say.verify.infill_many": "No whole slot is accepted, so all {n} chosen slots go to [infill].",
      "say.verify.eos":
        "[eos] is in the accepted prefix, in slot {slot}: {kept} {k?is:are} accepted up to it, and everything after " +
        "it is dropped.",
      "say.round.grow":
        "[infill|Infill] round {r}: slot {slot} grows from {before} to {after} of {size} tokens and breaks at " +
        "{token} ({test}).",
      "say.round.done":
        "[infill|Infill] round {r}: slot {slot} grows from {before} to {after} tokens and is complete.",
      "say.round.forced":
        "[infill|Infill] round {r}: in slot {slot} {token} does not pass ({test}); it is [forced], since a run " +
        "grows in every round. Now {after} of {size}.",
      "say.round.eos":
        "[infill|Infill] round {r}: slot {slot} accepts [eos] and ends there; everything after it is dropped.",
      "say.round.rest": "{slots} {n?is:are} still incomplete, slot {slowest} the furthest from done.",
      "say.commit":
        "[commit|Committed]: {slots}, {tokens} {tokens?token:tokens} ({origins}) at " +
        "[cache_index|cache {tokens?index:indexes}] {range}.",
      "say.commit.plain": "[commit|Committed]: {slots}, {tokens} {tokens?token:tokens} ({origins}).",
      "say.commit.early":
        "Further left, {slots} {n?is:are} still masked: the [commit_order|commit order] is not the text order.",
      "say.commit.eos": "[eos] is at position {p}; {n} {n?slot:slots} after it {n?is:are} dropped.",
      "say.commit.end": "[eos] is at position {p}.",
      "say.commit.cut": "[eos] is at position {p}; what was committed behind it is not part of the text.",
      "say.cache":
        "The [cache] now holds {length} entries. This iteration reused {reused}, computed {computed} and kept " +
        "{kept}; {discarded} were discarded.",
      "say.dependency":
        "In the plan forward, slot {row} puts {p} of its attention on slot {column}, the most from one slot on " +
        "another; on the prompt it puts {prompt}.",
      "say.dependency.prompt": "In the plan forward, slot {row} puts {prompt} of its attention on the prompt.",
      "say.end.eos": "Finished at [eos] after {i} {i?iteration:iterations}.",
      "say.end.length": "Finished: no slot remains after {i} {i?iteration:iterations}.",
      "say.end.stopped": "Stopped by you at iteration {i}; the masked slots were not decoded.",
      "say.end.error": "The run failed at iteration {i}: {error}",
      "say.end.sum": "{n} tokens in {f} forwards: {tpf} [tpf|tokens per forward], {hits} [hit|cache hits].",
      "say.end.empty": "The first token is eos: the answer is empty.",
      "problem.line": "Line {line} is damaged ({why}). It was left out; the rest is shown.",
      "problem.lines":
        "{n} lines are damaged, the first is line {line} ({why}). They were left out; the rest is shown.",
      "problem.newer":
        "This trace has schema version {found}, this player reads up to {known}. Open it with a newer version.",
      "problem.start": "There is no run_started event, so nothing can be shown. Export the trace again.",
      "problem.empty": "The trace is empty. Record a run first.",
      "problem.large": "The trace has {found} MB, the limit is {limit} MB. Record a shorter run.",
      "problem.response": "The run has {found} response tokens, the player shows up to {limit}.",
      "problem.gap": "Events {from} to {to} are missing.",
      "problem.partial": "The trace breaks off before the end of the run.",
      "problem.failed": "The run failed: {error}",
      "problem.seq": "event {seq} appears out of order",
      "why.json": "not JSON", "why.type": "unknown event type", "why.field": "field {field}",
      "term.slot": "A run of slot_size consecutive response positions: the unit of planning.",
      "term.serial_block": "A group of slots; the groups are decoded one after the other, left to right.",
      "term.plan": "One forward over all masked slots of the block: a draft and a confidence for each.",
      "term.draft": "The tokens that the plan proposes for a slot.",
      "term.confidence": "Slot confidence: the probability of the draft's first token in the plan forward.",
      "term.chosen":
        "Chosen: every slot whose confidence is above the slot threshold, or the single best one if none is.",
      "term.verify":
        "One causal forward over the concatenated drafts; a token passes if its probability, given the one " +
        "before it, is strictly above the token threshold.",
      "term.infill":
        "Rounds of filling and verifying, each chosen slot on its own, when verify accepts no whole slot.",
      "term.commit": "Tokens become final; their keys and values stay in the cache.",
      "term.commit_order": "The order of tokens in the cache: the prompt, then slots as they were decoded.",
      "term.cache": "The keys and values of the prompt and of all committed tokens, in commit order.",
      "term.cache_index": "The place of a token in the key/value cache (buffer order), not in the text.",
      "term.hit": "Key/value entries that a forward reads instead of computing.",
      "term.forced": "Accepted without passing, because every round must add at least one token.",
      "term.eos": "The end-of-sequence token; nothing after it belongs to the answer.",
      "term.tpf": "Committed response tokens divided by forwards of the model.",
    },
    zh: {
      "player": "解码播放器",
      "prompt": "提示词",
      "prompt.empty": "提示词为空",
      "prompt.more": "展开",
      "prompt.less": "收起",
      "stage": "回答 · 按阅读顺序排列的槽",
      "timeline": "时间线 · 槽 × 迭代",
      "cache": "缓存",
      "scoreboard": "评分板 · 第 {i} 次迭代的规划",
      "scoreboard.none": "评分板",
      "scoreboard.threshold": "阈值 {p}",
      "scoreboard.empty": "这里列出每次迭代规划中所有剩余的槽。",
      "scoreboard.more": "另有 {n} 个，最高 {p}",
      "dependency": "依赖 · 槽对槽",
      "dependency.none": "本次迭代没有记录依赖。",
      "dependency.caption":
        "第 {i} 次迭代：规划前向中的注意力质量（对层和头取平均），行对列。橙框：选中的槽。最深色：{p}。",
      "dependency.head": "提示词",
      "dependency.cell": "槽 {row} 对槽 {column}：{p}",
      "dependency.prompt": "槽 {row} 对提示词：{p}",
      "answer": "回答文本",
      "answer.pending": "运行结束后显示。",
      "answer.broken": "没有回答：事件在运行结束前中断。",
      "answer.empty": "回答为空：第一个 token 就是 eos。",
      "answer.none": "没有文本：本次运行未使用分词器。",
      "empty.title": "还没有可播放的内容",
      "empty.body": "打开一份录制好的轨迹，或运行一条提示词。",
      "waiting.title": "等待第一个事件",
      "waiting.body": "模型正在读取提示词。",
      "narration.idle": "当前事件的解说",
      "where.iteration": "第 {i} 次迭代 · {phase}",
      "where.start": "开始",
      "where.end": "结束",
      "count": "事件 {i} / {n}",
      "status.iteration": "迭代 {i} / {n}",
      "status.live": "迭代 {i}",
      "status.forward": "前向 {f}",
      "phase.run_started": "开始", "phase.vocabulary": "token 文本", "phase.forward": "前向",
      "phase.plan": "规划", "phase.verify": "验证", "phase.infill_round": "填充第 {r} 轮",
      "phase.commit": "提交", "phase.cache": "缓存", "phase.dependency": "依赖",
      "phase.run_finished": "结束",
      "forward.plan": "规划", "forward.verify": "验证", "forward.infill_predict": "填充·预测",
      "forward.infill_verify": "填充·验证", "forward.ar": "自回归", "forward.mdm": "掩码扩散",
      "decoder.refusion": "ReFusion", "decoder.ar": "自回归", "decoder.mdm": "掩码扩散",
      "block": "块 {b}",
      "slot": "槽 {s}", "slots": "槽 {s}", "and": "、", "comma": "、", "some": "{s} 等 {n} 个",
      "facts":
        "{decoder} · {model} · {slots} 个槽，每槽 {size} · {blocks} 个串行块 · 槽阈值 {slot} · token 阈值 {token}",
      "facts.tokens": "{decoder} · {model} · {slots} 个 token · {blocks} 个串行块 · {rule}",
      "rule.next": "每次前向一个 token", "rule.count": "每次前向 {n} 个 token", "rule.threshold": "置信度阈值 {p}",
      "tag.chosen": "选中 {p}", "tag.best": "均未过阈值，取最高 {p}", "tag.passed": "接受",
      "tag.infill": "填充 {run} / {size}", "tag.slowest": "填充 {run} / {size}，最慢",
      "tag.complete": "填充完成", "tag.returned": "退回掩码", "tag.fresh": "已提交", "tag.dropped": "eos 之后，丢弃",
      "tag.open": "未解码", "tag.partial": "{run} / {size}",
      "outcome.below": "未过阈值", "outcome.lower": "置信度较低", "outcome.chosen": "选中", "outcome.best": "取最高",
      "outcome.accepted": "接受", "outcome.complete": "填充完成", "outcome.infill": "填充 {run} / {size}",
      "outcome.returned": "拒绝", "outcome.behind": "在断点之后", "outcome.dropped": "丢弃", "outcome.committed": "已提交",
      "legend.masked": "掩码", "legend.candidate": "草稿，未选中", "legend.chosen": "选中",
      "legend.rejected": "拒绝", "legend.plan": "来自规划", "legend.verified": "经验证",
      "legend.infill": "填充所得", "legend.forced": "强制接受", "legend.dropped": "eos 之后，丢弃",
      "legend.confidence": "置信度", "legend.returned": "选中但未提交",
      "legend.committed": "已提交", "legend.rounds": "3r：填充轮数",
      "legend.reused": "复用", "legend.computed": "计算", "legend.infill_phase": "条纹：填充",
      "legend.tpf": "折线：累计每次前向的 token 数",
      "numbers.tpf": "token / 前向", "numbers.hits": "缓存命中", "numbers.forwards": "前向次数",
      "numbers.committed": "已提交 token",
      "totals": "复用 {reused} · 计算 {computed} · 丢弃 {discarded}",
      "strip.buffer": "缓冲区顺序：缓存中的实际顺序",
      "strip.text": "文本顺序",
      "strip.prompt": "提示词 {n}",
      "timeline.cell": "槽 {s}，第 {i} 次迭代：{what}",
      "timeline.hint": "点击某一列跳到该次迭代。",
      "cell.done": "此前已提交", "cell.dropped": "eos 之后，丢弃", "cell.later": "不在当前块",
      "cell.confidence": "置信度 {p}", "cell.chosen": "选中",
      "cell.committed": "已提交", "cell.returned": "退回掩码",
      "cell.rounds": "填充 {n} 轮",
      "ledger.bar": "前向 {f} · {phase}：计算 {computed}，复用 {hits} · 累计 {tpf} token / 前向",
      "ledger.hint": "每根柱是一次前向，点击可跳转。",
      "button.play": "播放", "button.pause": "暂停", "button.back": "后退一个事件",
      "button.forward": "前进一个事件", "button.iterationBack": "后退一次迭代",
      "button.iterationForward": "前进一次迭代", "button.scrub": "运行中的位置",
      "button.speed": "速度", "button.follow": "跟随中", "button.catchUp": "追上最新",
      "button.followTitle": "停在最新的事件上",
      "inspector.id": "id {id}", "inspector.position": "位置 {p}", "inspector.cache": "缓存下标 {c}",
      "inspector.iteration": "第 {i} 次迭代提交",
      "inspector.plan": "规划", "inspector.first": "首个 token，无需检验",
      "inspector.verify": "验证", "inspector.predict": "第 {r} 轮预测",
      "inspector.check": "第 {r} 轮验证", "inspector.forward": "前向 {f}",
      "inspector.alternatives": "备选", "inspector.masked": "掩码",
      "inspector.dropped": "eos 之后，丢弃", "inspector.cut": "已提交，但位于 eos 之后，不属于文本",
      "inspector.bytes": "{n} 个字节，与相邻 token 合并显示", "inspector.long": "{n} 个字符",
      "inspector.overMask": "模型提出的是掩码，这里取其余中最优的 token",
      "status.masked": "掩码", "status.candidate": "未选中的槽的草稿", "status.drafted": "草稿",
      "status.first": "接受（首个 token）", "status.accepted": "接受", "status.rejected": "拒绝",
      "status.behind": "位于被拒 token 之后", "status.forced": "强制接受", "status.committed": "已提交",
      "status.dropped": "eos 之后，丢弃", "status.cut": "eos 之后，丢弃",
      "origin.plan": "来自规划", "origin.verified": "经验证", "origin.infill": "填充所得",
      "origin.forced": "强制接受", "origin.next": "由前一 token 得出",
      "count.prompt": "{n} 个提示词 token", "count.mask": "{n} 个掩码", "count.draft": "{n} 个草稿 token", "count.decoded": "{n} 个已解码 token",
      "say.run_started":
        "{decoder} 解码 {length} 个 token：{slots} 个[slot|槽]，每槽 {size} 个，分为 {blocks} 个[serial_block|串行块]。",
      "say.thresholds": "[confidence|置信度]高于 {slot} 的槽会被[chosen|选中]；概率高于 {token} 的草稿 token 才被接受。",
      "say.rule.next": "每次前向从左到右解码下一个 token。",
      "say.rule.count": "每次前向全部重新计算，解码置信度最高的 {n} 个 token。",
      "say.rule.threshold": "每次前向全部重新计算，解码[confidence|置信度]高于 {p} 的 token，若没有则取最高的一个。",
      "say.vocabulary": "接下来用到的 {n} 个 token id 的文本。",
      "say.forward.plan": "第 {f} 次前向，用于[plan|规划]：计算 {parts}，复用 {hits} 个[hit|缓存条目]。",
      "say.forward.verify": "第 {f} 次前向，用于[verify|验证]：计算 {parts}，复用 {hits} 个[hit|缓存条目]。",
      "say.forward.infill_predict":
        "第 {f} 次前向，[infill|填充]：重新填入掩码处；计算 {parts}，复用 {hits} 个[hit|缓存条目]。",
      "say.forward.infill_verify":
        "第 {f} 次前向，[infill|填充]：验证填入的 token；计算 {parts}，复用 {hits} 个[hit|缓存条目]。",
      "say.forward.ar": "第 {f} 次前向：计算 {parts}，复用 {hits} 个[hit|缓存条目]。",
      "say.forward.mdm": "第 {f} 次前向：计算 {parts}，复用 {hits} 个[hit|缓存条目]。",
      "say.plan.above":
        "[plan|规划]后，{m} 个剩余[slot|槽]中有 {n} 个高于 {threshold}：{list}，于是被[chosen|选中]并起草。",
      "say.plan.next": "下一个 token 的概率为 {p}。",
      "say.plan.count": "{m} 个掩码 token 中[chosen|选中]置信度最高的 {n} 个：{list}。",
      "say.plan.best":
        "[plan|规划]后没有[slot|槽]高于 {threshold}；槽 {slot} 的[confidence|置信度]最高，为 {p}，单独[chosen|选中]。",
      "say.plan.mask": "有 {n} 处模型提出的是掩码本身，已改取其余中最优的 token。",
      "say.verify.whole": "[verify|从左到右读]，{tokens} 个[draft|草稿] token 全部通过：{slots} 整槽接受。",
      "say.verify.break": "[verify|从左到右读]，槽 {slot} 的[draft|草稿]断在 {token}（{test}）。",
      "say.verify.kept": "{kept} 整槽接受；{back} 退回掩码。",
      "say.verify.infill_one": "没有整槽被接受，槽 {slot} 进入[infill|填充]。",
      "say.verify.infill_many": "没有整槽被接受，{n} 个选中的槽全部进入[infill|填充]。",
      "say.verify.eos": "接受的前缀中出现 [eos]，在槽 {slot}：{kept} 接受到此为止，其后全部丢弃。",
      "say.round.grow":
        "[infill|填充]第 {r} 轮：槽 {slot} 从 {before} 增长到 {after} / {size} 个 token，断在 {token}（{test}）。",
      "say.round.done": "[infill|填充]第 {r} 轮：槽 {slot} 从 {before} 增长到 {after} 个 token，已完成。",
      "say.round.forced":
        "[infill|填充]第 {r} 轮：槽 {slot} 中 {token} 未通过（{test}），因每轮至少前进一个 token 而被[forced|强制接受]；" +
        "现为 {after} / {size}。",
      "say.round.eos": "[infill|填充]第 {r} 轮：槽 {slot} 接受了 [eos]，到此为止；其后全部丢弃。",
      "say.round.rest": "{slots} 尚未完成，其中槽 {slowest} 最慢。",
      "say.commit":
        "[commit|提交]：{slots}，共 {tokens} 个 token（{origins}），[cache_index|缓存下标] {range}。",
      "say.commit.plain": "[commit|提交]：{slots}，共 {tokens} 个 token（{origins}）。",
      "say.commit.early": "左边的{slots} 仍是掩码：[commit_order|提交顺序]不同于文本顺序。",
      "say.commit.eos": "[eos] 位于位置 {p}；其后 {n} 个槽被丢弃。",
      "say.commit.end": "[eos] 位于位置 {p}。",
      "say.commit.cut": "[eos] 位于位置 {p}；此前在其后提交的内容不属于文本。",
      "say.cache":
        "[cache|缓存]现有 {length} 个条目。本次迭代复用 {reused}，计算 {computed}，保留 {kept}，丢弃 {discarded}。",
      "say.dependency":
        "规划前向中，槽 {row} 把 {p} 的注意力放在槽 {column} 上，是槽对其他槽中最高的；对提示词为 {prompt}。",
      "say.dependency.prompt": "规划前向中，槽 {row} 把 {prompt} 的注意力放在提示词上。",
      "say.end.eos": "经过 {i} 次迭代，在 [eos] 处结束。",
      "say.end.length": "经过 {i} 次迭代，所有槽均已解码，结束。",
      "say.end.stopped": "在第 {i} 次迭代由你停止；仍为掩码的槽未解码。",
      "say.end.error": "运行在第 {i} 次迭代失败：{error}",
      "say.end.sum": "{f} 次前向得到 {n} 个 token：[tpf|每次前向 {tpf} 个 token]，[hit|缓存命中] {hits}。",
      "say.end.empty": "第一个 token 就是 eos：回答为空。",
      "problem.line": "第 {line} 行已损坏（{why}），已跳过，其余照常显示。",
      "problem.lines": "有 {n} 行已损坏，最早在第 {line} 行（{why}），已跳过，其余照常显示。",
      "problem.newer": "该轨迹的 schema 版本为 {found}，本播放器最高支持 {known}。请用更新的版本打开。",
      "problem.start": "缺少 run_started 事件，无法显示。请重新导出轨迹。",
      "problem.empty": "轨迹为空。请先录制一次运行。",
      "problem.large": "轨迹有 {found} MB，上限为 {limit} MB。请录制更短的运行。",
      "problem.response": "该运行有 {found} 个回答 token，播放器最多显示 {limit} 个。",
      "problem.gap": "缺少事件 {from} 到 {to}。",
      "problem.partial": "轨迹在运行结束前中断。",
      "problem.failed": "运行失败：{error}",
      "problem.seq": "事件 {seq} 次序错误",
      "why.json": "不是 JSON", "why.type": "未知的事件类型", "why.field": "字段 {field}",
      "term.slot": "槽：回答中 slot_size 个连续位置，规划的基本单位。",
      "term.serial_block": "串行块：一组槽；各块从左到右依次解码。",
      "term.plan": "规划：对块内所有掩码槽做一次前向，给出每个槽的草稿和置信度。",
      "term.draft": "草稿：规划为一个槽提出的 token。",
      "term.confidence": "槽置信度：规划前向中草稿首个 token 的概率。",
      "term.chosen": "选中：置信度高于槽阈值的所有槽；若一个都没有，则取最高的那一个。",
      "term.verify": "验证：对拼接起来的草稿做一次因果前向；token 在给定前一 token 时的概率严格大于 token 阈值才通过。",
      "term.infill": "填充：验证未接受任何整槽时，各选中的槽独立地逐轮填入并验证。",
      "term.commit": "提交：token 成为最终结果，其键值留在缓存中。",
      "term.commit_order": "提交顺序：缓存中 token 的顺序，先是提示词，再按解码先后排列各槽。",
      "term.cache": "缓存：提示词和所有已提交 token 的键值，按提交顺序存放。",
      "term.cache_index": "缓存下标：token 在键值缓存中的位置（缓冲区顺序），不是文本位置。",
      "term.hit": "缓存命中：前向直接读取而无需计算的键值条目。",
      "term.forced": "强制接受：每轮必须至少前进一个 token，因此未通过也被接受。",
      "term.eos": "序列结束 token；其后的内容不属于回答。",
      "term.tpf": "每次前向的 token 数：已提交的回答 token 数除以模型前向次数。",
    },
  };

  /** A probability in few, honest digits: never 1.00 for less than 1, never 0.00 for more than 0. */
  function formatProbability(p) {
    if (!(p > 0)) return "0.00";
    if (p < 0.01) return p < 0.001 ? "<0.001" : p.toFixed(3);
    if (p < 1 && p >= 0.995) return p < 0.9995 ? p.toFixed(3) : ">0.999";
    return p.toFixed(2);
  }

  /** "0.12 ≤ 0.30" or "0.42 > 0.30", with as many digits as tell the two apart. */
  function formatTest(p, threshold) {
    const sign = p > threshold ? ">" : "≤";
    if (p < 0.01 && threshold >= 0.01) return `${p > 0 ? p.toPrecision(1) : "0.00"} ${sign} ${threshold.toFixed(2)}`;
    for (let digits = 2; digits < 7; digits++) {
      const [left, right] = [p.toFixed(digits), threshold.toFixed(digits)];
      if (left !== right || p === threshold) return `${left} ${sign} ${right}`;
    }
    return `${p} ${sign} ${threshold}`;
  }

  /** How a decoder of single tokens chooses them; null for ReFusion. @returns {?{key: string}} */
  function tokenRule(settings, decoder) {
    if (decoder === "ar") return { key: "next" };
    if (decoder !== "mdm") return null;
    const { confidence_threshold: threshold, tokens_per_step: n } = settings;
    return threshold === undefined ? { key: "count", n } : { key: "threshold", p: formatProbability(threshold) };
  }

  /** Whether a confidence is held against a threshold in this run. */
  const hasThreshold = ({ decoder, settings }) => ["next", "count"].indexOf(tokenRule(settings, decoder)?.key) < 0;

  /** Unused digits make columns jump: two decimals below 10, one below 100, none above. */
  function formatRatio(x) {
    return x.toFixed(x < 10 ? 2 : x < 100 ? 1 : 0);
  }

  function formatPercent(x) {
    return `${Math.round(100 * x)}\u00a0%`;
  }

  const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;
  const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  const ZERO_WIDTH = new RegExp(
    "[\\u00ad\\u200b\\u2060\\ufeff]|(?<!\\p{Extended_Pictographic}\\ufe0f?|\\p{Emoji_Modifier})[\\u200c\\u200d]", "gu");

  function codePoint(character) {
    return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  }

  /** Text in which nothing is invisible or turns the reading direction; joiners inside emoji stay. */
  function visibleText(text) {
    if (text === "") return "∅";
    const shown = text
      .replace(/\n/g, "↵").replace(/\t/g, "⇥")
      .replace(CONTROL, codePoint).replace(DIRECTION, codePoint).replace(ZERO_WIDTH, codePoint);
    return /^\s+$/.test(shown) ? shown.replace(/\s/g, "␣") : shown;
  }

  // --------------------------------------------------------------------------------- trace and fold (pure)

  /**
   * @typedef {object} IterationRecord Event indexes of one iteration; -1 where there is none (yet).
   * @property {number} number @property {number} block @property {number} first @property {number} last
   * @property {number} plan @property {number} verify @property {number[]} rounds @property {number} commit
   * @property {number} dependency
   */

  /** Where a value does not have its shape, as a path such as ".slots[3].tokens", or null where it does. */
  function misfit(value, shape, slotCount, path) {
    if (shape === "slot") return Number.isInteger(value) && value >= 0 && value < slotCount ? null : path;
    if (typeof shape === "string") return typeof value === shape ? null : path;
    if (Array.isArray(shape)) {
      if (!Array.isArray(value)) return path;
      for (let n = 0; n < value.length; n++) {
        const found = misfit(value[n], shape[0], slotCount, `${path}[${n}]`);
        if (found) return found;
      }
      return null;
    }
    if (value === null || typeof value !== "object") return path;
    for (const key of Object.keys(shape)) {
      const name = key.replace("?", "");
      if (name !== key && (value[name] === undefined || value[name] === null)) continue;
      const found = misfit(value[name], shape[key], slotCount, `${path}.${name}`);
      if (found) return found;
    }
    return null;
  }

  /** Where lists that go together differ in length, or null. */
  function unequal(event) {
    if (event.type === "dependency") {
      const { rows, columns, matrix, prompt } = event;
      if (matrix.length !== rows.length || matrix.some((row) => row.length !== columns.length)) return ".matrix";
      return prompt.length === rows.length ? null : ".prompt";
    }
    const names = PARALLEL[event.type];
    const wrong = names ? event.slots.findIndex((slot) =>
      names.some((name) => slot[name].length !== slot[names[0]].length)) : -1;
    return wrong < 0 ? null : `.slots[${wrong}]`;
  }

  /** Why an event cannot be drawn, as a text key with values, or null if it can. */
  function faultOf(event, slotCount) {
    if (!event || typeof event !== "object" || !Object.hasOwn(SHAPES, event.type)) return ["why.type", {}];
    if (!Number.isSafeInteger(event.seq) || event.seq < 0) return ["why.field", { field: "seq" }];
    const field = misfit(event, SHAPES[event.type], slotCount, "") ?? unequal(event);
    return field ? ["why.field", { field: `${event.type}${field}` }] : null;
  }

  /** The events in order, with what every view looks up: running sums, iterations, forwards, commits. */
  class Trace {
    constructor() {
      this.events = [];
      this.lines = [];
      this.run = null;
      this.finished = null;
      this.nextSeq = 0;
      this.vocabulary = new Map();
      this.byteTokens = 0;
      /** @type {IterationRecord[]} */
      this.iterations = [];
      this.iterationAt = []; // per event: place in iterations, -1 before the first
      this.planAt = []; // per event: place of the latest iteration that has shown its plan
      this.forwards = []; // {at, phase, computed, hits}
      this.commits = []; // {at, slot, tokens, cacheIndex}
      this.sums = { forwards: [], computed: [], hits: [], discarded: [], committed: [], commits: [] };
      this.slotCommit = null; // per slot: place in iterations of its last commit, -1
      this.slotDrop = null;
    }

    get length() {
      return this.events.length;
    }

    get slotSize() {
      return this.run.settings.slot_size;
    }

    get slotCount() {
      return this.run ? this.run.slot_count : 0;
    }

    /** @param {object} event @param {string} [line] its JSON as it came */
    append(event, line) {
      const at = this.events.length;
      this.events.push(event);
      this.lines.push(line);
      this.nextSeq = event.seq + 1;
      this.indexIteration(event, at);
      this.indexSums(event, at);
      if (event.type === "run_started") this.start(event);
      else if (event.type === "vocabulary") this.learn(event.tokens);
      else if (event.type === "run_finished") this.finished = event;
    }

    start(event) {
      this.run = event;
      this.slotCommit = new Int32Array(event.slot_count).fill(-1);
      this.slotDrop = new Int32Array(event.slot_count).fill(-1);
    }

    learn(tokens) {
      for (const token of tokens) {
        const bytes = typeof token.bytes === "string" ? bytesOfHex(token.bytes) : null;
        if (bytes) this.byteTokens++;
        this.vocabulary.set(token.id, { text: visibleText(String(token.text)), bytes, raw: String(token.text) });
      }
    }

    indexIteration(event, at) {
      const last = this.iterations.length - 1;
      let place = last;
      if (Number.isInteger(event.iteration) && (last < 0 || this.iterations[last].number !== event.iteration)) {
        place = last + 1;
        this.iterations.push({
          number: event.iteration, block: event.block ?? 0, first: at, last: at,
          plan: -1, verify: -1, rounds: [], commit: -1, dependency: -1,
        });
      }
      this.iterationAt.push(place);
      if (place >= 0) {
        const record = this.iterations[place];
        if (event.type !== "run_finished") record.last = at;
        if (event.type === "infill_round") record.rounds.push(at);
        else if (event.type in record) record[event.type] = at;
      }
      const before = at ? this.planAt[at - 1] : -1;
      this.planAt.push(event.type === "plan" ? place : before);
    }

    indexSums(event, at) {
      const add = { forwards: 0, computed: 0, hits: 0, discarded: 0, committed: 0, commits: 0 };
      if (event.type === "forward") {
        Object.assign(add, { forwards: 1, computed: event.tokens_computed, hits: event.cache_hits });
        this.forwards.push({
          at, phase: event.phase, computed: event.tokens_computed, hits: event.cache_hits, number: event.forward,
        });
      } else if (event.type === "cache") {
        add.discarded = event.discarded;
      } else if (event.type === "commit") {
        this.indexCommit(event, at);
        add.commits = event.slots.length;
        add.committed = event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0);
      }
      for (const [name, list] of Object.entries(this.sums)) list.push((at ? list[at - 1] : 0) + add[name]);
    }

    indexCommit(event, at) {
      const place = this.iterations.length - 1;
      for (const slot of event.slots) {
        this.commits.push({
          at, slot: slot.slot, tokens: slot.tokens.length, cacheIndex: slot.cache_indexes[0] ?? -1,
        });
        if (this.slotCommit) this.slotCommit[slot.slot] = place;
      }
      for (const slot of event.dropped_slots ?? []) if (this.slotDrop) this.slotDrop[slot] = place;
    }

    /** The record of the iteration that an event belongs to, or null before the first. */
    recordAt(at) {
      return this.iterations[this.iterationAt[at]] ?? null;
    }

    /** The last iteration whose plan is known at an event, or null. */
    plannedAt(at) {
      return this.iterations[this.planAt[at]] ?? null;
    }

    tokenText(id) {
      const known = this.vocabulary.get(id);
      if (!known) return `#${id}`;
      return known.bytes ? hexText(known.bytes) : known.text;
    }

    /** The text of a cell of the stage: eos by its short name, and nothing endless. */
    cellText(id) {
      return id === this.run.model.eos_id ? "eos" : clip(this.tokenText(id), CELL_TEXT_LIMIT);
    }

    /** Probability that a drafted token must exceed. */
    get tokenThreshold() {
      return this.run.settings.token_threshold;
    }
  }

  function bytesOfHex(hex) {
    if (!/^(?:[0-9a-f]{2})+$/i.test(hex)) return null;
    return Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
  }

  function hexText(bytes) {
    return `⟨${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ")}⟩`;
  }

  const UTF8 = new TextDecoder("utf-8", { fatal: true });

  function decodeWhole(bytes) {
    try {
      return UTF8.decode(Uint8Array.from(bytes));
    } catch {
      return null;
    }
  }

  /**
   * Texts of consecutive byte tokens: the smallest groups that are whole characters show them in their first
   * piece ("" in the others); bytes that make no character are shown as hex.
   * @param {Uint8Array[]} pieces @returns {string[]}
   */
  function joinBytes(pieces) {
    const texts = [];
    while (texts.length < pieces.length) {
      const from = texts.length;
      const bytes = [];
      let whole = null;
      let end = from;
      while (end < pieces.length && whole === null && end - from < 16) {
        bytes.push(...pieces[end++]);
        whole = decodeWhole(bytes);
      }
      if (whole === null) texts.push(hexText(pieces[from]));
      else texts.push(visibleText(whole), ...Array(end - from - 1).fill(""));
    }
    return texts;
  }

  /** The response as it is at the cursor: one entry per position, one per slot. */
  class Frame {
    /** @param {object} run the run_started event */
    constructor(run) {
      const [length, slots] = [run.response_length, run.slot_count];
      this.status = new Uint8Array(length);
      this.token = new Int32Array(length).fill(-1);
      this.probability = new Float64Array(length).fill(NaN);
      this.origin = new Uint8Array(length);
      this.cacheIndex = new Int32Array(length).fill(-1);
      this.commitEvent = new Int32Array(length).fill(-1);
      this.slot = new Uint8Array(slots);
      this.confidence = new Float64Array(slots).fill(NaN);
      this.run = new Int32Array(slots); // accepted run after verify and in infill
      this.bestOfNone = new Uint8Array(slots);
      this.eos = -1; // offset of the first committed (or surely to be committed) eos
      this.straggler = -1;
    }

    copyFrom(other) {
      for (const [name, value] of Object.entries(other)) {
        if (typeof value === "number") this[name] = value;
        else this[name].set(value);
      }
      return this;
    }
  }

  /** Applies one event to a frame. Pure apart from the frame. */
  const FOLD = {
    plan(frame, event, at, trace) {
      settle(frame);
      for (const planned of event.slots) {
        const from = planned.slot * trace.slotSize;
        frame.slot[planned.slot] = planned.chosen ? SLOT.CHOSEN : SLOT.CANDIDATE;
        frame.confidence[planned.slot] = planned.confidence;
        frame.bestOfNone[planned.slot] = planned.reason === "best_of_none" ? 1 : 0;
        frame.run[planned.slot] = 0;
        planned.tokens.forEach((token, k) => {
          if (frame.status[from + k] >= CELL.COMMITTED) return;
          frame.status[from + k] = planned.chosen ? CELL.DRAFTED : CELL.CANDIDATE;
          frame.token[from + k] = token;
          frame.origin[from + k] = 1;
          frame.probability[from + k] = planned.probabilities[k];
        });
      }
    },

    verify(frame, event, at, trace) {
      const fate = {
        committed: SLOT.PASSED, infill: SLOT.INFILL, returned: SLOT.RETURNED, dropped: SLOT.DROPPED,
      };
      let eos = -1;
      let left = event.accepted_prefix;
      for (const slot of event.slots) {
        const from = slot.slot * trace.slotSize;
        frame.slot[slot.slot] = fate[slot.outcome] ?? SLOT.PASSED;
        frame.run[slot.slot] = slot.accepted_run;
        slot.tokens.forEach((token, k) => {
          setVerified(frame, from + k, token, CELL_OF_STATUS[slot.statuses[k]], slot.probabilities[k]);
          if (slot.statuses[k] === "accepted") frame.origin[from + k] = 2;
        });
        // In infill each slot stands on its own; otherwise only the accepted prefix counts.
        const run = event.outcome === "infill" ? slot.accepted_run : Math.min(left, slot.tokens.length);
        left -= slot.tokens.length;
        const end = slot.tokens.indexOf(trace.run.model.eos_id);
        if (eos < 0 && end >= 0 && end < run) eos = from + end;
      }
      if (eos >= 0) dropAfter(frame, eos, trace.slotSize);
    },

    forward(frame, event, at, trace) {
      if (event.phase !== "infill_predict") return;
      const size = trace.slotSize;
      frame.slot.forEach((status, slot) => {
        if (status !== SLOT.INFILL) return;
        for (let k = frame.run[slot]; k < size; k++) maskCell(frame, slot * size + k);
      });
    },

    infill_round(frame, event, at, trace) {
      const size = trace.slotSize;
      frame.straggler = event.straggler ?? -1;
      for (const slot of event.slots) {
        const from = slot.slot * size;
        frame.run[slot.slot] = slot.run_after;
        slot.statuses.forEach((status, j) => {
          const i = from + slot.run_before + j;
          setVerified(frame, i, slot.tokens[slot.run_before + j], CELL_OF_STATUS[status], slot.verified[j]);
          frame.origin[i] = status === "accepted" ? 3 : status === "forced" ? 4 : 0;
        });
      }
      for (const slot of event.slots) {
        if (slot.dropped) dropSlot(frame, slot.slot, size);
        const end = slot.tokens.slice(0, slot.run_after).indexOf(trace.run.model.eos_id);
        if (slot.ended_by_eos && end >= 0) dropAfter(frame, slot.slot * size + end, size);
      }
    },

    commit(frame, event, at, trace) {
      const { slotSize, run } = trace;
      let eos = -1;
      for (const slot of event.slots) {
        slot.tokens.forEach((token, k) => {
          const i = slot.positions[k] - run.response_start;
          frame.status[i] = CELL.COMMITTED;
          frame.token[i] = token;
          frame.origin[i] = ORIGINS.indexOf(slot.origins[k]);
          frame.cacheIndex[i] = slot.cache_indexes[k] ?? -1;
          frame.commitEvent[i] = at;
          if (token === run.model.eos_id && (eos < 0 || i < eos)) eos = i;
        });
        frame.slot[slot.slot] = SLOT.FRESH;
      }
      frame.straggler = -1;
      for (const slot of event.dropped_slots ?? []) dropSlot(frame, slot, slotSize);
      if (frame.eos >= 0 && (eos < 0 || frame.eos < eos)) eos = frame.eos;
      if (eos >= 0) dropAfter(frame, eos, slotSize);
      returnRest(frame, event, slotSize);
    },

    run_finished(frame, event) {
      settle(frame);
      const broken = event.stop_reason === "stopped" || event.stop_reason === "error";
      frame.status.forEach((status, i) => {
        if (status >= CELL.COMMITTED) return;
        if (broken) maskCell(frame, i);
        else clearCell(frame, i, CELL.DROPPED);
      });
      frame.slot.forEach((status, slot) => {
        if (status < SLOT.COMMITTED) frame.slot[slot] = broken ? SLOT.OPEN : SLOT.DROPPED;
      });
    },
  };

  function clearCell(frame, i, status) {
    frame.status[i] = status;
    frame.token[i] = -1;
    frame.origin[i] = 0;
    frame.probability[i] = NaN;
  }

  function maskCell(frame, i) {
    if (frame.status[i] < CELL.COMMITTED) clearCell(frame, i, CELL.MASKED);
  }

  function setVerified(frame, i, token, status, probability) {
    if (frame.status[i] >= CELL.COMMITTED) return;
    frame.status[i] = status ?? CELL.DRAFTED;
    frame.token[i] = token;
    frame.probability[i] = probability;
    if (status === CELL.REJECTED || status === CELL.BEHIND) frame.origin[i] = 0;
  }

  /** A committed token behind an earlier eos stays in the output, but is no text: it is cut. */
  function dropCell(frame, i) {
    if (frame.status[i] === CELL.COMMITTED) frame.status[i] = CELL.CUT;
    else if (frame.status[i] !== CELL.CUT) clearCell(frame, i, CELL.DROPPED);
  }

  function dropSlot(frame, slot, size) {
    for (let k = 0; k < size; k++) dropCell(frame, slot * size + k);
    frame.slot[slot] = SLOT.DROPPED;
    frame.confidence[slot] = NaN;
  }

  /** Nothing behind an eos is pending any more. */
  function dropAfter(frame, eos, size) {
    if (frame.eos < 0 || eos < frame.eos) frame.eos = eos;
    const slot = Math.floor(eos / size);
    frame.run[slot] = Math.min(frame.run[slot], eos + 1 - slot * size);
    for (let i = eos + 1; i < (slot + 1) * size; i++) dropCell(frame, i);
    for (let s = slot + 1; s < frame.slot.length; s++) dropSlot(frame, s, size);
  }

  /** Whether a slot in infill has all its tokens, or ends at an eos, and waits for the others. */
  function isComplete(frame, slot, size) {
    const end = frame.eos >= 0 && Math.floor(frame.eos / size) === slot ? frame.eos % size + 1 : size;
    return frame.run[slot] >= end;
  }

  /** What was committed in the iteration before is no longer news. */
  function settle(frame) {
    frame.slot.forEach((status, slot) => {
      if (status === SLOT.FRESH) frame.slot[slot] = SLOT.COMMITTED;
      else if (status === SLOT.RETURNED) frame.slot[slot] = SLOT.MASKED;
    });
  }

  /** Chosen slots that were not committed fall back to masks; half-committed ones say so. */
  function returnRest(frame, event, size) {
    const busy = [SLOT.CHOSEN, SLOT.PASSED, SLOT.INFILL, SLOT.RETURNED];
    frame.slot.forEach((status, slot) => {
      if (!busy.includes(status)) return;
      for (let k = 0; k < size; k++) maskCell(frame, slot * size + k);
      frame.slot[slot] = SLOT.RETURNED;
    });
    for (const { slot } of event.slots) {
      const cells = frame.status.subarray(slot * size, (slot + 1) * size);
      if (frame.slot[slot] === SLOT.FRESH && cells.some((status) => status < CELL.COMMITTED)) {
        frame.slot[slot] = SLOT.PARTIAL;
      }
    }
  }

  /** A frame that can be moved to any event; key frames make going back cheap. */
  class Folder {
    /** @param {Trace} trace whose run has started */
    constructor(trace) {
      this.trace = trace;
      this.frame = new Frame(trace.run);
      this.cursor = -1;
      this.keyframes = [{ cursor: -1, frame: new Frame(trace.run) }];
      // Large responses get fewer key frames, so that memory stays bounded.
      this.interval = Math.max(KEYFRAME_EVENTS, Math.floor(trace.run.response_length / 16));
    }

    seek(to) {
      const start = this.keyframeBefore(to);
      if (to < this.cursor || start.cursor > this.cursor) {
        this.frame.copyFrom(start.frame);
        this.cursor = start.cursor;
      }
      while (this.cursor < to) this.step();
    }

    keyframeBefore(to) {
      let low = 0;
      for (let high = this.keyframes.length - 1; low < high; ) {
        const middle = (low + high + 1) >> 1;
        if (this.keyframes[middle].cursor <= to) low = middle;
        else high = middle - 1;
      }
      return this.keyframes[low];
    }

    step() {
      const at = ++this.cursor;
      const event = this.trace.events[at];
      FOLD[event.type]?.(this.frame, event, at, this.trace);
      const last = this.keyframes[this.keyframes.length - 1];
      if (at - last.cursor >= this.interval) {
        this.keyframes.push({ cursor: at, frame: new Frame(this.trace.run).copyFrom(this.frame) });
      }
    }
  }

  /** The figures of a run up to an event: what run_finished.stats holds at the end. */
  function statisticsAt(trace, at) {
    const stats = {
      iterations: 0, forwards: 0, forwards_by_phase: {}, committed_tokens: 0, tokens_per_forward: 0,
      tokens_computed: 0, cache_hits: 0, cache_hit_rate: 0, entries_discarded: 0, slots_committed: 0,
      parallel_iterations: 0, out_of_order_slots: 0, prefix_iterations: 0, infill_iterations: 0,
      infill_rounds: 0, model_seconds: 0,
    };
    const committed = new Set();
    for (const event of trace.events.slice(0, at + 1)) {
      if (event.type === "forward") countForward(stats, event);
      else if (event.type === "infill_round") stats.infill_rounds++;
      else if (event.type === "commit") countCommit(stats, event, committed);
      else if (event.type === "cache") stats.entries_discarded += event.discarded;
    }
    const touched = stats.tokens_computed + stats.cache_hits;
    const round = (x) => Number(x.toFixed(6));
    stats.slots_committed = committed.size;
    if (stats.forwards) stats.tokens_per_forward = round(stats.committed_tokens / stats.forwards);
    if (touched) stats.cache_hit_rate = round(stats.cache_hits / touched);
    stats.model_seconds = round(stats.model_seconds);
    return stats;
  }

  function countForward(stats, event) {
    stats.forwards++;
    stats.forwards_by_phase[event.phase] = (stats.forwards_by_phase[event.phase] ?? 0) + 1;
    stats.tokens_computed += event.tokens_computed;
    stats.cache_hits += event.cache_hits;
    stats.model_seconds += event.seconds;
  }

  function countCommit(stats, event, committed) {
    stats.iterations++;
    stats[`${event.branch}_iterations`]++;
    stats.committed_tokens += event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0);
    if (event.slots.length >= 2) stats.parallel_iterations++;
    for (const slot of event.slots) committed.add(slot.slot);
    let firstMasked = 0;
    while (committed.has(firstMasked)) firstMasked++;
    stats.out_of_order_slots += event.slots.filter((slot) => slot.slot > firstMasked).length;
  }

  /** The headline figures at an event, from the running sums. */
  function headlineAt(trace, at) {
    const pick = (name) => (at >= 0 ? trace.sums[name][at] : 0);
    const [forwards, computed, hits] = [pick("forwards"), pick("computed"), pick("hits")];
    return {
      forwards, computed, hits, discarded: pick("discarded"), committed: pick("committed"),
      tokensPerForward: forwards ? pick("committed") / forwards : 0,
      hitRate: computed + hits ? hits / (computed + hits) : 0,
    };
  }

  /**
   * Where the numbers of a response position come from, in the iteration that decided it.
   * @returns {{record: IterationRecord|null, steps: object[]}}
   */
  function provenanceOf(trace, frame, cursor, offset) {
    const slot = Math.floor(offset / trace.slotSize);
    const k = offset % trace.slotSize;
    const committed = frame.commitEvent[offset];
    const record = committed >= 0 ? trace.recordAt(committed) : trace.plannedAt(cursor);
    const steps = [];
    const seen = (at) => at >= 0 && at <= cursor;
    const find = (at) => trace.events[at].slots.find((entry) => entry.slot === slot);
    if (!record || frame.status[offset] === CELL.DROPPED) return { record, steps };
    const planned = seen(record.plan) && find(record.plan);
    if (planned) {
      steps.push({
        kind: "plan", forward: trace.events[record.plan].forward, token: planned.tokens[k],
        probability: planned.probabilities[k], alternatives: planned.alternatives?.[k] ?? [],
        overMask: planned.mask_offsets?.includes(k),
      });
    }
    const verified = seen(record.verify) && find(record.verify);
    if (verified) {
      steps.push({
        kind: k ? "verify" : "first", forward: trace.events[k ? record.verify : record.plan]?.forward,
        token: verified.tokens[k], probability: verified.probabilities[k], status: verified.statuses[k],
      });
    }
    for (const at of record.rounds.filter(seen)) steps.push(...roundSteps(trace.events[at], find(at), k));
    return { record, steps };
  }

  function roundSteps(event, entry, k) {
    const j = entry ? k - entry.run_before : -1;
    if (j < 0 || j >= entry.predicted.length) return [];
    const token = entry.tokens[k];
    return [
      {
        kind: "predict", round: event.round, forward: event.predict_forward, token,
        probability: entry.predicted[j], alternatives: entry.alternatives?.[j] ?? [],
        overMask: entry.mask_offsets?.includes(k),
      },
      {
        kind: "check", round: event.round, forward: event.verify_forward, token,
        probability: entry.verified[j], status: entry.statuses[j],
      },
    ];
  }

  // ------------------------------------------------------------------------------------------ drawing tools

  /** An element with a class and children; strings become text nodes, never markup. */
  function el(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
  }

  /** Text of a node that holds nothing else; a text node that is there already is reused. */
  function setText(node, text) {
    const child = node.firstChild;
    if (child === null || child !== node.lastChild || child.nodeType !== Node.TEXT_NODE) {
      if (node.textContent !== text) node.textContent = text;
    } else if (child.data !== text) {
      child.data = text;
    }
  }

  function setAttribute(node, name, value) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }

  /** An icon from one path in a 16 × 16 box. */
  function icon(path) {
    const namespace = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(namespace, "svg");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    const shape = document.createElementNS(namespace, "path");
    shape.setAttribute("d", path);
    svg.append(shape);
    return svg;
  }

  const ICONS = {
    play: "M4 2.5v11l9.5-5.5z",
    pause: "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z",
    back: "M11.5 2.5v11L4 8z",
    forward: "M4.5 2.5v11L12 8z",
    iterationBack: "M2.5 2.5h2v11h-2zM13.5 2.5v11L6 8z",
    iterationForward: "M11.5 2.5h2v11h-2zM2.5 2.5v11L10 8z",
  };

  /** A canvas with its own pixel ratio; `begin` sizes and clears it. */
  class Surface {
    constructor(className) {
      this.canvas = el("canvas", className);
      this.width = this.height = 0;
    }

    /** @returns {CanvasRenderingContext2D} in CSS pixels */
    begin(width, height) {
      const area = Math.max(1, width * height);
      const ratio = Math.min(window.devicePixelRatio || 1, Math.sqrt(12e6 / area));
      const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
      if (this.canvas.width !== w || this.canvas.height !== h) {
        this.canvas.width = w;
        this.canvas.height = h;
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
      }
      [this.width, this.height] = [width, height];
      const context = this.canvas.getContext("2d");
      context.setTransform(w / width, 0, 0, h / height, 0, 0);
      context.clearRect(0, 0, width, height);
      return context;
    }

    get context() {
      return this.canvas.getContext("2d");
    }
  }

  const COLOURS = [
    "ink", "ink2", "ink3", "line", "ground", "panel", "plan", "chosen", "verified", "rejected", "forced", "hatch",
  ];

  /** The colours of the style sheet as canvas needs them: resolved for the theme in force. */
  function readPalette(probe) {
    const palette = {};
    for (const name of COLOURS) {
      probe.style.color = `var(--rfp-${name})`;
      palette[name] = getComputedStyle(probe).color;
    }
    palette.font = getComputedStyle(probe).fontFamily;
    return palette;
  }

  /** Ink or ground, whichever reads better on a colour laid over the panel. Colours are "rgb(r, g, b)". */
  function readable(palette, colour, alpha = 1) {
    const [over, under] = [channels(colour), channels(palette.panel)];
    const ground = luminance(over.map((value, n) => value * alpha + under[n] * (1 - alpha)));
    const contrast = (text) => {
      const light = luminance(channels(text));
      return (Math.max(light, ground) + 0.05) / (Math.min(light, ground) + 0.05);
    };
    return contrast(palette.ink) >= contrast(palette.panel) ? palette.ink : palette.panel;
  }

  function channels(colour) {
    return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  }

  function luminance(rgb) {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function phaseColour(palette, phase) {
    if (phase === "plan" || phase === "infill_predict" || phase === "mdm") return palette.plan;
    return palette.verified;
  }

  /** Diagonal stripes of a colour: the pattern of infill. */
  function stripes(context, colour) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const brush = tile.getContext("2d");
    brush.strokeStyle = colour;
    brush.lineWidth = 2;
    for (const shift of [-6, 0, 6]) {
      brush.moveTo(shift - 1, 7);
      brush.lineTo(shift + 7, -1);
    }
    brush.stroke();
    return context.createPattern(tile, "repeat");
  }

  /** Label every so many places, so that labels keep their distance. */
  function labelStep(pixelsEach, distance) {
    const needed = distance / Math.max(pixelsEach, 0.01);
    return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => step >= needed) ?? 2000;
  }

  /** Text with an end that says it goes on. */
  function clip(text, limit) {
    return text.length > limit ? `${text.slice(0, limit)}…` : text;
  }

  /** Width in monospace columns: East Asian and pictographic characters take two. */
  function columnsOf(text) {
    let columns = 0;
    for (const character of text) {
      const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/;
      columns += wide.test(character) || character.codePointAt(0) > 0x1f000 ? 2 : 1;
    }
    return columns;
  }

  /** Texts in the chosen language. */
  class Speaker {
    constructor(language) {
      this.set(language);
      this.bound = [];
    }

    set(language) {
      this.language = TEXTS[language] ? language : "en";
    }

    /** The text of a key with its values, as a plain string (definitions left out). */
    text(key, values = {}) {
      return this.parts(key, values)
        .map((part) => (typeof part === "string" ? part : part.shown))
        .join("");
    }

    /** The text of a key as strings and {shown, term} or {shown, token} parts. */
    parts(key, values = {}) {
      const template = TEXTS[this.language][key] ?? TEXTS.en[key] ?? key;
      const counted = template.replace(/\{(\w+)\?([^:{}]*):([^{}]*)\}/g, (_, name, one, many) =>
        Number(values[name]) === 1 ? one : many);
      const parts = [];
      const pattern = /\{(\w+)\}|\[(\w+)(?:\|([^\]]*))?\]/g;
      let from = 0;
      for (const match of counted.matchAll(pattern)) {
        parts.push(counted.slice(from, match.index));
        from = match.index + match[0].length;
        if (match[1]) parts.push(this.valuePart(values[match[1]]));
        else parts.push({ shown: this.fill(match[3] ?? match[2], values), term: match[2] });
      }
      parts.push(counted.slice(from));
      return parts.filter((part) => part !== "");
    }

    fill(text, values) {
      return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
    }

    valuePart(value) {
      return value && typeof value === "object" ? { shown: value.token, token: true } : String(value);
    }

    /** DOM nodes of a text: terms carry their definition, tokens stand out. */
    nodes(key, values) {
      return this.parts(key, values).map((part) => {
        if (typeof part === "string") return document.createTextNode(part);
        if (part.token) return el("code", "rfp-quote", clip(part.shown, 40));
        const node = el("span", "rfp-term", part.shown);
        node.title = this.text(`term.${part.term}`);
        return node;
      });
    }

    /** Keeps the text (or an attribute) of a node in the current language. */
    bind(node, key, attribute) {
      this.bound.push([node, key, attribute]);
      this.apply(node, key, attribute);
      return node;
    }

    apply(node, key, attribute) {
      if (attribute) node.setAttribute(attribute, this.text(key));
      else node.textContent = this.text(key);
    }

    refresh() {
      for (const binding of this.bound) this.apply(...binding);
    }

    join(items) {
      if (items.length < 2) return items.join("");
      return items.slice(0, -1).join(this.text("comma")) + this.text("and") + items[items.length - 1];
    }

    /** "slot 3", "slots 3 and 5", "slots 1, 2, 3, 4 and 12 more" */
    slots(list, limit = 5) {
      return this.text(list.length === 1 ? "slot" : "slots", { s: this.some(list.map(String), limit) });
    }

    /** The first of many names, and how many there are. */
    some(names, limit = 5) {
      if (names.length <= limit) return this.join(names);
      const s = names.slice(0, limit).join(this.text("comma"));
      return this.text("some", { s, n: names.length, more: names.length - limit });
    }

    sentenceStart(text) {
      return text.charAt(0).toUpperCase() + text.slice(1);
    }
  }

  /** A titled panel; `aside` is the place at the right of its title. */
  function panel(speaker, name, titleKey) {
    const title = el("h3", "rfp-title");
    if (titleKey) speaker.bind(title, titleKey);
    const aside = el("span", "rfp-aside");
    const section = el("section", `rfp-panel rfp-${name}`, el("header", "rfp-head", title, aside));
    return { section, title, aside };
  }

  function legend(speaker, className, entries) {
    const list = el("ul", `rfp-legend ${className}`);
    for (const [name, key] of entries) {
      const label = el("span", "");
      speaker.bind(label, key);
      list.append(el("li", "", el("i", `rfp-key rfp-key-${name}`), label));
    }
    return list;
  }

  // ------------------------------------------------------------------------------------------- view: stage

  const CLASS_CACHE = new Map();

  function cellClass(status, origin, isEos, joined, long) {
    const key = (((status * ORIGINS.length + origin) * 2 + isEos) * 2 + joined) * 2 + long;
    let name = CLASS_CACHE.get(key);
    if (name === undefined) {
      name = `rfp-cell is-${CELL_NAMES[status]} from-${ORIGINS[origin]}`;
      if (isEos) name += " is-eos";
      if (joined) name += " is-joined";
      if (long) name += " is-long";
      CLASS_CACHE.set(key, name);
    }
    return name;
  }

  /** The response as slots in reading order. */
  class StageView {
    constructor(player) {
      this.player = player;
      const { section, aside } = panel(player.speaker, "stage", "stage");
      this.section = section;
      this.aside = aside;
      this.promptLabel = player.speaker.bind(el("span", "rfp-prompt-label"), "prompt");
      this.promptText = el("span", "rfp-prompt-text");
      this.promptMore = el("button", "rfp-link");
      this.promptMore.type = "button";
      this.promptMore.addEventListener("click", () => this.togglePrompt());
      this.prompt = el("div", "rfp-prompt", this.promptLabel, this.promptText, this.promptMore);
      this.grid = el("div", "rfp-slots");
      this.grid.setAttribute("role", "list");
      this.scroller = el("div", "rfp-scroller", this.grid);
      this.message = el("div", "rfp-message");
      this.legend = legend(player.speaker, "rfp-stage-legend", [
        ["masked", "legend.masked"], ["candidate", "legend.candidate"], ["chosen", "legend.chosen"],
        ["rejected", "legend.rejected"], ["plan", "legend.plan"], ["verified", "legend.verified"],
        ["infill", "legend.infill"], ["forced", "legend.forced"], ["dropped", "legend.dropped"],
      ]);
      this.answer = el("pre", "rfp-answer-text");
      this.answer.tabIndex = 0;
      this.answerBox = el("div", "rfp-answer", player.speaker.bind(el("h4", "rfp-subtitle"), "answer"), this.answer);
      section.append(this.prompt, this.scroller, this.message);
      this.slots = [];
      this.listen();
    }

    listen() {
      const { player, grid } = this;
      const slotOf = (event) => event.target.closest?.(".rfp-slot");
      const show = (event) => {
        const slot = slotOf(event);
        player.hover(slot ? Number(slot.dataset.slot) : -1);
        const cell = event.target.closest?.(".rfp-cell");
        if (cell) player.inspector.show(this.offsetOf(cell), cell);
        else player.inspector.hide();
      };
      grid.addEventListener("pointerover", show);
      grid.addEventListener("focusin", show);
      grid.addEventListener("pointerleave", () => {
        player.hover(-1);
        player.inspector.hide();
      });
      grid.addEventListener("focusout", () => player.inspector.hide());
      grid.addEventListener("click", (event) => {
        const cell = event.target.closest?.(".rfp-cell");
        if (cell) this.focusCell(this.offsetOf(cell));
      });
    }

    offsetOf(cell) {
      return Number(cell.dataset.offset);
    }

    /** New cells for a new run. */
    build() {
      const { run } = this.player.trace;
      const { slot_size: size, serial_blocks: blocks } = run.settings;
      const perBlock = Math.max(1, Math.floor(run.slot_count / Math.max(1, blocks)));
      this.size = size;
      this.grid.replaceChildren();
      this.slots = [];
      this.cells = [];
      this.shown = new Frame(run);
      this.shown.status.fill(255);
      this.shown.slot.fill(255);
      this.currentOffset = 0;
      this.blocksAsRows = blocks > 1 && blocks <= 8 && perBlock > 1;
      for (let s = 0; s < run.slot_count; s++) {
        if (this.blocksAsRows && s % perBlock === 0) this.grid.append(this.blockLabel(s / perBlock));
        this.grid.append(this.buildSlot(s, blocks > 1 ? Math.floor(s / perBlock) : -1));
      }
      this.grid.classList.toggle("is-many", run.slot_count > 64);
      this.grid.dataset.width = size <= 2 ? "narrow" : size <= 4 ? "medium" : "wide";
      this.grid.style.setProperty("--threshold", run.settings.slot_threshold);
      this.grid.classList.toggle("is-unlimited", !hasThreshold(run));
      this.lines = new Uint8Array(run.slot_count).fill(1);
      this.measuredTo = this.measuredWidth = 0;
      this.watchSight(run.slot_count > 64);
      this.showPrompt();
      this.measure();
    }

    /** In a long response only slots in sight are painted; the others catch up when they are scrolled to. */
    watchSight(isLong) {
      this.sight?.disconnect();
      this.inSight = isLong ? new Set() : null;
      if (!isLong) return;
      this.sight = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) this.inSight.add(Number(target.dataset.slot));
          else this.inSight.delete(Number(target.dataset.slot));
        }
        this.player.changed();
      }, { root: this.scroller, rootMargin: "200px" });
      for (const { node } of this.slots) this.sight.observe(node);
    }

    isInSight(s) {
      return !this.inSight || this.inSight.has(s);
    }

    blockLabel(block) {
      const node = el("div", "rfp-block");
      node.dataset.block = block;
      node.setAttribute("role", "presentation");
      setText(node, this.player.speaker.text("block", { b: block + 1 }));
      return node;
    }

    buildSlot(s, block) {
      const number = el("span", "rfp-slot-number", String(s));
      const cells = el("span", "rfp-cells");
      for (let k = 0; k < this.size; k++) {
        const cell = el("span", "rfp-cell");
        cell.dataset.offset = s * this.size + k;
        cell.tabIndex = s + k === 0 ? 0 : -1;
        this.cells.push(cell);
        cells.append(cell);
      }
      const tag = el("span", "rfp-tag");
      const bar = el("i", "rfp-bar");
      const card = el("div", "rfp-card", number, cells, bar, tag);
      const node = el("div", "rfp-slot", card);
      node.dataset.slot = s;
      node.setAttribute("role", "listitem");
      this.slots.push({ node, card, cells, tag, bar, block });
      return node;
    }

    showPrompt() {
      const { trace, speaker } = this.player;
      const { run } = trace;
      const text = run.prompt_text ?? run.prompt_ids.map((id) => trace.tokenText(id)).join(" ");
      setText(this.promptText, text === "" ? speaker.text("prompt.empty") : clip(text, 20000));
      const long = text.length > 160 || text.split("\n").length > 2;
      this.promptMore.hidden = !long;
      this.prompt.classList.toggle("is-long", long);
      this.showPromptButton();
      const settings = run.settings;
      const rule = tokenRule(settings, run.decoder);
      setText(this.aside, speaker.text(rule ? "facts.tokens" : "facts", {
        rule: rule && speaker.text(`rule.${rule.key}`, rule),
        decoder: speaker.text(`decoder.${run.decoder ?? "refusion"}`), model: clip(String(run.model.name), 40),
        slots: run.slot_count, size: settings.slot_size, blocks: settings.serial_blocks,
        slot: formatProbability(settings.slot_threshold), token: formatProbability(settings.token_threshold),
      }));
    }

    togglePrompt() {
      this.prompt.classList.toggle("is-open");
      this.showPromptButton();
    }

    showPromptButton() {
      const open = this.prompt.classList.contains("is-open");
      setText(this.promptMore, this.player.speaker.text(open ? "prompt.less" : "prompt.more"));
      setAttribute(this.promptMore, "aria-expanded", String(open));
    }

    /**
     * Reserves the lines that each slot will need, so that nothing moves while a run plays. Final and judged
     * tokens count; the drafts of slots not chosen are cut at what is reserved.
     */
    measure() {
      const { trace } = this.player;
      const width = this.player.resized || !this.measuredWidth ? this.slots[0].cells.clientWidth : this.measuredWidth;
      if (!width) return;
      if (width !== this.measuredWidth) {
        this.measuredWidth = width;
        this.measuredTo = 0;
        this.column = this.columnWidth();
        this.lines.fill(this.estimatedLines(width));
      }
      for (; this.measuredTo < trace.length; this.measuredTo++) this.measureEvent(trace.events[this.measuredTo]);
      let grown = false;
      this.slots.forEach((slot, s) => {
        if (slot.lines === this.lines[s]) return;
        grown = true;
        slot.lines = this.lines[s];
        slot.node.style.setProperty("--lines", slot.lines);
      });
      // In a live run the height stays, and a slot that needs more than was thought scrolls until the end.
      const live = this.player.state === "live";
      const fixed = live && this.fixedFor === this.player.trace && this.fixedWidth === width;
      if (fixed ? false : grown || this.fixedLive !== live) this.fixHeight();
      [this.fixedFor, this.fixedWidth, this.fixedLive] = [this.player.trace, width, live];
    }

    columnWidth() {
      const probe = el("span", "rfp-cell rfp-probe", "0".repeat(40));
      this.slots[0].cells.append(probe);
      const width = probe.getBoundingClientRect().width / 40;
      probe.remove();
      return width;
    }

    /** A live run is not known yet: five columns a token are typical. A trace needs no guess. */
    estimatedLines(width) {
      return this.player.state === "live" ? Math.max(1, Math.ceil((this.size * (5 * this.column + 8)) / width)) : 1;
    }

    measureEvent(event) {
      const { trace } = this.player;
      if (event.type !== "verify" && event.type !== "infill_round" && event.type !== "commit") return;
      for (const { slot, tokens } of event.slots) {
        this.lines[slot] = Math.max(this.lines[slot], this.linesFor(tokens, trace));
      }
    }

    linesFor(tokens, trace) {
      let [lines, used] = [1, 0];
      for (const token of tokens) {
        const columns = Math.min(Math.max(columnsOf(clip(trace.cellText(token), 30)), 1.4), 26);
        const width = columns * this.column + 9;
        if (used && used + width > this.measuredWidth) [lines, used] = [lines + 1, 0];
        used += width;
      }
      return Math.min(lines, 60);
    }

    fixHeight() {
      const limit = 620;
      this.scroller.style.height = "auto";
      const needed = this.grid.scrollHeight;
      this.scroller.style.height = `${Math.min(needed, limit)}px`;
      this.scroller.classList.toggle("is-scrolling", needed > limit);
    }

    paint() {
      const { frame, trace } = this.player;
      const { shown } = this;
      const ended = this.fixedLive && this.player.state !== "live";
      if (this.measuredTo < trace.length || ended) this.measure();
      const changed = this.changedSlots(frame);
      for (const s of changed) shown.slot[s] = 255; // its tag may quote a token's number
      const near = trace.byteTokens ? withNeighbours(changed, this.slots.length) : changed;
      for (const s of near) if (this.isInSight(s)) this.paintCells(s, frame, trace);
      for (let s = 0; s < this.slots.length; s++) if (this.isInSight(s)) this.paintSlot(s, frame);
      this.paintAnswer();
      this.reveal(frame);
    }

    changedSlots(frame) {
      const { shown, size } = this;
      const changed = [];
      for (let i = 0; i < frame.status.length; i++) {
        const same = frame.status[i] === shown.status[i] && frame.token[i] === shown.token[i] &&
          frame.origin[i] === shown.origin[i];
        if (same) continue;
        const s = Math.floor(i / size);
        changed.push(s);
        i = (s + 1) * size - 1;
      }
      return changed;
    }

    paintCells(s, frame, trace) {
      const { shown } = this;
      const from = s * this.size;
      const texts = cellTexts(trace, frame, from, from + this.size);
      for (let k = 0; k < this.size; k++) {
        const i = from + k;
        const cell = this.cells[i];
        const status = frame.status[i];
        const isEos = frame.token[i] === trace.run.model.eos_id ? 1 : 0;
        const long = texts[k].text.length > 12 ? 1 : 0;
        const name = cellClass(status, frame.origin[i], isEos, texts[k].joined, long);
        if (cell.className !== name) cell.className = name;
        setText(cell, texts[k].text);
        if (status === CELL.MASKED && isRefused(shown.status[i])) this.fall(cell);
        shown.status[i] = status;
        shown.token[i] = frame.token[i];
        shown.origin[i] = frame.origin[i];
      }
    }

    /** A refused token falls back to a mask. */
    fall(cell) {
      if (!this.player.playing || !this.player.moves()) return;
      const fall = [{ transform: "translateY(-6px)", opacity: 0.2 }, { transform: "none", opacity: 1 }];
      cell.animate(fall, { duration: 220, easing: "ease-in" });
    }

    paintSlot(s, frame) {
      const { shown, slots } = this;
      const slowest = frame.straggler === s ? 1 : 0;
      const follows = frame.slot[s - 1] === SLOT.DROPPED ? 1 : 0; // only the first of dropped slots says why
      const same = frame.slot[s] === shown.slot[s] && frame.run[s] === shown.run[s] &&
        Object.is(frame.confidence[s], shown.confidence[s]) && slots[s].slowest === slowest &&
        slots[s].follows === follows &&
        slots[s].bestOfNone === frame.bestOfNone[s];
      if (same) return;
      shown.slot[s] = frame.slot[s];
      shown.run[s] = frame.run[s];
      shown.confidence[s] = frame.confidence[s];
      slots[s].slowest = slowest;
      slots[s].follows = follows;
      slots[s].bestOfNone = frame.bestOfNone[s];
      const { node, tag, bar } = slots[s];
      const status = SLOT_NAMES[frame.slot[s]];
      setAttribute(node, "data-status", status);
      const text = this.tagText(s, frame);
      setText(tag, follows && frame.slot[s] === SLOT.DROPPED ? "" : text);
      const speaker = this.player.speaker;
      setAttribute(node, "aria-label", `${speaker.text("slot", { s })} ${text}`);
      const open = frame.slot[s] === SLOT.CANDIDATE || frame.slot[s] === SLOT.CHOSEN;
      bar.style.setProperty("--confidence", open ? frame.confidence[s] : 0);
    }

    tagText(s, frame) {
      const { speaker } = this.player;
      const p = formatProbability(frame.confidence[s]);
      const run = { run: frame.run[s], size: this.size };
      const slowest = frame.straggler === s && this.size > 4;
      switch (frame.slot[s]) {
        case SLOT.CANDIDATE: return p;
        case SLOT.CHOSEN: return speaker.text(frame.bestOfNone[s] ? "tag.best" : "tag.chosen", { p });
        case SLOT.PASSED: return speaker.text("tag.passed");
        case SLOT.INFILL:
          if (isComplete(frame, s, this.size)) return speaker.text("tag.complete");
          return speaker.text(slowest ? "tag.slowest" : "tag.infill", run) + this.testText(s, frame);
        case SLOT.RETURNED: return speaker.text("tag.returned") + this.testText(s, frame);
        case SLOT.FRESH: return speaker.text("tag.fresh");
        case SLOT.DROPPED: return speaker.text("tag.dropped");
        case SLOT.OPEN: return speaker.text("tag.open");
        case SLOT.PARTIAL: return speaker.text("tag.partial", { run: this.committedIn(s, frame), size: this.size });
        default: return "";
      }
    }

    /** The number that broke the slot's draft, against its threshold. */
    testText(s, frame) {
      const from = s * this.size;
      const k = frame.status.subarray(from, from + this.size).indexOf(CELL.REJECTED);
      return k < 0 ? "" : ` · ${formatTest(frame.probability[from + k], this.player.trace.tokenThreshold)}`;
    }

    committedIn(s, frame) {
      const cells = frame.status.subarray(s * this.size, (s + 1) * this.size);
      return cells.reduce((sum, status) => sum + (status === CELL.COMMITTED ? 1 : 0), 0);
    }

    /** The answer's room is kept from the start: what a trace will say is known, a live run gets a few lines. */
    paintAnswer() {
      const { trace, cursor, speaker } = this.player;
      const { finished } = trace;
      const atEnd = finished && cursor === trace.length - 1;
      const text = typeof finished?.text === "string" ? finished.text : null;
      const lines = Math.min(Math.max(text === null ? 3 : text.split("\n").length, 2), 6);
      if (this.answerLines !== lines && !(this.answerLines > lines && this.player.state === "live")) {
        this.answerLines = lines;
        this.answer.style.setProperty("--answer-lines", lines);
      }
      this.answer.classList.toggle("is-note", !atEnd || !text);
      const broken = !finished && this.player.state !== "live" && cursor === trace.length - 1;
      if (broken) setText(this.answer, speaker.text("answer.broken"));
      else if (!atEnd) setText(this.answer, speaker.text("answer.pending"));
      else if (this.isEmptyAnswer()) setText(this.answer, speaker.text("answer.empty"));
      else setText(this.answer, text === null ? speaker.text("answer.none") : text);
    }

    isEmptyAnswer() {
      const { frame, trace } = this.player;
      return frame.status[0] === CELL.COMMITTED && frame.token[0] === trace.run.model.eos_id;
    }

    /** In a long response, keeps the chosen slots in sight while the player moves by itself. */
    reveal(frame) {
      if (!this.player.playing || !this.scroller.classList.contains("is-scrolling")) return;
      const s = frame.slot.findIndex((status) => status >= SLOT.CHOSEN && status <= SLOT.FRESH);
      if (s < 0 || s === this.revealed) return;
      this.revealed = s;
      const { offsetTop: top, offsetHeight: height } = this.slots[s].node;
      const { scrollTop, clientHeight } = this.scroller;
      if (top < scrollTop || top + height > scrollTop + clientHeight) {
        this.scroller.scrollTop = top - clientHeight / 3;
      }
    }

    /** Roving focus: one token is in the tab order; arrow up and down move it. */
    focusCell(offset) {
      const cell = this.cells[offset];
      if (!cell) return;
      this.cells[this.currentOffset].tabIndex = -1;
      this.currentOffset = offset;
      cell.tabIndex = 0;
      cell.focus({ preventScroll: false });
    }

    hover(slot, before) {
      this.slots[before]?.node.classList.remove("is-hovered");
      this.slots[slot]?.node.classList.add("is-hovered");
    }

    forget() {
      this.shown.status.fill(255);
      this.shown.slot.fill(255);
      for (const node of this.grid.querySelectorAll(".rfp-block")) {
        setText(node, this.player.speaker.text("block", { b: Number(node.dataset.block) + 1 }));
      }
      this.showPrompt();
    }
  }

  function isRefused(status) {
    return status === CELL.REJECTED || status === CELL.BEHIND;
  }

  function withNeighbours(list, count) {
    const all = new Set(list.flatMap((s) => [s - 1, s, s + 1]));
    return [...all].filter((s) => s >= 0 && s < count);
  }

  /** Shown texts of the positions from–to; byte tokens are joined with their neighbours, across slots too. */
  function cellTexts(trace, frame, from, to) {
    const texts = [];
    for (let i = from; i < to; i++) texts.push({ text: plainCellText(trace, frame, i), joined: 0 });
    if (!trace.byteTokens) return texts;
    const bytesAt = (i) => (frame.token[i] >= 0 ? trace.vocabulary.get(frame.token[i])?.bytes : null) ?? null;
    let start = from;
    while (start > 0 && bytesAt(start) && bytesAt(start - 1)) start--;
    while (start < to) {
      const pieces = [];
      while (start + pieces.length < frame.token.length && bytesAt(start + pieces.length)) {
        pieces.push(bytesAt(start + pieces.length));
      }
      joinBytes(pieces).forEach((text, n) => {
        const i = start + n - from;
        if (i >= 0 && i < texts.length) texts[i] = { text: text || "‿", joined: text ? 0 : 1 };
      });
      start += pieces.length + 1;
    }
    return texts;
  }

  function plainCellText(trace, frame, i) {
    if (frame.status[i] === CELL.DROPPED) return "–";
    return frame.token[i] < 0 ? MASK_DOT : trace.cellText(frame.token[i]);
  }

  // ---------------------------------------------------------------------------------------- view: timeline

  const TIMELINE = { maxHeight: 300, scrollHeight: 420, axis: 18, minColumn: 3, maxColumn: 240 };

  /** Slots × iterations on a canvas; the cursor and what lies ahead are overlays moved by transform. */
  class TimelineView {
    constructor(player) {
      this.player = player;
      const { section, aside } = panel(player.speaker, "timeline", "timeline");
      this.section = section;
      this.aside = aside;
      this.surface = new Surface("rfp-canvas");
      this.surface.canvas.setAttribute("role", "img");
      player.speaker.bind(this.surface.canvas, "timeline", "aria-label");
      this.ahead = el("div", "rfp-ahead");
      this.cursor = el("div", "rfp-cursor");
      this.row = el("div", "rfp-row-mark");
      this.box = el("div", "rfp-canvas-box", this.surface.canvas, this.ahead, this.row, this.cursor);
      this.scroller = el("div", "rfp-canvas-scroller", this.box);
      this.readout = el("p", "rfp-readout");
      this.legend = legend(player.speaker, "", [
        ["confidence", "legend.confidence"], ["returned", "legend.returned"],
        ["committed", "legend.committed"], ["rounds", "legend.rounds"], ["dropped", "legend.dropped"],
      ]);
      section.append(this.scroller, el("div", "rfp-foot", this.legend, this.readout));
      this.listen();
    }

    listen() {
      const { canvas } = this.surface;
      canvas.addEventListener("pointermove", (event) => this.point(event));
      canvas.addEventListener("pointerleave", () => {
        this.say("");
        this.player.hover(-1);
      });
      canvas.addEventListener("click", (event) => {
        const record = this.player.trace.iterations[this.hit(event).column];
        if (record) this.player.seek(record.plan >= 0 ? record.plan : record.first);
      });
    }

    hit(event) {
      const { left, top } = this.surface.canvas.getBoundingClientRect();
      return {
        column: Math.floor((event.clientX - left - this.labelWidth) / this.columnWidth),
        slot: Math.floor((event.clientY - top) / this.rowHeight),
      };
    }

    point(event) {
      const { column, slot } = this.hit(event);
      const { trace, speaker } = this.player;
      const inside = column >= 0 && trace.iterations[column] && slot >= 0 && slot < trace.run.slot_count;
      this.player.hover(inside ? slot : -1);
      this.say(inside ? speaker.text("timeline.cell", {
        s: slot, i: trace.iterations[column].number + 1, what: this.describe(column, slot),
      }) : "");
    }

    describe(column, slot) {
      const { trace, speaker } = this.player;
      const cell = timelineCell(trace, column, slot);
      const words = [speaker.text(`cell.${cell.kind}`, { p: formatProbability(cell.confidence) })];
      if (cell.chosen) words.push(speaker.text("cell.chosen"));
      if (cell.rounds) words.push(speaker.text("cell.rounds", { n: cell.rounds }));
      if (cell.committed) words.push(speaker.text("cell.committed"));
      else if (cell.chosen && trace.iterations[column].commit >= 0) words.push(speaker.text("cell.returned"));
      return speaker.join(words).replace(speaker.text("and"), speaker.text("comma"));
    }

    say(text) {
      setText(this.readout, text || this.player.speaker.text("timeline.hint"));
    }

    build() {
      const { run } = this.player.trace;
      this.rowHeight = Math.max(1, Math.min(18, Math.floor(TIMELINE.maxHeight / run.slot_count)));
      this.height = this.rowHeight * run.slot_count + TIMELINE.axis;
      this.scroller.style.height = `${Math.min(this.height, TIMELINE.scrollHeight) + 2}px`;
      this.labelWidth = 52;
      this.drawn = "";
      this.drawnColumns = 0;
      this.say("");
    }

    /** A live run leaves room to grow, doubling, so that full redraws stay rare. */
    capacity() {
      const count = this.player.trace.iterations.length;
      if (this.player.trace.finished || this.player.state !== "live") return Math.max(count, 1);
      return Math.max(8, 2 ** Math.ceil(Math.log2(count + 1)));
    }

    paint() {
      const { trace, palette } = this.player;
      const capacity = this.capacity();
      const available = this.player.widthOf(this.scroller) - this.labelWidth - 2;
      if (available <= 0) return;
      const exact = available / capacity;
      this.columnWidth = Math.max(TIMELINE.minColumn, Math.min(TIMELINE.maxColumn, exact));
      const layout = [capacity, available, palette.version, this.player.speaker.language].join();
      if (layout !== this.drawn) this.drawAll(capacity, layout);
      else if (trace.length !== this.drawnEvents) this.drawColumns(Math.max(0, this.drawnColumns - 1));
      this.drawnColumns = trace.iterations.length;
      this.drawnEvents = trace.length;
      this.place();
    }

    drawAll(capacity, layout) {
      this.drawn = layout;
      const width = this.labelWidth + this.columnWidth * capacity;
      const context = this.surface.begin(width, this.height);
      this.box.style.width = `${width}px`;
      this.stripes = stripes(context, this.player.palette.panel);
      this.drawLabels(context);
      this.drawColumns(0);
    }

    drawLabels(context) {
      const { palette, trace, speaker } = this.player;
      const { run } = trace;
      context.font = `11px ${palette.font}`;
      context.fillStyle = palette.ink2;
      context.textBaseline = "middle";
      context.textAlign = "left";
      const step = labelStep(this.rowHeight, 12);
      for (let s = 0; s < run.slot_count; s += step) {
        const y = Math.max(7, (s + 0.5) * this.rowHeight);
        context.fillText(speaker.text("slot", { s }), 0, y, this.labelWidth - 8);
      }
    }

    drawColumns(from) {
      const context = this.surface.context;
      const { trace } = this.player;
      for (let c = from; c < trace.iterations.length; c++) this.drawColumn(context, c);
    }

    drawColumn(context, c) {
      const { trace, palette } = this.player;
      const gap = this.columnWidth > 8 ? 2 : this.columnWidth > 4 ? 1 : 0;
      const x = this.labelWidth + c * this.columnWidth;
      const width = this.columnWidth - gap;
      context.clearRect(x, 0, this.columnWidth, this.height);
      this.drawBlockBorder(context, c, x);
      this.drawDone(context, c, x);
      const record = trace.iterations[c];
      const planned = record.plan >= 0 ? trace.events[record.plan].slots : [];
      for (const slot of planned) this.drawPlanned(context, c, slot, x, width);
      if (record.commit >= 0) this.drawCommitted(context, trace.events[record.commit], record, x, width);
      const step = labelStep(this.columnWidth, 26);
      if (record.number % step && step > 1) return;
      context.fillStyle = palette.ink2;
      context.textAlign = "center";
      context.fillText(String(record.number + 1), x + width / 2, this.height - 7);
    }

    /** Where a serial block begins: a line between its first iteration and the one before. */
    drawBlockBorder(context, c, x) {
      const { iterations, run } = this.player.trace;
      if (c && iterations[c].block !== iterations[c - 1].block) {
        context.fillStyle = this.player.palette.ink3;
        context.fillRect(x - 1, 0, 1, this.height - TIMELINE.axis);
      }
      const blocks = run.settings.serial_blocks;
      const perBlock = run.slot_count / blocks;
      if (blocks < 2 || perBlock * this.rowHeight < 8) return;
      context.fillStyle = this.player.palette.line;
      for (let b = 1; b < blocks; b++) context.fillRect(x, b * perBlock * this.rowHeight - 0.5, this.columnWidth, 1);
    }

    /** Slots that are over: a thin green line for committed ones, a dotted grey one for dropped ones. */
    drawDone(context, c, x) {
      const { trace, palette } = this.player;
      const { slotCommit, slotDrop } = trace;
      for (let s = 0; s < slotCommit.length; s++) {
        const y = (s + 0.5) * this.rowHeight;
        const thickness = this.rowHeight > 6 ? 1.5 : Math.max(0.5, this.rowHeight / 3);
        if (slotCommit[s] >= 0 && slotCommit[s] < c) {
          context.fillStyle = palette.verified;
          context.fillRect(x, y - thickness / 2, this.columnWidth, thickness);
        } else if (slotDrop[s] >= 0 && slotDrop[s] < c) {
          context.fillStyle = palette.ink3;
          for (let dot = x + 1; dot < x + this.columnWidth - 1; dot += 8) context.fillRect(dot, y - 0.5, 2, 1);
        }
      }
    }

    drawPlanned(context, c, slot, x, width) {
      const { palette, trace } = this.player;
      const y = slot.slot * this.rowHeight;
      const inset = this.rowHeight > 6 ? 1.5 : 0;
      const height = this.rowHeight - 2 * inset;
      context.globalAlpha = 0.08 + 0.62 * slot.confidence;
      context.fillStyle = palette.plan;
      context.fillRect(x, y + inset, width, height);
      context.globalAlpha = 1;
      if (!slot.chosen) return;
      context.strokeStyle = context.fillStyle = palette.chosen;
      if (this.rowHeight > 6 && width > 6) {
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + inset + 1, width - 2, height - 2);
      } else {
        context.fillRect(x, y, Math.min(2, width), this.rowHeight);
      }
      if (trace.iterations[c].commit >= 0) this.drawReturned(context, x, y, width);
    }

    /** A vermilion cross in chosen cells that nothing came of; committed ones are painted over. */
    drawReturned(context, x, y, width) {
      if (this.rowHeight < 9 || width < 14) return;
      const [cx, cy, r] = [x + width - 9, y + this.rowHeight / 2, 3];
      context.strokeStyle = this.player.palette.rejected;
      context.lineWidth = 1.75;
      context.beginPath();
      context.moveTo(cx - r, cy - r);
      context.lineTo(cx + r, cy + r);
      context.moveTo(cx + r, cy - r);
      context.lineTo(cx - r, cy + r);
      context.stroke();
    }

    drawCommitted(context, commit, record, x, width) {
      const { palette, trace } = this.player;
      const inset = this.rowHeight > 6 ? 1.5 : 0;
      for (const { slot } of commit.slots) {
        const y = slot * this.rowHeight + inset;
        const height = this.rowHeight - 2 * inset;
        context.fillStyle = palette.panel;
        context.fillRect(x, y, width, height);
        context.fillStyle = palette.verified;
        context.fillRect(x, y, width, height);
        const rounds = roundsOf(trace, record, slot);
        if (!rounds) continue;
        context.globalAlpha = 0.35;
        context.fillStyle = this.stripes;
        context.fillRect(x, y, width, height);
        context.globalAlpha = 1;
        if (this.rowHeight < 11 || width < 18) continue;
        context.fillStyle = palette.verified;
        context.fillRect(x + width / 2 - 11, y, 22, height);
        context.fillStyle = readable(palette, palette.verified);
        context.textAlign = "center";
        context.fillText(`${rounds}r`, x + width / 2, y + height / 2 + 0.5);
      }
    }

    place() {
      const { trace, cursor } = this.player;
      const column = trace.iterationAt[cursor] ?? -1;
      const x = this.labelWidth + Math.max(column, 0) * this.columnWidth;
      this.cursor.hidden = column < 0;
      this.cursor.style.width = `${this.columnWidth}px`;
      this.cursor.style.height = `${this.height - TIMELINE.axis}px`;
      this.cursor.style.transform = `translateX(${x}px)`;
      this.ahead.style.transform = `translateX(${column < 0 ? x : x + this.columnWidth}px)`;
      if (this.player.playing) this.keepInSight(x);
    }

    keepInSight(x) {
      const clientWidth = this.player.widthOf(this.scroller);
      if (this.surface.width <= clientWidth) return;
      const { scrollLeft } = this.scroller;
      const hidden = x < scrollLeft || x + this.columnWidth > scrollLeft + clientWidth;
      if (hidden) this.scroller.scrollLeft = x - clientWidth / 2;
    }

    forget() {
      this.say("");
    }

    hover(slot) {
      this.row.hidden = slot < 0;
      this.row.style.height = `${Math.max(this.rowHeight, 2)}px`;
      this.row.style.transform = `translateY(${slot * this.rowHeight}px)`;
    }
  }

  function roundsOf(trace, record, slot) {
    return record.rounds.filter((at) => trace.events[at].slots.some((entry) => entry.slot === slot)).length;
  }

  /** What one cell of the timeline says. */
  function timelineCell(trace, column, slot) {
    const record = trace.iterations[column];
    const planned = record.plan >= 0 ? trace.events[record.plan].slots.find((entry) => entry.slot === slot) : null;
    const committed = record.commit >= 0 && trace.events[record.commit].slots.some((entry) => entry.slot === slot);
    if (!planned) {
      const done = trace.slotCommit[slot] >= 0 && trace.slotCommit[slot] < column;
      const dropped = trace.slotDrop[slot] >= 0 && trace.slotDrop[slot] < column;
      return { kind: committed ? "committed" : done ? "done" : dropped ? "dropped" : "later", confidence: NaN };
    }
    return {
      kind: "confidence", confidence: planned.confidence, chosen: planned.chosen, committed,
      rounds: roundsOf(trace, record, slot),
    };
  }

  // ------------------------------------------------------------------------------------ view: cache ledger

  const LEDGER = { bars: 84, axis: 4, strips: 100, maxBar: 40, linesUpTo: 96 };

  /** What every forward reused and computed, and how buffer order and text order belong together. */
  class LedgerView {
    constructor(player) {
      this.player = player;
      const { section, aside } = panel(player.speaker, "cache", "cache");
      this.section = section;
      this.aside = aside;
      this.bars = new Surface("rfp-canvas");
      this.strips = new Surface("rfp-canvas");
      for (const { canvas } of [this.bars, this.strips]) {
        canvas.setAttribute("role", "img");
        player.speaker.bind(canvas, "cache", "aria-label");
      }
      this.ahead = el("div", "rfp-ahead");
      this.cursor = el("div", "rfp-cursor");
      this.mover = el("div", "rfp-mover");
      this.mover.hidden = true;
      this.barBox = el("div", "rfp-canvas-box rfp-bar-box", this.bars.canvas, this.ahead, this.cursor);
      this.stripBox = el("div", "rfp-canvas-box", this.strips.canvas, this.mover);
      this.readout = el("p", "rfp-readout");
      this.legend = legend(player.speaker, "", [
        ["reused", "legend.reused"], ["computed", "legend.computed"], ["plan-phase", "forward.plan"],
        ["verify-phase", "forward.verify"], ["infill-phase", "legend.infill_phase"],
        ["tpf", "legend.tpf"],
      ]);
      section.append(this.barBox, el("div", "rfp-foot", this.legend, this.readout), this.stripBox);
      this.listen();
    }

    listen() {
      const { canvas } = this.bars;
      const barAt = (event) => {
        const { left } = canvas.getBoundingClientRect();
        return Math.floor((event.clientX - left) / this.barWidth);
      };
      canvas.addEventListener("pointermove", (event) => this.say(barAt(event)));
      canvas.addEventListener("pointerleave", () => this.say(-1));
      canvas.addEventListener("click", (event) => {
        const forward = this.player.trace.forwards[barAt(event)];
        if (forward) this.player.seek(forward.at);
      });
      this.strips.canvas.addEventListener("pointermove", (event) => {
        const { left, top } = this.strips.canvas.getBoundingClientRect();
        const [x, y] = [event.clientX - left, event.clientY - top];
        const hit = (this.boxes ?? []).find((box) =>
          x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
        this.player.hover(hit ? hit.slot : -1);
      });
      this.strips.canvas.addEventListener("pointerleave", () => this.player.hover(-1));
    }

    say(bar) {
      const { trace, speaker } = this.player;
      const forward = trace.forwards[bar];
      if (!forward) {
        setText(this.readout, speaker.text("ledger.hint"));
        return;
      }
      setText(this.readout, speaker.text("ledger.bar", {
        f: bar + 1, phase: speaker.text(`forward.${forward.phase}`), computed: forward.computed, hits: forward.hits,
        tpf: formatRatio(trace.sums.committed[this.endOf(bar)] / (bar + 1)),
      }));
    }

    /** The last event before the next forward: what this forward led to. */
    endOf(bar) {
      const { trace } = this.player;
      return (trace.forwards[bar + 1]?.at ?? trace.length) - 1;
    }

    build() {
      this.drawn = "";
      this.committedShown = 0;
      this.drawnStrips = "";
      this.say(-1);
    }

    paint() {
      const width = this.player.widthOf(this.barBox);
      if (width <= 0) return;
      this.paintBars(width);
      this.paintStrips(width);
      const { discarded, computed, hits } = headlineAt(this.player.trace, this.player.cursor);
      setText(this.aside, this.player.speaker.text("totals", { reused: hits, computed, discarded }));
    }

    capacity() {
      const { trace, state } = this.player;
      const count = trace.forwards.length;
      if (trace.finished || state !== "live") return Math.max(1, count);
      return Math.max(32, 2 ** Math.ceil(Math.log2(count + 1)));
    }

    paintBars(width) {
      const { trace, palette, cursor } = this.player;
      const capacity = this.capacity();
      const layout = [width, capacity, palette.version, trace.forwards.length, trace.sums.committed.at(-1)].join();
      this.barWidth = Math.min(LEDGER.maxBar, width / capacity);
      if (layout !== this.drawn) this.drawBars(width, layout);
      const done = Math.max(0, trace.sums.forwards[cursor] ?? 0);
      const x = Math.max(0, done - 1) * this.barWidth;
      this.cursor.hidden = !done;
      this.cursor.style.width = `${Math.max(3, this.barWidth)}px`;
      this.cursor.style.height = `${LEDGER.bars}px`;
      this.cursor.style.transform = `translateX(${x}px)`;
      this.ahead.style.transform = `translateX(${done * this.barWidth}px)`;
    }

    drawBars(width, layout) {
      this.drawn = layout;
      const { trace, palette } = this.player;
      const context = this.bars.begin(width, LEDGER.bars);
      const top = Math.max(1, ...chunkMax(trace.forwards.map((f) => f.computed + f.hits)));
      const scale = (LEDGER.bars - LEDGER.axis) / top;
      const pattern = stripes(context, palette.panel);
      const gap = this.barWidth > 6 ? 2 : this.barWidth > 3 ? 1 : 0;
      trace.forwards.forEach((forward, n) => {
        const x = n * this.barWidth;
        const barWidth = Math.max(0.5, this.barWidth - gap);
        const [reused, computed] = [forward.hits * scale, forward.computed * scale];
        context.fillStyle = phaseColour(palette, forward.phase);
        context.globalAlpha = 0.22;
        context.fillRect(x, LEDGER.bars - reused, barWidth, reused);
        context.globalAlpha = 1;
        context.fillRect(x, LEDGER.bars - reused - computed, barWidth, computed);
        if (!forward.phase.startsWith("infill")) return;
        context.globalAlpha = 0.45;
        context.fillStyle = pattern;
        context.fillRect(x, LEDGER.bars - reused - computed, barWidth, computed);
        context.globalAlpha = 1;
      });
      this.drawRatio(context);
    }

    /** Tokens per forward so far, scaled to its own maximum. */
    drawRatio(context) {
      const { trace, palette } = this.player;
      const ratios = trace.forwards.map((_, n) => trace.sums.committed[this.endOf(n)] / (n + 1));
      const top = Math.max(0.001, ...chunkMax(ratios));
      context.strokeStyle = palette.panel;
      for (const [colour, thickness] of [[palette.panel, 4], [palette.ink, 1.5]]) {
        context.strokeStyle = colour;
        context.lineWidth = thickness;
        context.lineJoin = "round";
        context.beginPath();
        ratios.forEach((ratio, n) => {
          const y = LEDGER.bars - 3 - (ratio / top) * (LEDGER.bars - 10);
          context.lineTo((n + 0.5) * this.barWidth, y);
        });
        context.stroke();
      }
    }

    /** Buffer order above, text order below, and which entry belongs where. */
    paintStrips(width) {
      const { trace, palette, cursor, frame, speaker } = this.player;
      const { run } = trace;
      const state = [
        width, palette.version, speaker.language, this.player.hoveredSlot, trace.sums.commits[cursor],
        trace.iterationAt[cursor], Math.min(1, trace.sums.forwards[cursor]), frame.slot.join(""),
      ].join();
      if (state === this.drawnStrips) return;
      this.drawnStrips = state;
      const context = this.strips.begin(width, LEDGER.strips);
      const promptLength = run.prompt_ids.length;
      const total = promptLength + run.response_length;
      const promptWidth = promptLength ? Math.min(width * 0.22, Math.max(34, (width * promptLength) / total)) : 0;
      const unit = (width - promptWidth) / run.response_length;
      const layout = { context, palette, promptWidth, unit, top: 16, bottom: 66, height: 16 };
      context.font = `11px ${palette.font}`;
      context.textBaseline = "middle";
      context.textAlign = "left";
      context.fillStyle = palette.ink2;
      context.fillText(speaker.text("strip.buffer"), 0, 7);
      context.fillText(speaker.text("strip.text"), promptWidth, layout.bottom + layout.height + 10);
      this.boxes = [];
      const commits = trace.commits.slice(0, trace.sums.commits[cursor] ?? 0);
      const hasCache = commits.every((commit) => commit.cacheIndex >= 0);
      if (promptWidth) this.drawPromptBox(layout, (trace.sums.forwards[cursor] ?? 0) > 0);
      this.drawTextOrder(layout, frame);
      if (hasCache) this.drawBufferOrder(layout, commits, promptLength);
      this.moveFresh(layout, commits, promptLength);
    }

    drawPromptBox({ context, palette, promptWidth, top, height }, cached) {
      const { speaker, trace } = this.player;
      const n = trace.run.prompt_ids.length;
      const long = speaker.text("strip.prompt", { n });
      const label = [long, String(n), ""].find((text) => context.measureText(text).width < promptWidth - 6);
      context.globalAlpha = cached ? 1 : 0.4;
      context.fillStyle = palette.line;
      context.fillRect(0, top, promptWidth - 2, height);
      context.globalAlpha = 1;
      context.fillStyle = palette.ink;
      context.fillText(label, 4, top + height / 2 + 0.5);
    }

    drawTextOrder(layout, frame) {
      const { context, palette, unit, promptWidth, bottom, height } = layout;
      const size = this.player.trace.slotSize;
      for (let s = 0; s < frame.slot.length; s++) {
        const x = promptWidth + s * size * unit;
        this.drawSlotBox(layout, x, bottom, size * unit, s, frame.slot[s]);
      }
      context.strokeStyle = palette.line;
      context.lineWidth = 1;
      context.strokeRect(promptWidth + 0.5, bottom + 0.5, size * unit * frame.slot.length - 1, height - 1);
    }

    drawBufferOrder(layout, commits, promptLength) {
      const { context, palette, unit, promptWidth, top, bottom, height } = layout;
      const { frame, trace } = this.player;
      const size = trace.slotSize;
      const from = this.player.trace.iterationAt[this.player.cursor];
      commits.forEach((commit, n) => {
        const x = promptWidth + (commit.cacheIndex - promptLength) * unit;
        const fresh = trace.iterationAt[commit.at] === from;
        const status = frame.slot[commit.slot] === SLOT.FRESH && fresh ? SLOT.FRESH : SLOT.COMMITTED;
        const width = commit.tokens * unit;
        this.drawSlotBox(layout, x, top, width, commit.slot, status);
        if (commits.length - n > LEDGER.linesUpTo) return;
        const x2 = promptWidth + commit.slot * size * unit + Math.min(width, size * unit) / 2;
        this.drawLink(context, x + width / 2, top + height, x2, bottom, commit.slot);
      });
      context.strokeStyle = palette.line;
      context.lineWidth = 1;
      const length = size * unit * frame.slot.length;
      context.strokeRect(promptWidth + 0.5, top + 0.5, length - 1, height - 1);
    }

    drawLink(context, x1, y1, x2, y2, slot) {
      const { palette } = this.player;
      const hovered = slot === this.player.hoveredSlot;
      context.strokeStyle = hovered ? palette.ink : palette.ink3;
      context.lineWidth = hovered ? 2 : 0.8;
      context.globalAlpha = hovered ? 1 : 0.8;
      const middle = (y1 + y2) / 2;
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1, middle, x2, middle, x2, y2);
      context.stroke();
      context.globalAlpha = 1;
    }

    drawSlotBox(layout, x, y, width, slot, status) {
      const { context, palette, height } = layout;
      const gap = width > 5 ? 1 : 0;
      const inner = Math.max(0.5, width - gap);
      const solid = status === SLOT.COMMITTED || status === SLOT.FRESH || status === SLOT.PARTIAL;
      const active = status >= SLOT.CHOSEN && status <= SLOT.INFILL;
      context.fillStyle = status === SLOT.FRESH ? palette.chosen : solid ? palette.verified : palette.hatch;
      context.fillRect(x, y, inner, height);
      if (active && width > 4) {
        context.strokeStyle = palette.chosen;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, inner - 2, height - 2);
      }
      if (status === SLOT.DROPPED) {
        context.fillStyle = palette.ink3;
        context.fillRect(x, y + height / 2, inner, 1);
      }
      if (slot === this.player.hoveredSlot) {
        context.strokeStyle = palette.ink;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(1, inner - 2), height - 2);
      }
      this.boxes.push({ x, y, width, height, slot });
      if (width < 17) return;
      context.fillStyle = palette.ink2;
      if (solid) context.fillStyle = status === SLOT.FRESH ? palette.onChosen : readable(palette, palette.verified);
      context.textAlign = "center";
      const label = width > 52 ? this.player.speaker.text("slot", { s: slot }) : String(slot);
      context.fillText(label, x + inner / 2, y + height / 2 + 0.5);
      context.textAlign = "left";
    }

    /** Once per commit, a committed slot travels from its place in the text to its place in the cache. */
    moveFresh({ promptWidth, unit, top, bottom, height }, commits, promptLength) {
      const grown = commits.length > this.committedShown ? commits[commits.length - 1] : null;
      this.committedShown = commits.length;
      if (grown?.at !== this.player.cursor || grown.cacheIndex < 0 || !this.player.moves()) return;
      const size = this.player.trace.slotSize;
      const x1 = promptWidth + grown.slot * size * unit;
      const x2 = promptWidth + (grown.cacheIndex - promptLength) * unit;
      const { mover } = this;
      mover.hidden = false;
      mover.style.width = `${Math.max(2, grown.tokens * unit - 1)}px`;
      mover.style.height = `${height}px`;
      const motion = mover.animate(
        [{ transform: `translate(${x1}px, ${bottom}px)` }, { transform: `translate(${x2}px, ${top}px)` }],
        { duration: 240, easing: "ease-in-out" });
      motion.onfinish = () => (mover.hidden = true);
    }

    forget() {
      this.say(-1);
    }

    hover() {
      if (this.player.trace.run) this.paintStrips(this.player.widthOf(this.barBox));
    }
  }

  /** Maxima of chunks: Math.max takes no list of any length as arguments. */
  function chunkMax(list) {
    const maxima = [0];
    for (let i = 0; i < list.length; i += 1000) maxima.push(Math.max(...list.slice(i, i + 1000)));
    return maxima;
  }

  // -------------------------------------------------------------------------------------- view: dependency

  const HEAT = { label: 46, head: 20, maxHeight: 250, maxColumn: 46, maxRow: 30, cells: 3000 };

  /** Attention mass of remaining slots on committed and remaining slots, in the plan forward of an iteration. */
  class DependencyView {
    constructor(player) {
      this.player = player;
      const { section } = panel(player.speaker, "dependency", "dependency");
      this.section = section;
      this.surface = new Surface("rfp-canvas");
      this.surface.canvas.setAttribute("role", "img");
      player.speaker.bind(this.surface.canvas, "dependency", "aria-label");
      this.row = el("div", "rfp-row-mark");
      this.box = el("div", "rfp-canvas-box", this.surface.canvas, this.row);
      this.empty = player.speaker.bind(el("p", "rfp-empty"), "dependency.none");
      this.scroller = el("div", "rfp-canvas-scroller", this.box, this.empty);
      this.caption = el("p", "rfp-caption");
      this.readout = el("p", "rfp-readout");
      section.append(this.caption, this.scroller, this.readout);
      this.surface.canvas.addEventListener("pointermove", (event) => this.point(event));
      this.surface.canvas.addEventListener("pointerleave", () => {
        setText(this.readout, "");
        player.hover(-1);
      });
    }

    build() {
      const { run } = this.player.trace;
      const rows = Math.ceil(run.slot_count / Math.max(1, run.settings.serial_blocks));
      this.rowHeight = Math.max(1, Math.min(HEAT.maxRow, (HEAT.maxHeight - HEAT.head) / rows));
      const height = Math.ceil(rows * this.rowHeight) + HEAT.head;
      this.scroller.style.height = `${Math.min(height, HEAT.maxHeight + 60) + 4}px`;
      // A trace without any dependency needs no room for it.
      const { trace, state } = this.player;
      const none = state !== "live" && trace.iterations.every((record) => record.dependency < 0);
      this.section.classList.toggle("is-none", none);
      this.drawn = "";
    }

    paint() {
      const { trace, cursor, palette, speaker } = this.player;
      const record = trace.plannedAt(cursor);
      const event = record && record.dependency >= 0 ? trace.events[record.dependency] : null;
      const width = this.player.widthOf(this.scroller);
      const layout = [record?.number, Boolean(event), width, palette.version, speaker.language].join();
      if (layout === this.drawn || width <= 0) return;
      this.drawn = layout;
      this.event = event;
      this.box.hidden = !event;
      this.empty.hidden = Boolean(event);
      if (event) this.draw(event, record, width);
      else setText(this.caption, "");
      setText(this.readout, "");
      this.hover(this.player.hoveredSlot);
    }

    draw(event, record, width) {
      const { palette, speaker, trace } = this.player;
      const columns = event.columns.length + 1;
      this.columnWidth = Math.max(0.5, Math.min(HEAT.maxColumn, (width - HEAT.label) / columns));
      const total = HEAT.label + columns * this.columnWidth;
      const context = this.surface.begin(total, HEAT.head + event.rows.length * this.rowHeight);
      this.box.style.width = `${total}px`;
      context.font = `11px ${palette.font}`;
      context.textBaseline = "middle";
      const chosen = new Set(record.plan >= 0 ? trace.events[record.plan].chosen_slots : []);
      const top = Math.max(1e-9, ...chunkMax(event.matrix.flat()));
      if (event.rows.length * columns > HEAT.cells) this.drawPixels(context, event, top);
      else event.rows.forEach((row, r) => this.drawRow(context, event, r, top));
      this.drawAxes(context, event, chosen);
      setText(this.caption, speaker.text("dependency.caption", {
        i: record.number + 1, p: formatProbability(top),
      }));
    }

    drawRow(context, event, r, top) {
      const y = HEAT.head + r * this.rowHeight;
      this.drawCell(context, HEAT.label, y, event.prompt[r], top, true);
      event.matrix[r].forEach((value, c) => {
        this.drawCell(context, HEAT.label + (c + 1) * this.columnWidth, y, value, top, false);
      });
    }

    /** A large matrix: one pixel a cell, scaled without smoothing. */
    drawPixels(context, event, top) {
      const { palette } = this.player;
      const [rows, columns] = [event.rows.length, event.columns.length + 1];
      const image = new ImageData(columns, rows);
      const [slotRgb, promptRgb] = [channels(palette.plan), channels(palette.ink3)];
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) {
          const share = Math.min(1, c ? event.matrix[r][c - 1] / top : event.prompt[r]);
          image.data.set(c ? slotRgb : promptRgb, 4 * (r * columns + c));
          image.data[4 * (r * columns + c) + 3] = 255 * (0.04 + 0.86 * share);
        }
      }
      const small = document.createElement("canvas");
      [small.width, small.height] = [columns, rows];
      small.getContext("2d").putImageData(image, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, HEAT.label, HEAT.head, columns * this.columnWidth, rows * this.rowHeight);
    }

    /** The prompt's column is often far above the slots: it is drawn in grey, on its own scale from 0 to 1. */
    drawCell(context, x, y, value, top, isPrompt) {
      const { palette } = this.player;
      const gap = this.columnWidth > 6 && this.rowHeight > 4 ? 1 : 0;
      const share = Math.min(1, value / (isPrompt ? 1 : top));
      const [alpha, colour] = [0.04 + 0.86 * share, isPrompt ? palette.ink3 : palette.plan];
      context.globalAlpha = alpha;
      context.fillStyle = colour;
      context.fillRect(x, y, this.columnWidth - gap, this.rowHeight - gap);
      context.globalAlpha = 1;
      if (this.columnWidth < 28 || this.rowHeight < 13) return;
      context.fillStyle = readable(palette, colour, alpha);
      context.textAlign = "center";
      context.fillText(value.toFixed(2), x + (this.columnWidth - gap) / 2, y + (this.rowHeight - gap) / 2 + 0.5);
    }

    drawAxes(context, event, chosen) {
      const { palette, speaker } = this.player;
      const remaining = new Set(event.rows);
      context.textAlign = "left";
      const rowStep = labelStep(this.rowHeight, 12);
      event.rows.forEach((slot, r) => {
        const y = HEAT.head + r * this.rowHeight;
        context.strokeStyle = palette.chosen;
        context.lineWidth = 2;
        if (chosen.has(slot)) this.outline(context, HEAT.label, y, event.columns.length + 1);
        if (r % rowStep) return;
        context.fillStyle = palette.ink2;
        context.fillText(speaker.text("slot", { s: slot }), 0, y + this.rowHeight / 2, HEAT.label - 6);
      });
      context.textAlign = "center";
      const columnStep = labelStep(this.columnWidth, 18);
      context.fillStyle = palette.ink2;
      const head = speaker.text("dependency.head");
      const fits = context.measureText(head).width < this.columnWidth;
      if (this.columnWidth > 12) context.fillText(fits ? head : "P", HEAT.label + this.columnWidth / 2, 8);
      event.columns.forEach((slot, c) => {
        const x = HEAT.label + (c + 1) * this.columnWidth;
        context.fillStyle = remaining.has(slot) ? palette.plan : palette.verified;
        context.fillRect(x, HEAT.head - 4, Math.max(1, this.columnWidth - 1), 2);
        context.fillStyle = palette.ink2;
        if (c % columnStep === 0) context.fillText(String(slot), x + this.columnWidth / 2, 8);
      });
    }

    outline(context, x, y, columns) {
      context.strokeRect(x + 1, y + 1, columns * this.columnWidth - 3, Math.max(1, this.rowHeight - 3));
    }

    point(event) {
      if (!this.event) return;
      const { left, top } = this.surface.canvas.getBoundingClientRect();
      const c = Math.floor((event.clientX - left - HEAT.label) / this.columnWidth) - 1;
      const r = Math.floor((event.clientY - top - HEAT.head) / this.rowHeight);
      const row = this.event.rows[r];
      const value = c < 0 ? this.event.prompt[r] : this.event.matrix[r]?.[c];
      const inside = row !== undefined && value !== undefined && c >= -1;
      this.player.hover(inside ? row : -1);
      setText(this.readout, inside ? this.player.speaker.text(c < 0 ? "dependency.prompt" : "dependency.cell", {
        row, column: this.event.columns[c], p: value.toFixed(4),
      }) : "");
    }

    hover(slot) {
      const r = this.event ? this.event.rows.indexOf(slot) : -1;
      this.row.hidden = r < 0;
      this.row.style.height = `${Math.max(2, this.rowHeight)}px`;
      this.row.style.transform = `translateY(${HEAT.head + r * this.rowHeight}px)`;
    }
  }

  // -------------------------------------------------------------------------------------- view: scoreboard

  /** Every remaining slot of a plan, the most confident first, against the threshold. */
  class ScoreboardView {
    constructor(player) {
      this.player = player;
      const { section, title, aside } = panel(player.speaker, "scoreboard");
      [this.section, this.title, this.aside] = [section, title, aside];
      this.list = el("ol", "rfp-scores");
      this.more = el("p", "rfp-caption");
      this.empty = player.speaker.bind(el("p", "rfp-empty"), "scoreboard.empty");
      this.scroller = el("div", "rfp-score-scroller", this.list, this.more, this.empty);
      section.append(this.scroller);
      this.rows = [];
      const over = (event) => {
        const row = event.target.closest?.(".rfp-score");
        player.hover(row ? Number(row.dataset.slot) : -1);
      };
      this.list.addEventListener("pointerover", over);
      this.list.addEventListener("pointerleave", () => player.hover(-1));
    }

    build() {
      const { run } = this.player.trace;
      const rows = Math.min(12, Math.ceil(run.slot_count / Math.max(1, run.settings.serial_blocks)));
      this.scroller.style.setProperty("--rows", rows);
      this.list.style.setProperty("--threshold", run.settings.slot_threshold);
      this.list.classList.toggle("is-unlimited", !hasThreshold(run));
    }

    paint() {
      const { trace, cursor, speaker } = this.player;
      const record = trace.plannedAt(cursor);
      this.empty.hidden = Boolean(record);
      this.list.hidden = !record;
      const title = record ? "scoreboard" : "scoreboard.none";
      setText(this.title, speaker.text(title, { i: record ? record.number + 1 : 0 }));
      const threshold = formatProbability(trace.run.settings.slot_threshold);
      setText(this.aside, hasThreshold(trace.run) ? speaker.text("scoreboard.threshold", { p: threshold }) : "");
      if (!record) {
        this.more.hidden = true;
        return;
      }
      const ranked = this.ranked(record);
      const shown = ranked.slice(0, SCOREBOARD_ROWS);
      while (this.rows.length < shown.length) this.addRow();
      this.rows.forEach((row, n) => {
        row.node.hidden = n >= shown.length;
        if (n < shown.length) this.paintRow(row, shown[n], record);
      });
      const hidden = ranked.length - shown.length;
      this.more.hidden = hidden <= 0;
      if (hidden > 0) {
        setText(this.more, speaker.text("scoreboard.more", {
          n: hidden, p: formatProbability(ranked[SCOREBOARD_ROWS].confidence),
        }));
      }
    }

    ranked(record) {
      if (this.rankedOf !== record || this.rankedAt !== record.plan) {
        this.rankedOf = record;
        this.rankedAt = record.plan;
        this.order = [...this.player.trace.events[record.plan].slots].sort((a, b) => a.rank - b.rank);
      }
      return this.order;
    }

    addRow() {
      const row = {
        name: el("span", "rfp-score-name"), bar: el("i", "rfp-score-bar"),
        value: el("span", "rfp-score-value"), outcome: el("span", "rfp-score-outcome"),
      };
      row.node = el("li", "rfp-score", row.name, el("span", "rfp-score-track", row.bar), row.value, row.outcome);
      this.rows.push(row);
      this.list.append(row.node);
    }

    paintRow(row, slot, record) {
      const { speaker } = this.player;
      setAttribute(row.node, "data-slot", String(slot.slot));
      row.node.classList.toggle("is-chosen", slot.chosen);
      row.node.classList.toggle("is-hovered", slot.slot === this.player.hoveredSlot);
      setText(row.name, speaker.text("slot", { s: slot.slot }));
      setText(row.value, formatProbability(slot.confidence));
      row.bar.style.setProperty("--confidence", slot.confidence);
      const { key, values } = this.outcome(slot, record);
      setText(row.outcome, speaker.text(`outcome.${key}`, values));
      setAttribute(row.node, "data-outcome", key);
    }

    /** What has become of the slot up to the cursor. */
    outcome(slot, record) {
      const { trace, cursor, frame } = this.player;
      if (!slot.chosen) {
        if (frame.slot[slot.slot] === SLOT.DROPPED) return { key: "dropped" };
        return { key: slot.reason === "not_among_best" ? "lower" : "below" };
      }
      const seen = (at) => at >= 0 && at <= cursor;
      const find = (at) => seen(at) && trace.events[at].slots.find((entry) => entry.slot === slot.slot);
      if (find(record.commit)) return { key: "committed" };
      const verified = find(record.verify);
      if (!verified) return { key: slot.reason === "best_of_none" ? "best" : "chosen" };
      if (verified.outcome === "returned") {
        return { key: verified.accepted_run < trace.slotSize ? "returned" : "behind" };
      }
      if (frame.slot[slot.slot] === SLOT.DROPPED || verified.outcome === "dropped") return { key: "dropped" };
      if (verified.outcome === "infill") {
        if (isComplete(frame, slot.slot, trace.slotSize)) return { key: "complete" };
        return { key: "infill", values: { run: frame.run[slot.slot], size: trace.slotSize } };
      }
      return { key: "accepted" };
    }

    hover(slot) {
      for (const { node } of this.rows) node.classList.toggle("is-hovered", Number(node.dataset.slot) === slot);
    }
  }

  // --------------------------------------------------------------------------------------- view: narration

  /** @typedef {[string, object]} Sentence a text key and its values */

  /** What happens at an event, in one to three sentences with the real numbers. @returns {Sentence[]} */
  const NARRATE = {
    run_started({ event, speaker }) {
      const { settings } = event;
      const rule = tokenRule(settings, event.decoder);
      return [
        ["say.run_started", {
          decoder: speaker.text(`decoder.${event.decoder ?? "refusion"}`), length: event.response_length,
          slots: event.slot_count, size: settings.slot_size, blocks: settings.serial_blocks,
        }],
        rule ? [`say.rule.${rule.key}`, rule] : ["say.thresholds", {
          slot: formatProbability(settings.slot_threshold), token: formatProbability(settings.token_threshold),
        }],
        ...(event.notices ?? []).map((notice) => ["{notice}", { notice: `${notice}.` }]),
      ];
    },

    vocabulary: ({ event }) => [["say.vocabulary", { n: event.tokens.length }]],

    forward({ event, trace, at, speaker }) {
      const counts = {};
      for (const segment of event.segments) counts[segment.kind] = (counts[segment.kind] ?? 0) + segment.tokens;
      // A baseline drafts nothing: what it feeds besides prompt and masks is decoded already.
      const word = (kind) => (kind === "draft" && /^(ar|mdm)$/.test(event.phase) ? "decoded" : kind);
      const parts = Object.entries(counts).map(([kind, n]) => speaker.text(`count.${word(kind)}`, { n }));
      const values = { f: trace.sums.forwards[at], parts: speaker.join(parts), hits: event.cache_hits };
      return [[`say.forward.${event.phase}`, values]];
    },

    plan({ event, trace, speaker }) {
      const chosen = event.slots.filter((slot) => slot.chosen);
      const threshold = formatProbability(trace.run.settings.slot_threshold);
      const masks = event.slots.reduce((sum, slot) => sum + (slot.mask_offsets?.length ?? 0), 0);
      const note = masks ? [["say.plan.mask", { n: masks }]] : [];
      if (chosen[0]?.reason === "next") {
        return [["say.plan.next", { p: formatProbability(chosen[0].confidence) }], ...note];
      }
      if (chosen[0]?.reason === "best_of_none") {
        const [best] = chosen;
        return [["say.plan.best", { threshold, slot: best.slot, p: formatProbability(best.confidence) }], ...note];
      }
      const names = chosen.map((slot) =>
        `${speaker.text("slot", { s: slot.slot })} (${formatProbability(slot.confidence)})`);
      const values = { n: chosen.length, m: event.slots.length, threshold, list: speaker.some(names) };
      return [[chosen[0]?.reason === "among_best" ? "say.plan.count" : "say.plan.above", values], ...note];
    },

    verify(context) {
      const { event, trace, speaker } = context;
      const { token_threshold: threshold } = trace.run.settings;
      const broken = event.slots.find((slot) => slot.accepted_run < slot.tokens.length);
      const kept = event.slots.filter((slot) => slot.outcome === "committed").map((slot) => slot.slot);
      if (event.outcome === "eos") {
        const values = { slot: kept[kept.length - 1], kept: speaker.slots(kept), k: kept.length };
        return [["say.verify.eos", values]];
      }
      if (!broken) {
        const tokens = event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0);
        return [["say.verify.whole", { tokens, slots: speaker.slots(kept), n: kept.length }]];
      }
      const k = broken.accepted_run;
      const sentences = [["say.verify.break", {
        slot: broken.slot, token: { token: trace.tokenText(broken.tokens[k]) },
        test: formatTest(broken.probabilities[k], threshold),
      }]];
      const back = event.slots.filter((slot) => slot.outcome === "returned").map((slot) => slot.slot);
      if (event.outcome === "infill") {
        const key = event.slots.length === 1 ? "say.verify.infill_one" : "say.verify.infill_many";
        sentences.push([key, { slot: event.slots[0].slot, n: event.slots.length }]);
      } else {
        sentences.push(["say.verify.kept", {
          kept: speaker.sentenceStart(speaker.slots(kept)), k: kept.length, back: speaker.slots(back), b: back.length,
        }]);
      }
      return sentences;
    },

    infill_round({ event, trace, speaker }) {
      const slot = event.slots.find((entry) => entry.ended_by_eos) ??
        event.slots.find((entry) => entry.slot === event.straggler) ?? event.slots[0];
      const waiting = event.slots.filter((entry) => !entry.complete && !entry.dropped).map((entry) => entry.slot);
      const sentences = [narrateRound(slot, event.round, trace)];
      if (waiting.length > 1 && event.straggler !== undefined) {
        sentences.push(["say.round.rest", {
          slots: speaker.sentenceStart(speaker.slots(waiting)), n: waiting.length, slowest: event.straggler,
        }]);
      }
      return sentences;
    },

    commit({ event, trace, frame, speaker }) {
      const slots = event.slots.map((slot) => slot.slot);
      const counts = {};
      for (const slot of event.slots) for (const origin of slot.origins) counts[origin] = (counts[origin] ?? 0) + 1;
      const origins = Object.entries(counts).map(([origin, n]) => `${n} ${speaker.text(`origin.${origin}`)}`);
      const indexes = event.slots.flatMap((slot) => slot.cache_indexes);
      const values = {
        slots: speaker.slots(slots), tokens: event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0),
        origins: speaker.join(origins), range: rangeText(indexes),
      };
      const sentences = [[indexes.length ? "say.commit" : "say.commit.plain", values]];
      const early = earlierMasked(frame, Math.max(...slots));
      if (event.eos_position !== undefined) {
        const n = event.dropped_slots?.length ?? 0;
        const behind = frame.status.includes(CELL.CUT) ? "say.commit.cut" : "say.commit.end";
        sentences.push([n ? "say.commit.eos" : behind, { p: event.eos_position, n }]);
      }
      if (early.length) sentences.push(["say.commit.early", { slots: speaker.slots(early), n: early.length }]);
      return sentences;
    },

    cache: ({ event }) => [["say.cache", event]],

    dependency({ event }) {
      let best = null;
      event.matrix.forEach((row, r) => row.forEach((value, c) => {
        if (event.columns[c] === event.rows[r]) return;
        if (!best || value > best.value) best = { value, r, c };
      }));
      const r = best ? best.r : 0;
      const values = {
        row: event.rows[r], prompt: formatProbability(event.prompt[r]), column: best && event.columns[best.c],
        p: best && formatProbability(best.value),
      };
      return [[best ? "say.dependency" : "say.dependency.prompt", values]];
    },

    run_finished({ event, trace, frame }) {
      const { stats } = event;
      const stopped = event.stop_reason === "stopped" || event.stop_reason === "error";
      const last = trace.iterations[trace.iterations.length - 1];
      const i = stopped ? (last ? last.number + 1 : 1) : stats.iterations;
      const sentences = [[`say.end.${event.stop_reason}`, { i, error: event.error ?? "" }]];
      if (frame.status[0] === CELL.COMMITTED && frame.token[0] === trace.run.model.eos_id) {
        sentences.push(["say.end.empty", {}]);
      }
      sentences.push(["say.end.sum", {
        n: stats.committed_tokens, f: stats.forwards, tpf: formatRatio(stats.tokens_per_forward),
        hits: formatPercent(stats.cache_hit_rate),
      }]);
      return sentences;
    },
  };

  /** @returns {Sentence} */
  function narrateRound(slot, round, trace) {
    const values = {
      r: (round ?? 0) + 1, slot: slot.slot, before: slot.run_before, after: slot.run_after, size: slot.tokens.length,
    };
    if (slot.ended_by_eos) return ["say.round.eos", values];
    const forced = slot.statuses.indexOf("forced");
    const broken = forced >= 0 ? forced : slot.statuses.indexOf("rejected");
    if (broken < 0) return ["say.round.done", values];
    values.token = { token: trace.tokenText(slot.tokens[slot.run_before + broken]) };
    values.test = formatTest(slot.verified[broken], trace.tokenThreshold);
    return [forced >= 0 ? "say.round.forced" : "say.round.grow", values];
  }

  function rangeText(indexes) {
    if (indexes.length < 2) return indexes.join("");
    return `${Math.min(...indexes)}–${Math.max(...indexes)}`;
  }

  /** Slots left of a committed one that are still to be decoded. */
  function earlierMasked(frame, slot) {
    const early = [];
    for (let s = 0; s < slot; s++) if (frame.slot[s] < SLOT.FRESH) early.push(s);
    return early;
  }

  /** Name of the phase of an event, for titles and the transport. */
  function phaseText(speaker, event) {
    if (event.type === "forward") return speaker.text(`forward.${event.phase}`);
    return speaker.text(`phase.${event.type}`, { r: (event.round ?? 0) + 1 });
  }

  class NarrationView {
    constructor(player) {
      this.player = player;
      const { section, title, aside } = panel(player.speaker, "narration");
      [this.section, this.title, this.aside] = [section, title, aside];
      this.text = el("p", "rfp-narration-text");
      this.numbers = {};
      const list = el("dl", "rfp-numbers");
      for (const name of ["tpf", "hits", "forwards", "committed"]) {
        const value = el("dd", "rfp-number");
        value.dataset.number = name;
        this.numbers[name] = value;
        list.append(el("div", "", player.speaker.bind(el("dt", ""), `numbers.${name}`), value));
      }
      section.append(this.text, list);
    }

    build() {
      this.said = "";
    }

    paint() {
      const { trace, cursor, speaker, frame, playing } = this.player;
      const event = trace.events[cursor];
      setAttribute(this.text, "aria-live", playing ? "off" : "polite");
      setText(this.title, this.where(event));
      setText(this.aside, speaker.text("count", { i: cursor + 1, n: trace.length }));
      const key = [cursor, speaker.language, trace.run.run_id].join();
      if (key !== this.said) {
        this.said = key;
        this.say(NARRATE[event.type]({ event, trace, at: cursor, speaker, frame }));
      }
      const figures = headlineAt(trace, cursor);
      setText(this.numbers.tpf, formatRatio(figures.tokensPerForward));
      setText(this.numbers.hits, formatPercent(figures.hitRate));
      setText(this.numbers.forwards, String(figures.forwards));
      setText(this.numbers.committed, String(figures.committed));
    }

    where(event) {
      const { speaker } = this.player;
      if (event.type === "run_finished") return speaker.text("where.end");
      if (!Number.isInteger(event.iteration)) return speaker.text("where.start");
      return speaker.text("where.iteration", { i: event.iteration + 1, phase: phaseText(speaker, event) });
    }

    say(sentences) {
      const { speaker } = this.player;
      const nodes = sentences.flatMap(([key, values], n) => [
        ...(n && speaker.language === "en" ? [document.createTextNode(" ")] : []), ...speaker.nodes(key, values),
      ]);
      this.text.replaceChildren(...nodes);
    }

    /** Nothing to narrate: before a run. */
    clear() {
      this.said = "";
      setText(this.title, this.player.speaker.text("narration.idle"));
      setText(this.aside, "");
      this.text.replaceChildren();
      for (const value of Object.values(this.numbers)) setText(value, "–");
    }
  }

  // --------------------------------------------------------------------------------------- view: inspector

  /** A small card about one token: what it is and where each of its numbers comes from. */
  class Inspector {
    constructor(player) {
      this.player = player;
      this.card = el("div", "rfp-inspector");
      this.card.setAttribute("role", "tooltip");
      this.card.id = `rfp-inspector-${Inspector.count++}`;
      this.card.hidden = true;
      this.offset = -1;
    }

    show(offset, cell) {
      if (!this.player.trace.run) return;
      this.cell?.removeAttribute("aria-describedby");
      this.offset = offset;
      this.cell = cell;
      cell.setAttribute("aria-describedby", this.card.id);
      this.fill();
      this.card.hidden = false;
      this.placeAt(cell);
    }

    hide() {
      this.cell?.removeAttribute("aria-describedby");
      this.offset = -1;
      this.card.hidden = true;
    }

    /** Keeps the card true while the player moves on. */
    refresh() {
      if (this.offset >= 0 && this.player.trace.run) this.fill();
    }

    fill() {
      const { trace, frame, cursor, speaker } = this.player;
      const { offset } = this;
      const { steps } = provenanceOf(trace, frame, cursor, offset);
      this.card.replaceChildren(
        this.tokenLine(offset), this.placeLine(offset), ...steps.map((step) => this.stepLine(step)),
        ...this.alternativeLines(steps));
      if (steps.some((step) => step.overMask)) {
        this.card.append(el("p", "rfp-inspector-note", speaker.text("inspector.overMask")));
      }
    }

    tokenLine(offset) {
      const { trace, frame, speaker } = this.player;
      const id = frame.token[offset];
      const status = CELL_NAMES[frame.status[offset]];
      const origin = ORIGINS[frame.origin[offset]];
      const words = [speaker.text(`status.${status}`)];
      if (status === "committed" && origin !== "none") words.push(speaker.text(`origin.${origin}`));
      if (status === "cut") words[0] = speaker.text("inspector.cut");
      const line = el("p", "rfp-inspector-head");
      if (id >= 0) line.append(el("code", "rfp-quote", clip(trace.tokenText(id), 2000)));
      line.append(el("span", "", words.join(" · ")));
      const known = trace.vocabulary.get(id);
      if (known?.bytes) line.append(el("span", "", speaker.text("inspector.bytes", { n: known.bytes.length })));
      if (known && known.raw.length > CELL_TEXT_LIMIT) {
        line.append(el("span", "", speaker.text("inspector.long", { n: known.raw.length })));
      }
      return line;
    }

    placeLine(offset) {
      const { trace, frame, speaker } = this.player;
      const words = [speaker.text("slot", { s: Math.floor(offset / trace.slotSize) })];
      words.push(speaker.text("inspector.position", { p: trace.run.response_start + offset }));
      if (frame.token[offset] >= 0) words.push(speaker.text("inspector.id", { id: frame.token[offset] }));
      if (frame.cacheIndex[offset] >= 0) words.push(speaker.text("inspector.cache", { c: frame.cacheIndex[offset] }));
      const record = frame.commitEvent[offset] >= 0 ? trace.recordAt(frame.commitEvent[offset]) : null;
      if (record) words.push(speaker.text("inspector.iteration", { i: record.number + 1 }));
      return el("p", "rfp-inspector-place", words.join(" · "));
    }

    stepLine(step) {
      const { trace, speaker } = this.player;
      const name = speaker.text(`inspector.${step.kind}`, { r: (step.round ?? 0) + 1 });
      const checked = step.kind === "verify" || step.kind === "check";
      const p = step.probability;
      const number = checked ? formatTest(p, trace.tokenThreshold) : formatProbability(p);
      const line = el("p", "rfp-inspector-step", el("span", "rfp-step-name", name));
      line.append(el("code", "rfp-quote", clip(trace.tokenText(step.token), 24)), el("b", "", number));
      const passed = step.status ? speaker.text(`status.${step.status}`) : "";
      if (step.kind !== "first" && passed) line.append(el("span", "", passed));
      if (Number.isInteger(step.forward)) {
        line.append(el("span", "rfp-step-forward", speaker.text("inspector.forward", { f: step.forward + 1 })));
      }
      return line;
    }

    /** Alternatives of the latest forward that proposed something here. */
    alternativeLines(steps) {
      const { trace, speaker } = this.player;
      const last = steps.filter((step) => step.alternatives?.length).pop();
      if (!last) return [];
      const rows = last.alternatives.map(([id, p]) => {
        const bar = el("i", "rfp-score-bar");
        bar.style.setProperty("--confidence", p);
        const row = el("li", "", el("code", "rfp-quote", clip(trace.tokenText(id), 24)),
          el("span", "rfp-score-track", bar), el("span", "", formatProbability(p)));
        row.classList.toggle("is-taken", id === last.token);
        return row;
      });
      const forward = speaker.text("inspector.forward", { f: last.forward + 1 });
      const title = `${speaker.text("inspector.alternatives")} · ${forward}`;
      return [el("p", "rfp-inspector-title", title), el("ol", "rfp-alternatives", ...rows)];
    }

    placeAt(cell) {
      const root = this.player.element.getBoundingClientRect();
      const at = cell.getBoundingClientRect();
      const { offsetWidth: width, offsetHeight: height } = this.card;
      const left = Math.max(8, Math.min(at.left - root.left, root.width - width - 8));
      const below = at.bottom + height + 8 < window.innerHeight || at.top - height - 8 < 0;
      const top = below ? at.bottom - root.top + 6 : at.top - root.top - height - 6;
      this.card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }
  }
  Inspector.count = 0;

  // --------------------------------------------------------------------------------------------- transport

  /** Buttons, the scrub bar with phase-coloured ticks, speed and live. */
  class Transport {
    constructor(player) {
      this.player = player;
      this.play = this.button("play", "button.play", () => player.toggle(), "rfp-play");
      this.iterationBack = this.button("iterationBack", "button.iterationBack", () => player.stepIteration(-1));
      this.back = this.button("back", "button.back", () => player.step(-1));
      this.forward = this.button("forward", "button.forward", () => player.step(1));
      this.iterationForward = this.button(
        "iterationForward", "button.iterationForward", () => player.stepIteration(1));
      this.ticks = new Surface("rfp-ticks");
      this.range = el("input", "rfp-range");
      this.range.type = "range";
      this.range.min = "0";
      this.range.step = "1";
      player.speaker.bind(this.range, "button.scrub", "aria-label");
      this.range.addEventListener("input", () => player.seek(Number(this.range.value)));
      this.head = el("div", "rfp-playhead");
      this.scrub = el("div", "rfp-scrub", this.ticks.canvas, this.head, this.range);
      this.status = el("span", "rfp-status");
      this.speed = this.speedSelect();
      this.live = el("button", "rfp-button rfp-live");
      this.live.type = "button";
      player.speaker.bind(this.live, "button.followTitle", "title");
      this.live.addEventListener("click", () => player.follow(!player.following));
      const buttons = el(
        "div", "rfp-buttons", this.iterationBack, this.back, this.play, this.forward, this.iterationForward);
      const side = el("div", "rfp-side", this.status, this.speed, this.live);
      this.node = el("div", "rfp-transport", buttons, this.scrub, side);
      this.node.setAttribute("role", "group");
    }

    button(name, key, action, extra = "") {
      const node = el("button", `rfp-button ${extra}`, icon(ICONS[name]));
      node.type = "button";
      this.player.speaker.bind(node, key, "aria-label");
      this.player.speaker.bind(node, key, "title");
      node.addEventListener("click", action);
      return node;
    }

    speedSelect() {
      const select = el("select", "rfp-speed");
      for (const speed of SPEEDS) {
        const option = el("option", "", `${speed}×`);
        option.value = String(speed);
        select.append(option);
      }
      this.player.speaker.bind(select, "button.speed", "aria-label");
      select.addEventListener("change", () => this.player.setSpeed(Number(select.value)));
      return select;
    }

    paint() {
      const { player } = this;
      const { trace, cursor, speaker, playing, state } = player;
      this.paintPlay(playing);
      const last = Math.max(0, trace.length - 1);
      if (this.range.max !== String(last)) this.range.max = String(last);
      if (this.range.value !== String(cursor)) this.range.value = String(Math.max(0, cursor));
      this.range.disabled = !trace.run;
      const status = trace.run ? this.statusText() : "";
      setText(this.status, status);
      setAttribute(this.range, "aria-valuetext", status);
      this.speed.value = String(player.speed);
      this.live.hidden = state !== "live";
      setText(this.live, speaker.text(player.following ? "button.follow" : "button.catchUp"));
      setAttribute(this.live, "aria-pressed", String(player.following));
      for (const node of [this.iterationBack, this.back]) node.disabled = !trace.run || cursor <= 0;
      for (const node of [this.forward, this.iterationForward]) node.disabled = !trace.run || cursor >= last;
      this.play.disabled = !trace.run;
      this.paintTicks(last);
    }

    paintPlay(playing) {
      if (this.shownPlaying === playing) return;
      this.shownPlaying = playing;
      this.play.replaceChildren(icon(ICONS[playing ? "pause" : "play"]));
      const label = this.player.speaker.text(playing ? "button.pause" : "button.play");
      setAttribute(this.play, "aria-label", label);
      setAttribute(this.play, "title", label);
    }

    statusText() {
      const { trace, cursor, speaker, state } = this.player;
      const event = trace.events[cursor];
      if (event.type === "run_finished") return speaker.text("where.end");
      const record = trace.recordAt(cursor);
      if (!record) return speaker.text("where.start");
      const key = state === "live" ? "status.live" : "status.iteration";
      return [
        speaker.text(key, { i: record.number + 1, n: trace.iterations.length }),
        speaker.text("status.forward", { f: trace.sums.forwards[cursor] }), phaseText(speaker, event),
      ].join(" · ");
    }

    paintTicks(last) {
      const { trace, palette, cursor } = this.player;
      const width = this.player.widthOf(this.scrub);
      if (width <= 0) return;
      const layout = [width, trace.length, palette.version].join();
      if (layout !== this.drawn) {
        this.drawn = layout;
        this.drawTicks(this.ticks.begin(width, 18), width);
      }
      const x = last ? (cursor / last) * width : 0;
      this.head.style.transform = `translateX(${Math.max(0, x)}px)`;
    }

    /** Each event takes a place of the same width, in the colour of its phase; infill is striped. */
    drawTicks(context, width) {
      const { trace, palette } = this.player;
      const pattern = stripes(context, palette.panel);
      const each = width / Math.max(1, trace.length - 1);
      let phase = null;
      for (let at = 0; at + 1 < trace.length; at++) {
        const next = trace.events[at + 1];
        phase = tickPhase(next, phase);
        if (!phase) continue;
        const x = at * each;
        context.globalAlpha = phase === "commit" ? 0.75 : 0.5;
        context.fillStyle = phase === "commit" ? palette.chosen : phaseColour(palette, phase);
        context.fillRect(x, 0, each + 0.3, 18);
        if (phase.startsWith("infill")) {
          context.fillStyle = pattern;
          context.fillRect(x, 0, each + 0.3, 18);
        }
      }
      context.globalAlpha = 1;
      context.fillStyle = palette.panel;
      if (width < 6 * trace.iterations.length) return;
      for (const record of trace.iterations) context.fillRect((record.first - 1) * each - 0.75, 0, 1.5, 18);
    }
  }

  function tickPhase(event, before) {
    if (event.type === "forward") return event.phase;
    if (event.type === "plan" || event.type === "dependency") return "plan";
    if (event.type === "verify") return "verify";
    if (event.type === "infill_round") return "infill_verify";
    if (event.type === "commit" || event.type === "cache") return "commit";
    return event.type === "vocabulary" ? before : null;
  }

  // ------------------------------------------------------------------------------------------------- mount

  /** Everything together: holds the trace and the cursor, and paints at most once per animation frame. */
  class Player {
    constructor(element, options) {
      this.element = element;
      this.options = { autoplay: true, lang: "en", ...options };
      this.speaker = new Speaker(this.options.lang);
      this.speed = 1;
      this.hoveredSlot = -1;
      this.palette = { version: 0 };
      this.widths = new Map();
      this.motion = window.matchMedia("(prefers-reduced-motion: reduce)");
      this.darkness = window.matchMedia("(prefers-color-scheme: dark)");
      this.createViews();
      this.listen();
      this.reset("empty");
      this.refreshPalette();
    }

    createViews() {
      const { element, speaker } = this;
      element.classList.add("rfp");
      element.tabIndex = 0;
      element.setAttribute("role", "region");
      element.lang = speaker.language;
      if (this.options.label) element.setAttribute("aria-label", this.options.label);
      else speaker.bind(element, "player", "aria-label");
      this.stage = new StageView(this);
      this.transport = new Transport(this);
      this.timeline = new TimelineView(this);
      this.ledger = new LedgerView(this);
      this.narration = new NarrationView(this);
      this.scoreboard = new ScoreboardView(this);
      this.dependency = new DependencyView(this);
      this.inspector = new Inspector(this);
      this.stage.section.append(this.transport.node, this.stage.legend, this.stage.answerBox);
      this.views = [this.stage, this.timeline, this.ledger, this.scoreboard, this.dependency, this.narration];
      this.notice = el("div", "rfp-notice");
      this.notice.setAttribute("role", "alert");
      this.notice.hidden = true;
      this.probe = el("span", "rfp-probe");
      this.probe.setAttribute("aria-hidden", "true");
      const column = (...views) => el("div", "rfp-column", ...views.map((view) => view.section));
      const left = column(this.stage, this.timeline, this.ledger);
      const right = column(this.narration, this.scoreboard, this.dependency);
      this.layout = el("div", "rfp-layout", left, right);
      element.replaceChildren(this.notice, this.layout, this.inspector.card, this.probe);
    }

    listen() {
      const onKey = (event) => this.onKey(event);
      const repaint = () => this.refreshPalette();
      this.element.addEventListener("keydown", onKey);
      this.darkness.addEventListener("change", repaint);
      const themes = new MutationObserver(repaint);
      for (let node = this.element; node; node = node.parentElement) {
        const own = node === this.element;
        themes.observe(node, { attributes: true, attributeFilter: own ? ["class", "data-theme"] : ["class"] });
      }
      // Reading a width during a paint would force a layout: views read what was measured here.
      const sizes = new ResizeObserver((entries) => {
        for (const entry of entries) this.widths.set(entry.target, entry.contentRect.width);
        this.resized = true;
        this.changed();
      });
      const { stage, timeline, ledger, dependency, transport } = this;
      const measured = [stage.grid, timeline.scroller, ledger.barBox, dependency.scroller, transport.scrub];
      for (const node of measured) sizes.observe(node);
      this.unlisten = () => {
        this.element.removeEventListener("keydown", onKey);
        this.darkness.removeEventListener("change", repaint);
        themes.disconnect();
        sizes.disconnect();
      };
    }

    /** Width of a watched element, 0 while it is not shown. */
    widthOf(node) {
      if (!this.widths.has(node)) this.widths.set(node, node.clientWidth);
      return this.widths.get(node);
    }

    /** @param {"empty"|"waiting"} state */
    reset(state) {
      this.stopTimer();
      this.trace = new Trace();
      this.folder = null;
      this.cursor = -1;
      this.held = new Map(); // events that came before one that is missing, by seq
      this.gapAsked = { seq: -1, at: 0 };
      this.following = false;
      this.wantsPlay = false;
      this.runError = null;
      this.builtFor = null;
      this.setProblems([]);
      this.setState(state);
      this.inspector.hide();
      this.changed();
    }

    get frame() {
      return this.folder?.frame;
    }

    get playing() {
      return this.wantsPlay || (this.following && this.state === "live");
    }

    /** Whether transitions are wanted. */
    moves() {
      return !this.motion.matches;
    }

    setState(state) {
      this.state = state;
      this.element.dataset.state = state;
    }

    // Feeding

    load(text, { label } = {}) {
      this.reset("empty");
      const name = label ?? this.options.label ?? this.speaker.text("player");
      this.element.setAttribute("aria-label", name);
      const problems = this.read(text);
      if (!this.trace.run) {
        this.setProblems(problems.length ? problems : [["problem.empty", {}]]);
        this.setState("failed");
        this.changed();
        return;
      }
      this.setState(this.trace.finished?.stop_reason === "error" ? "failed" : "ready");
      if (!this.trace.finished) problems.push(["problem.partial", {}]);
      this.setProblems(problems);
      this.buildViews();
      if (this.options.autoplay) this.playFrom(0);
      else this.moveTo(this.trace.length - 1);
    }

    /** Reads all lines that can be read. @returns {Sentence[]} what was wrong */
    read(text) {
      if (text.length > MAX_TRACE_CHARACTERS) {
        const mb = (n) => Math.round(n / 2 ** 20);
        return [["problem.large", { found: mb(text.length), limit: mb(MAX_TRACE_CHARACTERS) }]];
      }
      const damaged = [];
      const lines = text.split("\n");
      for (let n = 0; n < lines.length; n++) {
        if (!lines[n].trim()) continue;
        const problem = this.readLine(lines[n]);
        if (problem?.fatal) return [problem.fatal];
        if (problem) damaged.push({ line: n + 1, why: this.speaker.text(...problem.why) });
      }
      const problems = damaged.length
        ? [[damaged.length > 1 ? "problem.lines" : "problem.line", { n: damaged.length, ...damaged[0] }]] : [];
      if (!this.trace.run && lines.some((line) => line.trim())) problems.push(["problem.start", {}]);
      return problems;
    }

    readLine(line) {
      let event;
      try {
        event = JSON.parse(line);
      } catch {
        return { why: ["why.json", {}] };
      }
      if (event?.seq >= 0 && event.seq < this.trace.nextSeq) return { why: ["problem.seq", { seq: event.seq }] };
      return this.accept(event, line);
    }

    /** Adds an event that is in order. @returns {{fatal?: Sentence, why?: Sentence}|null} what is wrong with it */
    accept(event, line) {
      const fault = faultOf(event, this.trace.slotCount);
      if (fault) return { why: fault };
      if (event.type === "run_started") {
        if (this.trace.run) return { why: ["why.type", {}] };
        const fatal = startFault(event);
        if (fatal) return { fatal };
      }
      try {
        this.trace.append(event, line);
      } catch (problem) {
        this.trace.events.length = this.trace.iterationAt.length = this.trace.lines.length;
        return { why: ["why.field", { field: String(problem.message) }] };
      }
      if (event.type === "run_started") this.folder = new Folder(this.trace);
      return null;
    }

    begin({ label, follow = true } = {}) {
      const height = this.element.getBoundingClientRect().height;
      const stage = this.builtFor ? this.stage.prompt.offsetHeight + this.stage.scroller.offsetHeight + 6 : 240;
      this.reset("waiting");
      this.stage.message.style.minHeight = `${stage}px`;
      this.layout.style.minHeight = `${Math.round(height)}px`;
      this.label = label;
      this.following = follow;
      this.wantsPlay = !follow;
      this.showMessage();
      this.syncCounters();
    }

    /** @param {string|string[]|object|object[]} events JSON Lines text, or events, in any mixture */
    push(events) {
      for (const item of Array.isArray(events) ? events : [events]) {
        if (typeof item !== "string") this.pushEvent(item);
        else for (const line of item.split("\n")) if (line.trim()) this.pushLine(line);
      }
      this.reportGap();
      this.advanceLive();
    }

    pushLine(line) {
      let event;
      try {
        event = JSON.parse(line);
      } catch {
        this.addProblem(this.lineProblem(this.trace.length + 1, ["why.json", {}]));
        return;
      }
      this.pushEvent(event, line);
    }

    pushEvent(event, line) {
      if (!Number.isSafeInteger(event?.seq)) {
        this.addProblem(this.lineProblem(this.trace.length + 1, ["why.field", { field: "seq" }]));
        return;
      }
      if (event.seq < this.trace.nextSeq || this.held.has(event.seq)) return;
      this.held.set(event.seq, [event, line]);
      for (let next; (next = this.held.get(this.trace.nextSeq)); ) {
        this.held.delete(this.trace.nextSeq);
        const problem = this.accept(...next);
        if (problem) {
          this.trace.nextSeq = next[0].seq + 1;
          this.addProblem(problem.fatal ?? this.lineProblem(next[0].seq + 1, problem.why));
          if (problem.fatal) this.setState("failed");
        }
      }
    }

    /** @returns {Sentence} */
    lineProblem(line, why) {
      return ["problem.line", { line, why: this.speaker.text(...why) }];
    }

    /** Asks for what is missing: at once, and again when that brought nothing. */
    reportGap() {
      if (!this.held.size) return;
      const now = performance.now();
      const { nextSeq } = this.trace;
      if (this.gapAsked.seq === nextSeq && now - this.gapAsked.at < GAP_REPEAT_MS) return;
      this.gapAsked = { seq: nextSeq, at: now };
      this.options.onGap?.(nextSeq);
    }

    advanceLive() {
      if (!this.trace.run) {
        this.changed();
        return;
      }
      if (this.state === "waiting") {
        this.setState("live");
        this.buildViews();
      }
      if (this.trace.finished && this.state === "live") this.end();
      if (this.following || this.cursor < 0) this.moveTo(this.following ? this.trace.length - 1 : 0);
      else this.changed();
      if (this.wantsPlay) this.schedule();
    }

    finish({ error } = {}) {
      if (this.held.size) {
        this.gapAsked = { seq: -1, at: 0 };
        this.reportGap();
      }
      if (this.held.size) {
        const [from, to] = [this.trace.nextSeq, Math.min(...this.held.keys()) - 1];
        this.addProblem(["problem.gap", { from, to }]);
      }
      if (error) this.addProblem(["problem.failed", { error: String(error) }]);
      this.end(error);
      this.changed();
    }

    end(error) {
      const failed = Boolean(error) || this.trace.finished?.stop_reason === "error" || !this.trace.run;
      this.setState(failed ? "failed" : "ready");
      if (this.following) {
        this.moveTo(this.trace.length - 1);
        this.following = false;
      }
      this.layout.style.minHeight = "";
    }

    /** Shows what is wrong with what was opened; what can be played stays. */
    fail(message) {
      this.addProblem(["{message}", { message }]);
      if (!this.trace.run) this.setState("failed");
      this.changed();
    }

    text() {
      const { events, lines } = this.trace;
      return events.map((event, n) => `${lines[n] ?? JSON.stringify(event)}\n`).join("");
    }

    // Moving

    moveTo(index) {
      if (!this.folder) return;
      this.cursor = Math.max(0, Math.min(index, this.trace.length - 1));
      this.folder.seek(this.cursor);
      this.changed();
    }

    seek(index) {
      this.following = false;
      this.moveTo(index);
      if (this.wantsPlay) this.schedule(true);
    }

    /** Steps over the texts of tokens, which show nothing. */
    step(by) {
      this.pause();
      let to = this.cursor + by;
      while (this.trace.events[to]?.type === "vocabulary") to += by;
      this.moveTo(to);
    }

    stepIteration(by) {
      this.pause();
      const { iterations, iterationAt } = this.trace;
      const place = iterationAt[this.cursor] ?? -1;
      const isStart = place >= 0 && this.cursor <= this.firstShown(iterations[place]);
      // Back goes to the start of this iteration first, as tapes do.
      const target = by < 0 && !isStart ? place : place + by;
      if (target < 0) this.moveTo(0);
      else if (target >= iterations.length) this.moveTo(this.trace.length - 1);
      else this.moveTo(this.firstShown(iterations[target]));
    }

    /** Where an iteration is first worth looking at: its plan. */
    firstShown(record) {
      return record.plan >= 0 ? record.plan : record.first;
    }

    play() {
      if (!this.trace.run) return;
      this.following = false;
      this.playFrom(this.cursor >= this.trace.length - 1 && this.state !== "live" ? 0 : this.cursor);
    }

    playFrom(index) {
      this.wantsPlay = true;
      this.moveTo(index);
      this.schedule(true);
    }

    pause() {
      this.following = false;
      this.wantsPlay = false;
      this.stopTimer();
      this.changed();
    }

    toggle() {
      if (this.playing) this.pause();
      else this.play();
    }

    follow(on) {
      if (this.state !== "live" && this.state !== "waiting") return;
      this.wantsPlay = false;
      this.stopTimer();
      this.following = Boolean(on);
      if (this.following) this.moveTo(this.trace.length - 1);
      this.changed();
    }

    setSpeed(speed) {
      if (!(speed > 0)) return;
      this.speed = speed;
      if (this.wantsPlay) this.schedule(true);
      this.changed();
    }

    changeSpeed(by) {
      const place = SPEEDS.findIndex((speed) => speed >= this.speed);
      const next = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, (place < 0 ? SPEEDS.length - 1 : place) + by))];
      this.setSpeed(next);
    }

    stopTimer() {
      clearTimeout(this.timer);
      this.timer = 0;
    }

    /** Plans the step to the next event; at the newest event of a live run it waits for more. */
    schedule(anew = false) {
      if (this.timer && !anew) return;
      this.stopTimer();
      if (this.cursor >= this.trace.length - 1) {
        if (this.state !== "live" && this.state !== "waiting") this.pause();
        return;
      }
      this.timer = setTimeout(() => {
        this.timer = 0;
        this.moveTo(this.cursor + 1);
        this.schedule();
      }, PACE[this.trace.events[this.cursor].type] / this.speed);
    }

    onKey(event) {
      const target = event.target;
      const typing = target.isContentEditable || target.matches("textarea, select, input:not([type=range])");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || !this.trace.run) return;
      const action = this.keyAction(event, target);
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    }

    keyAction(event, target) {
      const onButton = target.matches("button");
      switch (event.key) {
        case " ": return onButton ? null : () => this.toggle();
        case "ArrowLeft": return () => (event.shiftKey ? this.stepIteration(-1) : this.step(-1));
        case "ArrowRight": return () => (event.shiftKey ? this.stepIteration(1) : this.step(1));
        case "Home": return () => this.seek(0);
        case "End": return () => this.seek(this.trace.length - 1);
        case "+": case "=": return () => this.changeSpeed(1);
        case "-": return () => this.changeSpeed(-1);
        case "ArrowUp": case "ArrowDown": return this.tokenKey(event.key === "ArrowUp" ? -1 : 1, target);
        case "Escape": return () => {
          this.inspector.hide();
          this.element.focus();
        };
        default: return null;
      }
    }

    tokenKey(by, target) {
      if (!target.matches(".rfp-cell")) return null;
      return () => this.stage.focusCell(this.stage.offsetOf(target) + by);
    }

    // Showing

    hover(slot) {
      if (slot === this.hoveredSlot) return;
      const before = this.hoveredSlot;
      this.hoveredSlot = slot;
      if (!this.builtFor) return;
      for (const view of this.views) view.hover?.(slot, before);
    }

    setLang(language) {
      this.speaker.set(language);
      this.element.lang = this.speaker.language;
      this.speaker.refresh();
      this.transport.shownPlaying = null;
      if (this.builtFor) for (const view of this.views) view.forget?.();
      this.showProblems();
      this.showMessage();
      this.changed();
    }

    refreshPalette() {
      const version = this.palette.version + 1;
      const palette = readPalette(this.probe);
      if (palette.ink === this.palette.ink && palette.panel === this.palette.panel) return;
      this.palette = { ...palette, version, onChosen: "#1b1f24" };
      this.changed();
    }

    setProblems(problems) {
      this.problems = problems;
      this.showProblems();
    }

    addProblem(problem) {
      this.setProblems([...this.problems, problem].slice(0, 5));
    }

    showProblems() {
      this.notice.hidden = !this.problems.length;
      this.notice.replaceChildren(...this.problems.map((problem) => el("p", "", this.speaker.text(...problem))));
    }

    /** The designed states without a run: empty and waiting. */
    showMessage() {
      const state = this.state === "waiting" ? "waiting" : "empty";
      const title = el("strong", "", this.speaker.text(`${state}.title`));
      const label = state === "waiting" && this.label ? el("span", "rfp-message-label", clip(this.label, 200)) : null;
      const body = el("span", "", this.speaker.text(`${state}.body`));
      this.stage.message.replaceChildren(...[title, label, body].filter(Boolean));
    }

    buildViews() {
      this.builtFor = this.trace.run;
      this.element.classList.add("has-run");
      for (const view of this.views) view.build();
    }

    /** Something changed: counters are true at once, the picture at the next animation frame. */
    changed() {
      this.syncCounters();
      if (this.pending || this.destroyed) return;
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        this.paint();
      });
    }

    syncCounters() {
      const { trace, cursor } = this;
      const event = trace.events[cursor];
      const record = trace.recordAt(cursor);
      const data = {
        events: trace.length, cursor, iteration: record ? record.number : "", playing: this.playing,
        committed: trace.sums.committed[cursor] ?? 0, state: this.state,
      };
      for (const [name, value] of Object.entries(data)) {
        if (this.element.dataset[name] !== String(value)) this.element.dataset[name] = value;
      }
      if (cursor === this.toldCursor && trace.length === this.toldLength) return;
      [this.toldCursor, this.toldLength] = [cursor, trace.length];
      this.options.onCursor?.({
        index: cursor, events: trace.length, type: event?.type ?? null, iteration: record ? record.number : null,
        state: this.state,
      });
    }

    paint() {
      if (!this.builtFor) {
        this.element.classList.remove("has-run");
        this.showMessage();
        this.narration.clear();
        this.transport.paint();
        return;
      }
      if (this.resized) this.stage.measure();
      this.resized = false;
      for (const view of this.views) view.paint();
      this.transport.paint();
      this.inspector.refresh();
      this.element.dataset.painted = this.cursor;
    }

    statistics() {
      return statisticsAt(this.trace, this.cursor);
    }

    destroy() {
      this.destroyed = true;
      this.stage.sight?.disconnect();
      this.stopTimer();
      cancelAnimationFrame(this.pending);
      this.unlisten();
      this.element.replaceChildren();
      this.element.classList.remove("rfp", "has-run");
    }
  }

  /** Why a run cannot be shown at all, or null. @returns {Sentence|null} */
  function startFault(event) {
    if (event.schema_version > SCHEMA_VERSION) {
      return ["problem.newer", { found: event.schema_version, known: SCHEMA_VERSION }];
    }
    const { response_length: length, slot_count: slots, settings } = event;
    const size = settings.slot_size;
    if (!(length > 0 && slots > 0 && size > 0 && slots * size === length)) return ["problem.start", {}];
    if (length > MAX_RESPONSE_TOKENS) return ["problem.response", { found: length, limit: MAX_RESPONSE_TOKENS }];
    return null;
  }

  /**
   * Mounts a player in an element.
   * @param {HTMLElement} element
   * @param {{autoplay?: boolean, lang?: "en"|"zh", label?: string, onGap?: (fromSeq: number) => void,
   *   onCursor?: (info: object) => void}} [options]
   */
  function mount(element, options = {}) {
    const player = new Player(element, options);
    const methods = [
      "load", "begin", "push", "finish", "fail", "text", "play", "pause", "seek", "step", "stepIteration", "follow",
      "setSpeed", "setLang", "statistics", "destroy",
    ];
    return Object.fromEntries(methods.map((name) => [name, player[name].bind(player)]));
  }

  window.RefusionPlayer = Object.freeze({ mount, schemaVersion: SCHEMA_VERSION });
})();
