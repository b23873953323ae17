// The tree of the runs that this browser keeps: forks under their parents, each with a name that can be changed.
(function () {
  "use strict";

  const clip = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

  function el(tag, className = "", ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
  }

  function button(text, action) {
    const node = el("button", "compare-button", text);
    node.type = "button";
    node.addEventListener("click", action);
    return node;
  }

  class KeptTree {
    /**
     * @param {(key: string, values?: object) => string} say
     * @param {{choose: (side: string, run: object) => void, chosen: (side: string) => string|null,
     *   remove: (run: object) => void, rename: (run: object, name: string) => void}} actions
     */
    constructor(say, actions) {
      this.say = say;
      this.actions = actions;
      this.node = el("div", "compare-tree");
    }

    /** @param {object[]|null} runs null where the browser keeps none */
    show(runs) {
      if (!runs?.length) {
        this.node.replaceChildren(el("p", "compare-note", this.say(runs ? "none" : "unkept")));
        return;
      }
      const ids = new Set(runs.map(({ id }) => id));
      this.children = Map.groupBy(runs, ({ parent }) => (ids.has(parent?.run_id) ? parent.run_id : null));
      this.node.replaceChildren(this.list(null));
    }

    list(parent) {
      const list = el("ul");
      for (const run of this.children.get(parent) ?? []) {
        const item = el("li", "", this.row(run));
        item.dataset.run = run.id;
        if (this.children.has(run.id)) item.append(this.list(run.id));
        list.append(item);
      }
      return list;
    }

    row(run) {
      const { say, actions } = this;
      const name = el("input", "compare-name");
      Object.assign(name, { value: run.name, placeholder: this.nameOf({ ...run, name: "" }), maxLength: 80 });
      name.setAttribute("aria-label", say("name"));
      name.addEventListener("change", () => actions.rename(run, name.value));
      const open = el("a", "compare-button", say("open"));
      open.href = `./#${new URLSearchParams({ kept: run.id })}`;
      const sides = ["left", "right"].map((side) => {
        const radio = el("input");
        Object.assign(radio, { type: "radio", name: `compare-${side}`, value: run.id });
        radio.checked = actions.chosen(side) === run.id;
        radio.addEventListener("change", () => actions.choose(side, run));
        return el("label", "compare-side", radio, say(side));
      });
      return el("div", "compare-run", ...sides, name, el("span", "compare-facts", this.facts(run)), open,
        button(say("remove"), () => actions.remove(run)));
    }

    /** The name that a run was given, else what it is. */
    nameOf({ name, parent, prompt }) {
      if (name) return name;
      return parent ? this.say("fork_at", { n: parent.iteration + 1 }) : clip(prompt.trim().split("\n")[0], 60);
    }

    facts({ id, name, parent, decoder, settings, figures, partial }) {
      const { say } = this;
      const isRoot = this.children?.get(null)?.some((run) => run.id === id);
      const facts = [say(`decoder_${decoder}`)];
      if (decoder === "refusion") {
        const policy = settings.policy ?? say("threshold");
        facts.push(say("thresholds", { policy, slot: settings.slot_threshold, token: settings.token_threshold }));
        facts.push(say("slot_size", { n: settings.slot_size }));
      }
      facts.push(say("forwards", { n: figures.forwards }));
      facts.push(say("per_forward", { n: figures.tokens_per_forward.toFixed(2) }));
      if (parent && name) facts.push(say("fork_at", { n: parent.iteration + 1 }));
      for (const change of ["force", "forbid", "written"]) {
        if (parent?.[change]?.length) facts.push(say(change, { slots: parent[change].join(", ") }));
      }
      if (parent && isRoot) facts.push(say("orphan"));
      if (partial) facts.push(say("partial"));
      return facts.join(" · ");
    }
  }

  window.RefusionKeptTree = { KeptTree, el, button };
})();
