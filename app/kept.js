// The runs that this browser keeps, in IndexedDB. Draws nothing.
(function () {
  "use strict";

  const DATABASE = "refusion";
  const STORE = "runs";
  const MOST = 60; // then the oldest runs go that have no name and no fork

  /**
   * @typedef {object} KeptRun
   * @property {string} id of the run
   * @property {{run_id: string, iteration: number, force?: number[], forbid?: number[], written?: number[]}|null} parent
   * @property {string} name "" where nobody gave one
   * @property {string} prompt
   * @property {string} decoder
   * @property {object} settings
   * @property {{forwards: number, committed_tokens: number, tokens_per_forward: number}} figures
   * @property {boolean} partial
   * @property {string} time when the run started
   * @property {number} kept when it was put here, in milliseconds
   * @property {string} text the trace
   */

  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

  let opened = null;

  /** The database; rejects where the browser refuses one. */
  function database() {
    opened ??= new Promise((resolve) => {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
      resolve(done(request));
    });
    return opened;
  }

  /** One request on the store, and the end of its transaction. */
  async function ask(mode, request) {
    const transaction = (await database()).transaction(STORE, mode);
    const finished = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const [answer] = await Promise.all([done(request(transaction.objectStore(STORE))), finished]);
    return answer;
  }

  /** What is kept of a trace. Throws for a text that is none. @returns {KeptRun} */
  function entryOf(text) {
    const events = text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
    const [started] = events;
    if (started?.type !== "run_started" || typeof started.run_id !== "string") throw new Error("run_started");
    const last = events.at(-1);
    const finished = last.type === "run_finished" ? last : null;
    return {
      id: started.run_id, parent: started.parent ?? null, name: "", prompt: started.prompt_text ?? "",
      decoder: started.decoder, settings: started.settings, figures: finished?.stats ?? figuresOf(events),
      partial: !finished || ["stopped", "error"].includes(finished.stop_reason),
      time: started.time, kept: Date.now(), text,
    };
  }

  /** The headline figures of a run that has no last event. */
  function figuresOf(events) {
    const forwards = events.filter((event) => event.type === "forward").length;
    const commits = events.filter((event) => event.type === "commit");
    const tokens = commits.flatMap((event) => event.slots).reduce((sum, slot) => sum + slot.tokens.length, 0);
    return { forwards, committed_tokens: tokens, tokens_per_forward: forwards ? tokens / forwards : 0 };
  }

  /** Keep a trace, or what has come of it; a run that is here already keeps its name. @returns {Promise<KeptRun>} */
  async function put(text, { name = "" } = {}) {
    const entry = entryOf(text);
    const before = await get(entry.id);
    if (before && before.text.length >= text.length && (before.name || !name)) return before;
    const longer = before && before.text.length >= text.length ? before : entry;
    const whole = { ...longer, name: before?.name || name, kept: before?.kept ?? entry.kept };
    await ask("readwrite", (store) => store.put(whole));
    await limit(entry.id);
    return whole;
  }

  async function limit(newest) {
    const runs = await all();
    while (runs.length > MOST) {
      const isLeaf = ({ id }) => !runs.some(({ parent }) => parent?.run_id === id);
      const at = runs.findIndex((run) => run.id !== newest && !run.name && isLeaf(run));
      if (at < 0) return;
      await remove(runs[at].id);
      runs.splice(at, 1);
    }
  }

  /** All runs, the oldest first. @returns {Promise<KeptRun[]>} */
  async function all() {
    const runs = await ask("readonly", (store) => store.getAll());
    return runs.sort((a, b) => a.kept - b.kept);
  }

  /** @returns {Promise<KeptRun|undefined>} */
  function get(id) {
    return ask("readonly", (store) => store.get(id));
  }

  async function rename(id, name) {
    const run = await get(id);
    if (run) await ask("readwrite", (store) => store.put({ ...run, name: name.trim() }));
  }

  function remove(id) {
    return ask("readwrite", (store) => store.delete(id));
  }

  /** One file with all runs; what else is known of them follows from the traces. */
  async function exportAll() {
    const runs = (await all()).map(({ name, text }) => ({ name, trace: text }));
    return new Blob([JSON.stringify({ runs })], { type: "application/json" });
  }

  /** What a file of {@link exportAll} holds; throws where it is none. @returns {{name: string, trace: string}[]} */
  function readFile(text) {
    const { runs } = JSON.parse(text);
    return runs.map(({ name, trace }) => {
      entryOf(trace);
      return { name: String(name ?? ""), trace };
    });
  }

  /** Keep the runs of a file, all or none of which can be read. @returns {Promise<number>} how many it has */
  async function importAll(text) {
    const runs = readFile(text);
    for (const { name, trace } of runs) await put(trace, { name });
    return runs.length;
  }

  window.RefusionKept = { put, all, get, rename, remove, exportAll, importAll, readFile };
})();
