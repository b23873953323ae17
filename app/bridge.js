// Between Gradio and the player: gives the buttons of the page something to call, starts runs on the server
// and fetches their events. Draws nothing but messages about requests.
(function () {
  "use strict";

  const RUN_KEY = "refusion.run";
  const MAX_FILE_MB = 100;
  const MAX_CHECKED_MB = 20; // larger files are only checked by the player itself
  let player, server, message, comparison, run = null;
  let shown = {}; // what the address must name so that it opens what is shown
  let toldUnkept = false;

  const chinese = () => navigator.language.toLowerCase().startsWith("zh");
  const say = (en, zh) => (chinese() ? zh : en);

  function setLive(live) {
    document.body.classList.toggle("refusion-live", live);
  }

  /** Say something about a request; nothing takes the message away. */
  function tell(text) {
    message.hidden = !text;
    message.textContent = text;
  }

  /** Keep a run in this browser, where it may be forked, named and compared. Says once where that isn't possible. */
  async function keep(text) {
    if (!text) return null;
    try {
      return await window.RefusionKept.put(text);
    } catch {
      if (!toldUnkept && message.hidden) {
        tell(say("This browser keeps no runs; save the trace to have it again",
          "此浏览器无法保存运行；如需再次查看，请保存轨迹"));
      }
      toldUnkept = true;
      return null;
    }
  }

  /** A link that holds the run that is shown beside its parent, where both are kept. */
  async function offerComparison(entry) {
    const now = shown;
    if (!entry?.parent || !(await window.RefusionKept.get(entry.parent.run_id)) || shown !== now) return;
    comparison.href = `compare#${new URLSearchParams({ left: entry.parent.run_id, right: entry.id })}`;
    comparison.hidden = false;
  }

  /** The link stands in a line that is there anyway, so that nothing moves. */
  async function createComparison() {
    comparison = document.createElement("a");
    comparison.id = "compare";
    comparison.textContent = say("Compare with parent", "与父运行比较");
    comparison.style.cssText = "position: absolute; top: 0; right: 0; width: max-content; font-size: 13px; text-decoration: underline;";
    comparison.hidden = true;
    let place;
    while (!(place = document.querySelector("#prompts"))) await new Promise(requestAnimationFrame);
    place.style.position = "relative";
    place.append(comparison);
  }

  /** Run a prompt. What is shown stays until the server has accepted the request. */
  async function start(prompt, settings, fork = null) {
    const loading = setTimeout(() => tell(say("Waiting for the model to load", "正在等待模型加载")), 300);
    let answer;
    try {
      answer = await server.start(prompt, settings, fork);
    } catch {
      answer = { error: say("The server does not answer; reload the page", "服务器没有响应，请刷新页面") };
    }
    clearTimeout(loading);
    tell(answer.error ?? "");
    if (!answer.run) return;
    if (fork) await keep(fork.trace);
    shown = { run: answer.run };
    comparison.hidden = true;
    player.begin({ label: prompt, follow: false });
    follow(answer.run);
  }

  /** Decode anew from the iteration at the cursor, with these settings and what is forced or forbidden there. */
  async function fork(settings) {
    const point = player.forkPoint();
    if (!point) {
      tell(say("Go to an iteration of a ReFusion run first", "请先跳到一次 ReFusion 运行的某次迭代"));
      return;
    }
    await start("", settings, { trace: player.text(), ...point });
  }

  /** Follow a run from its first event, until it is done or another one takes its place. */
  async function follow(id) {
    run = id;
    sessionStorage.setItem(RUN_KEY, id);
    setLive(true);
    let have = 0;
    let failures = 0;
    while (run === id) {
      let answer;
      try {
        answer = await server.poll(id, have);
        failures = 0;
      } catch {
        if (++failures < 5) {
          await new Promise((done) => setTimeout(done, 300 * failures));
          continue;
        }
        answer = { lines: [], done: true, error: say("the server does not answer", "服务器没有响应") };
      }
      if (run !== id) return;
      if (answer.lines.length) player.push(answer.lines.join("\n"));
      have += answer.lines.length;
      tell(answer.ahead ? say(`Waiting for ${answer.ahead} other run(s)`, `前面还有 ${answer.ahead} 个运行`) : "");
      if (answer.done) {
        player.finish(answer.error ? { error: answer.error } : {});
        leave();
        offerComparison(await keep(player.text()));
      }
    }
  }

  function leave() {
    run = null;
    setLive(false);
  }

  /** Go on with a run that the server knows. */
  async function resume(id) {
    const answer = await server.poll(id, 0);
    if (answer.error === "unknown_run") return false;
    shown = { run: id };
    if (answer.done && answer.lines.length) {
      show(answer.lines.join("\n"), say("this run", "本次运行"), shown);
      sessionStorage.setItem(RUN_KEY, id);
      offerComparison(await keep(player.text()));
      return true;
    }
    player.begin({ label: say("this run", "本次运行"), follow: false });
    follow(id);
    return true;
  }

  /** Open what the address names, else the run of this page before it was reloaded, else the first example. */
  async function openFirst() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const first = window.refusionFirstExample;
    try {
      if (wanted.has("example")) {
        await example(wanted.get("example"));
        return;
      }
      if (wanted.has("kept") && (await openKept(wanted.get("kept")))) return;
      const id = wanted.has("kept") ? null : wanted.get("run") ?? sessionStorage.getItem(RUN_KEY);
      if (id && (await resume(id))) return;
      if (wanted.has("run")) tell(say("The server no longer has this run; here is an example",
        "服务器已不再保留该运行；这里是一个示例"));
    } catch (problem) {
      tell(String(problem.message ?? problem));
    }
    if (first.trace) show(first.trace, first.name, { example: first.name }, message.textContent);
  }

  /** Play a run that this browser keeps. @returns {Promise<boolean>} whether it does */
  async function openKept(id) {
    const kept = await window.RefusionKept.get(id).catch(() => null);
    if (!kept) {
      tell(say("This browser does not keep this run", "此浏览器没有保存该运行"));
      return false;
    }
    show(kept.text, kept.name || kept.prompt, { kept: id });
    offerComparison(kept);
    return true;
  }

  /** @param {object} [link] what an address must name to open it again */
  function show(text, label, link = {}, note = "") {
    leave();
    tell(note);
    comparison.hidden = true;
    shown = link;
    sessionStorage.removeItem(RUN_KEY);
    player.load(text, { label });
  }

  function open() {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = ".jsonl,.json,.txt";
    input.className = "refusion-file";
    input.style.display = "none";
    input.onchange = async () => {
      const file = input.files[0];
      input.remove();
      if (file) await openFile(file);
    };
    document.body.append(input);
    input.click();
  }

  async function openFile(file) {
    const megabytes = file.size / 2 ** 20;
    if (megabytes > MAX_FILE_MB) {
      tell(say(
        `${file.name} has ${megabytes.toFixed(0)} MB, the limit is ${MAX_FILE_MB} MB; record a shorter run`,
        `${file.name} 有 ${megabytes.toFixed(0)} MB，上限为 ${MAX_FILE_MB} MB；请录制更短的运行`,
      ));
      return;
    }
    const text = await file.text();
    show(text, file.name);
    if (megabytes <= MAX_CHECKED_MB) {
      const problem = await server.check(text);
      if (problem) player.fail(problem);
    }
  }

  /** Play a recorded example. Answers its prompt and its settings, in the order of these defaults. */
  async function example(name, defaults = {}) {
    if (!name) return null;
    const { text, error } = await server.example(name);
    if (error) throw new Error(error);
    show(text, name, { example: name });
    const { prompt_text: prompt, settings } = JSON.parse(text.slice(0, text.indexOf("\n")));
    return [prompt, ...Object.entries(defaults).map(([setting, value]) => settings[setting] ?? value)];
  }

  function mount(element, serverFunctions) {
    server = serverFunctions;
    message = element.querySelector(".refusion-message");
    createComparison();
    player = window.RefusionPlayer.mount(element.querySelector(".refusion-mount"), {
      autoplay: true,
      lang: chinese() ? "zh" : "en",
      linkOf: () => shown,
      onFile: openFile,
      canFork: true,
    });
    window.refusion = {
      player, start, fork, open, openFile, example,
      stop: () => { if (run) server.stop(run); },
    };
    openFirst();
  }

  window.RefusionBridge = { mount };
})();
