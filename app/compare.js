// Between Gradio, the runs that the browser keeps, and the players: chooses two runs and shows what the server says of
// them.
(function () {
  "use strict";

  const { KeptTree, el, button } = window.RefusionKeptTree;
  const kept = window.RefusionKept;
  const SIDES = ["left", "right"];
  const EXAMPLE = "example:"; // before its name in the address
  const MAX_FILE_MB = 100;

  class ComparePage {
    constructor(element, server, { words, examples }) {
      this.server = server;
      this.words = words;
      this.examples = examples;
      this.language = navigator.language.toLowerCase().startsWith("zh") ? 1 : 0;
      this.say = this.say.bind(this);
      /** What is compared: {id, name, facts, text}; id is what the address says, null of a file. */
      this.sides = { left: null, right: null };
      this.together = null;
      this.first = null;
      this.turn = 0;
      this.message = element.querySelector(".refusion-message");
      this.tree = new KeptTree(this.say, {
        choose: (side, run) => this.choose(side, this.sideOf(run)),
        chosen: (side) => this.sides[side]?.id,
        rename: (run, name) => this.change(() => kept.rename(run.id, name)),
        remove: (run) => this.remove(run),
      });
      this.pickers = Object.fromEntries(SIDES.map((side) => [side, this.createPicker(side)]));
      this.result = el("div", "compare-result");
      this.result.setAttribute("aria-live", "polite");
      this.stage = el("div", "compare-players");
      this.saveAll = button(this.say("save_all"), () => this.save());
      this.loadAll = button(this.say("load"), () => pickFile((file) => this.load(file)));
      const head = el("div", "compare-head", el("h2", "", this.say("kept")), this.saveAll, this.loadAll);
      element.querySelector(".refusion-compare").replaceChildren(
        el("div", "compare-sides", ...SIDES.map((side) => this.pickers[side].node)),
        el("section", "compare-box", head, this.tree.node), this.result, this.stage);
    }

    say(key, values = {}) {
      return this.words[key][this.language].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
    }

    /** @param {{label: string, call: () => void}} [action] offered beside the text */
    tell(text, action) {
      this.message.hidden = !text;
      this.message.replaceChildren(text, ...(action ? [" ", button(action.label, action.call)] : []));
    }

    // Kept runs

    async refresh() {
      try {
        this.tree.show(await kept.all());
      } catch {
        this.tree.show(null);
        this.saveAll.disabled = this.loadAll.disabled = true;
      }
    }

    async change(action) {
      try {
        await action();
      } catch (problem) {
        this.tell(String(problem.message ?? problem));
      }
      await this.refresh();
      for (const side of SIDES) await this.renameSide(side);
    }

    async renameSide(side) {
      const run = this.sides[side]?.id && (await kept.get(this.sides[side].id).catch(() => null));
      if (!run) return;
      Object.assign(this.sides[side], this.sideOf(run));
      this.showPicker(side);
      this.nameLanes();
    }

    remove(run) {
      this.change(() => kept.remove(run.id));
      this.tell(this.say("removed", { name: this.quoted(this.tree.nameOf(run)) }), {
        label: this.say("undo"),
        call: () => {
          this.tell("");
          this.change(() => kept.put(run.text, { name: run.name }));
        },
      });
    }

    quoted(name) {
      return this.language ? `“${name}”` : `"${name}"`;
    }

    async save() {
      const link = el("a");
      link.href = URL.createObjectURL(await kept.exportAll());
      link.download = "refusion-runs.json";
      link.click();
      URL.revokeObjectURL(link.href);
    }

    /** Keep the runs of a file, once all of them are known to be good. */
    async load(file) {
      try {
        const text = await file.text();
        for (const { trace } of kept.readFile(text)) {
          const problem = await this.server.check(trace);
          if (problem) throw new Error(problem);
        }
        const n = await kept.importAll(text);
        this.tell(this.say("loaded", { n }));
      } catch (problem) {
        this.tell(this.say("bad_file", { file: file.name, why: problem.message }));
      }
      await this.refresh();
    }

    // The two sides

    createPicker(side) {
      const name = el("strong", "compare-chosen");
      const facts = el("p", "compare-facts");
      const select = el("select", "compare-button");
      select.setAttribute("aria-label", `${this.say(side)}: ${this.say("examples")}`);
      select.append(new Option(this.say("examples"), ""), ...Object.entries(this.examples).map(([example, title]) =>
        new Option(title[this.language ? "zh" : "en"], example)));
      select.addEventListener("change", () => select.value && this.chooseExample(side, select.value));
      const open = button(this.say("open_file"), () => pickFile((file) => this.chooseFile(side, file)));
      const node = el("section", "compare-box compare-picker", el("h2", "", this.say(side)),
        el("div", "compare-what", name, facts), select, open);
      node.dataset.side = side;
      return { node, name, facts, select };
    }

    sideOf(run) {
      return { id: run.id, name: this.tree.nameOf(run), facts: this.tree.facts(run), text: run.text };
    }

    async chooseExample(side, example) {
      const { text, error } = await this.server.example(example);
      if (error) return this.tell(error);
      const name = this.examples[example][this.language ? "zh" : "en"];
      return this.choose(side, { id: EXAMPLE + example, name, facts: "", text });
    }

    async chooseFile(side, file) {
      const text = file.size > MAX_FILE_MB * 2 ** 20 ? null : await file.text();
      const why = text === null ? `> ${MAX_FILE_MB} MB` : await this.server.check(text);
      if (why) this.tell(this.say("bad_trace", { side: this.say(side), why: `${file.name}, ${why}` }));
      else await this.choose(side, { id: null, name: file.name, facts: "", text });
    }

    async choose(side, run) {
      this.sides[side] = run;
      this.tell("");
      this.showPicker(side);
      const named = SIDES.filter((name) => this.sides[name]?.id).map((name) => [name, this.sides[name].id]);
      history.replaceState(null, "", `${location.pathname}${location.search}#${new URLSearchParams(named)}`);
      await this.refresh();
      await this.compare();
    }

    showPicker(side) {
      const { name, facts, select } = this.pickers[side];
      const run = this.sides[side];
      name.textContent = run?.name ?? "";
      facts.textContent = run ? run.facts : this.say("choose");
      select.value = run?.id?.startsWith(EXAMPLE) ? run.id.slice(EXAMPLE.length) : "";
    }

    /** Choose what the address names. */
    async readAddress() {
      const wanted = new URLSearchParams(location.hash.slice(1));
      for (const side of SIDES) {
        const id = wanted.get(side);
        if (!id || id === this.sides[side]?.id) continue;
        const run = id.startsWith(EXAMPLE) ? null : await kept.get(id).catch(() => null);
        if (run) await this.choose(side, this.sideOf(run));
        else if (id.startsWith(EXAMPLE)) await this.chooseExample(side, id.slice(EXAMPLE.length));
        else this.tell(this.say("unknown", { side: this.say(side) }));
      }
    }

    // The comparison

    async compare() {
      const mine = ++this.turn;
      const { left, right } = this.sides;
      if (!left || !right) return;
      let found;
      try {
        found = await this.server.compare_traces([left.text, right.text, this.language]);
      } catch {
        found = null;
      }
      if (mine !== this.turn) return;
      this.first = found?.first ?? null;
      if (!found) this.tell(this.say("silent"));
      else if (found.bad) this.tell(this.say("bad_trace", { side: this.say(found.bad), why: found.why }));
      else if (found.otherPrompt) this.tell(this.say("other_prompt"));
      const comparable = found && !found.bad && !found.otherPrompt;
      this.result.replaceChildren(...(comparable ? window.RefusionCompareView.sections(found, this) : []));
      this.showPlayers();
    }

    showPlayers() {
      this.together?.destroy();
      const box = el("div");
      this.stage.replaceChildren(el("h2", "", this.say("players")), box);
      this.together = window.RefusionPlayer.together(box, {
        lang: this.language ? "zh" : "en",
        titles: SIDES.map(this.say),
        clocks: ["iterations", "forwards", "seconds"],
        columns: ["forwards", "tpf", "committed", "computed", "hits", "seconds"],
        parts: ["stage", "narration", "scoreboard"],
        view: "slots",
      });
      SIDES.forEach((side, n) => this.together.load(n, this.sides[side].text));
      this.nameLanes();
    }

    /** The names are set as text, since titles of the players are templates. */
    nameLanes() {
      if (!this.together) return;
      const nodes = this.together.element.querySelectorAll(".rfp-lane-head strong");
      SIDES.forEach((side, n) => { nodes[n].textContent = `${this.say(side)}: ${this.sides[side].name}`; });
    }

    /** The clock of iterations has the same step of the same iteration at the same time in both runs. */
    goToFirst() {
      const { together, first } = this;
      together.pause();
      together.element.querySelector(".rfp-together-bar [data-option=iterations]").click();
      const times = first.events.map((event, n) =>
        together.marks(together.lanes[n]).find(({ at }) => at >= event)?.time ?? together.length);
      together.seek(Math.min(...times));
      this.stage.scrollIntoView({ block: "start" });
    }
  }

  function pickFile(action) {
    const input = el("input", "compare-file");
    Object.assign(input, { type: "file", accept: ".jsonl,.json,.txt", hidden: true });
    input.addEventListener("change", () => {
      input.remove();
      if (input.files[0]) action(input.files[0]);
    });
    document.body.append(input);
    input.click();
  }

  async function mount(element, server, facts) {
    const page = new ComparePage(element, server, facts);
    window.refusionCompare = page;
    for (const side of SIDES) page.showPicker(side);
    await page.refresh();
    await page.readAddress();
    window.addEventListener("hashchange", () => page.readAddress());
    element.querySelector(".refusion-compare").dataset.ready = "";
  }

  window.RefusionCompare = { mount };
})();
