// Between Gradio and the page of many runs: plays the chosen one, and hands clicks on figures to the page.
(function () {
  "use strict";

  const LOOK_EVERY_MS = 400;
  let player, place;

  /** Nothing is there until a run is chosen. */
  function mount(element) {
    place = element;
    element.hidden = true;
    player = window.RefusionPlayer.mount(element.querySelector(".refusion-mount"), {
      lang: navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en",
    });
    window.RefusionResearch.player = player;
    setInterval(listen, LOOK_EVERY_MS);
  }

  function show(text) {
    if (!text) return;
    place.hidden = false;
    player.load(text);
    place.scrollIntoView({ block: "nearest" });
  }

  /** Clicks on figures drawn since: Gradio draws them when it likes. */
  function listen() {
    const plots = document.querySelectorAll("#sweep-heatmap .js-plotly-plot, #sweep-pareto .js-plotly-plot");
    for (const plot of plots) {
      if (plot.dataset.listens || !plot.on) continue;
      plot.dataset.listens = "1";
      plot.on("plotly_click", ({ points }) => choose(points[0]?.customdata));
    }
  }

  /** @param {string} key of a setting; empty in a cell without runs */
  function choose(key) {
    if (!key) return;
    const box = document.querySelector("#sweep-cell textarea, #sweep-cell input");
    box.value = `${key} ${Date.now()}`; // the same cell again is a choice too
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }

  window.RefusionResearch = { mount, show, choose };
})();
