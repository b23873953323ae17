/** Texts of what helps to debug slot selection. */
export const DEBUG_TEXTS = {
  en: {
    "dependency.joint":
      "Iteration {i}: gain in log probability (nats) of the row's draft when the column's is known; first column: when all " +
      "others are. Below 0 they speak against it. Absolute gains together {violated}. Darkest: {p}.",
    "dependency.others": "all",
    "dependency.all": "slot {row}, all others known: {p} nats",
    "dependency.gain": "slot {row}, slot {column} known: {p} nats",
    "say.dependency.joint":
      "{slots} were drafted without seeing each other. Knowing the others would move their log probabilities by {violated} nats " +
      "in all.",
    "say.dependency.against": "Slot {slot} loses most: {gain}.",
    "say.dependency.agree": "None of them is contradicted.",
    "legend.violated": "dependency passed over",
    "timeline.violated": "iteration {i}: the slots chosen together depend on each other by {p}",
    "timeline.violated.none": "iteration {i}: dependency was not measured",
    "scoreboard.sort": "Sort by",
    "scoreboard.sort.confidence": "confidence", "scoreboard.sort.slot": "slot", "scoreboard.sort.dependency": "dependency",
    "scoreboard.detail": "slot {slot}: rank {rank}, {judged} against {threshold}, margin {margin}",
    "scoreboard.detail.plain": "slot {slot}: rank {rank}, {judged}",
    "scoreboard.detail.depends": " · {p} on the chosen ones",
    "scoreboard.detail.accepted": " · {n} / {size} accepted",
    "scoreboard.detail.rounds": " · {n} {n?round:rounds} of infill, slowest in {slowest}",
    "scoreboard.point": "Point at a slot for its rank, dependency and what came of it.",
    "export.csv": "Scoreboards (.csv)",
    "fork.write": "Write into slot", "fork.write.none": "none",
    "fork.write.text": "Text, exactly one slot of tokens", "fork.write.hint": "exactly {size} tokens",
    "forward.recompute": "recompute",
    "say.forward.recompute":
      "Forward {f} computes the entries of the infilled slots anew, each seeing those before it: {parts} computed, {hits} " +
      "[hit|cache entries] reused.",
    "mask.recompute": "Forward {f}, recompute: {slots} infilled slots, each sees the {cached} cached tokens and the slots before it.",
    "say.verify.written": "The user wrote {slots}: the tokens are kept, whatever verify gives them (lowest {p}).",
  },
  zh: {
    "dependency.joint":
      "第 {i} 次迭代：已知列槽草稿时，行槽草稿对数概率的增益（nat）；首列为其余各槽全部已知时。小于 0 表示它们不支持该草稿。" +
      "绝对增益之和 {violated}。最深：{p}。",
    "dependency.others": "全部",
    "dependency.all": "槽 {row}，其余槽全部已知：{p} nat",
    "dependency.gain": "槽 {row}，已知槽 {column}：{p} nat",
    "say.dependency.joint": "{slots} 起草时互不可见。若彼此已知，其对数概率总共会变动 {violated} nat。",
    "say.dependency.against": "槽 {slot} 损失最大：{gain}。",
    "say.dependency.agree": "没有槽与其他槽相矛盾。",
    "legend.violated": "被忽略的依赖",
    "timeline.violated": "第 {i} 次迭代：同时选中的槽之间的依赖为 {p}",
    "timeline.violated.none": "第 {i} 次迭代：未测量依赖",
    "scoreboard.sort": "排序",
    "scoreboard.sort.confidence": "置信度", "scoreboard.sort.slot": "槽", "scoreboard.sort.dependency": "依赖",
    "scoreboard.detail": "槽 {slot}：第 {rank} 名，{judged}，阈值 {threshold}，差 {margin}",
    "scoreboard.detail.plain": "槽 {slot}：第 {rank} 名，{judged}",
    "scoreboard.detail.depends": " · 对选中槽的依赖 {p}",
    "scoreboard.detail.accepted": " · 接受 {n} / {size}",
    "scoreboard.detail.rounds": " · 填充 {n} 轮，其中 {slowest} 轮最慢",
    "scoreboard.point": "指向一个槽，查看名次、依赖与后续。",
    "export.csv": "评分板 (.csv)",
    "fork.write": "写入槽", "fork.write.none": "无",
    "fork.write.text": "文本，恰好填满一个槽", "fork.write.hint": "恰好 {size} 个 token",
    "forward.recompute": "重新计算",
    "say.forward.recompute": "第 {f} 次前向重新计算已填充槽的缓存条目，每个槽可见它之前的槽：计算 {parts}，复用 {hits} 个[hit|缓存条目]。",
    "mask.recompute": "第 {f} 次前向（重新计算）：{slots} 个已填充的槽，每个可见 {cached} 个缓存 token 和它之前的槽。",
    "say.verify.written": "用户写入了{slots}：无论验证概率多低（最低 {p}），这些 token 都保留。",
  },
};
