// What a comparison says, drawn as tables and texts. Knows nothing of where it came from.
(function () {
  "use strict";

  const { el, button } = window.RefusionKeptTree;

  /** @param {object} found of the server @param {{say: Function, goToFirst: () => void}} page @returns {Node[]} */
  function sections(found, page) {
    const { say } = page;
    return [
      box(say("first"), ...firstDifference(found.first, page)),
      el("div", "compare-columns",
        box(say("figures"), table(["", say("left"), say("right")], found.figures.map(figureRow))),
        box(say("settings"), found.settings.length
          ? table(["", say("left"), say("right")], found.settings.map(figureRow))
          : el("p", "compare-note", say("no_settings")))),
      box(say("text"), texts(found.lines, say)),
      box(say("slots"), el("p", "compare-note", say("slots_about", { n: found.positions.length })), slots(found.slots, say)),
    ];
  }

  function box(title, ...children) {
    return el("section", "compare-box", el("h2", "", title), ...children);
  }

  function firstDifference(first, page) {
    if (!first) return [el("p", "compare-first", page.say("same"))];
    const { iteration: n, stage, reasons } = first;
    const list = el("ul", "", ...reasons.map((reason) => el("li", "", reason)));
    return [
      el("div", "compare-first", el("strong", "", page.say("first_at", { n, stage })), list),
      button(page.say("go_first"), () => page.goToFirst()),
    ];
  }

  function figureRow([name, left, right]) {
    const head = el("th", "", name);
    head.scope = "row";
    return [head, ...[left, right].map((value) => el("td", left === right ? "" : "compare-other", value))];
  }

  function table(heads, rows, className = "") {
    const cells = heads.map((text) => {
      const cell = el(text ? "th" : "td", "", text); // a corner is no heading
      if (text) cell.scope = "col";
      return cell;
    });
    const body = rows.map((row) => el("tr", "", ...row));
    const scroller = el("div", `compare-scroller ${className}`,
      el("table", "", el("thead", "", el("tr", "", ...cells)), el("tbody", "", ...body)));
    scroller.tabIndex = 0;
    scroller.setAttribute("role", "group");
    scroller.setAttribute("aria-label", heads.filter(Boolean).join(", "));
    return scroller;
  }

  function slots(rows, say) {
    const heads = ["positions", "left_slots", "left_text", "right_slots", "right_text"].map((key) => say(key));
    return table(heads, rows.map((row) => [
      el("td", "", `${row.start}–${row.end - 1}`),
      ...["left", "right"].flatMap((side) => [
        cell(row[side]?.slots.map(([slot, at]) => `${slot}: ${at === null ? "–" : at + 1}`).join(", "), row.other_order, say),
        cell(row[side]?.text, row.other_text, say, "compare-text"),
      ]),
    ]), "compare-slots");
  }

  /** A cell that differs carries a sign, which is read out as a word. */
  function cell(text, differs, say, className = "") {
    const node = el("td", `${className} ${differs ? "compare-other" : ""}`.trim());
    if (differs) {
      const sign = el("span", "compare-sign", "≠");
      sign.setAttribute("role", "img");
      sign.setAttribute("aria-label", say("differs"));
      node.append(sign);
    }
    node.append(text || "–");
    return node;
  }

  /** Both texts side by side; what only one has is struck out on the left and underlined on the right. */
  function texts(lines, say) {
    const isSame = lines.every((line) => line.left && line.right && line.left.concat(line.right).every(([, other]) => !other));
    const grid = el("div", "compare-lines", el("span", "compare-note", say("left")), el("span", "compare-note", say("right")));
    for (const line of lines) {
      for (const [side, tag] of [["left", "del"], ["right", "ins"]]) {
        const pieces = (line[side] ?? []).map(([text, other]) => (other ? el(tag, "", text || "↵") : text));
        grid.append(el("code", line[side] ? "" : "is-none", ...pieces));
      }
    }
    return isSame ? el("div", "", el("p", "compare-note", say("same_text")), grid) : grid;
  }

  window.RefusionCompareView = { sections };
})();
