// Between Gradio and the race: starts the three runs, feeds each to its lane, and lets them race once all are there.
(function () {
  "use strict";

  const DECODERS = ["ar", "mdm", "refusion"];
  let race, server, message, turn = 0;

  const chinese = () => navigator.language.toLowerCase().startsWith("zh");
  const say = (en, zh) => (chinese() ? zh : en);

  function tell(text) {
    message.hidden = !text;
    message.textContent = text;
  }

  /** Run a prompt with every decoder. What is shown stays until the server has accepted it. */
  async function run(prompt, task, tokensPerStep, slotThreshold) {
    const settings = { mdm: { tokens_per_step: tokensPerStep }, refusion: { slot_threshold: slotThreshold } };
    const mine = ++turn;
    try {
      const { runs, error } = await server.start([prompt, settings]);
      if (mine !== turn) return;
      tell(error ?? "");
      if (error) return;
      runs.forEach((_, lane) => race.begin(lane, { label: prompt }));
      for (const [lane, id] of runs.entries()) if (!(await follow(lane, id, mine, task, prompt))) return;
      race.play();
    } catch {
      tell(say("The server does not answer; reload the page", "服务器没有响应，请刷新页面"));
    }
  }

  /** Feeds a lane until its run is over. @returns {Promise<boolean>} whether the race goes on */
  async function follow(lane, id, mine, task, prompt) {
    for (let have = 0; ;) {
      const answer = await server.poll(id, have);
      if (mine !== turn) return false;
      if (answer.lines.length) race.push(lane, answer.lines.join("\n"));
      have += answer.lines.length;
      tell(answer.ahead ? say(`Waiting for ${answer.ahead} other run(s)`, `前面还有 ${answer.ahead} 个运行`) : "");
      if (!answer.done) continue;
      const last = answer.lines.length ? JSON.parse(answer.lines.at(-1)) : {};
      const right = await server.verdict([task, prompt, last.text ?? ""]);
      if (mine !== turn) return false;
      race.finish(lane, { right, ...(answer.error ? { error: answer.error } : {}) });
      return !answer.error;
    }
  }

  /** Show a recorded race. */
  async function show(name) {
    const mine = ++turn;
    tell("");
    const traces = await server.race(name);
    if (mine !== turn || !traces.length) return;
    traces.forEach((text, lane) => race.load(lane, text));
    race.play();
  }

  function mount(element, serverFunctions) {
    server = serverFunctions;
    message = element.querySelector(".refusion-message");
    race = window.RefusionPlayer.together(element.querySelector(".refusion-race"), {
      lang: chinese() ? "zh" : "en",
      titles: DECODERS.map((decoder) => `decoder.${decoder}`),
      clocks: ["forwards", "seconds"],
    });
    window.refusionRace = { race, run, show };
    show(new URLSearchParams(location.hash.slice(1)).get("race") ?? "sums");
  }

  window.RefusionRace = { mount };
})();
