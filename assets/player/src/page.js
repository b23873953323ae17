import template from "../page.html";

// Of the bundle, while it is read: the exported page carries the same script.
const script = document.currentScript;

/** @returns {Promise<string>} the source of this player, without the line breaks of the page that it stands in */
async function source() {
  if (script?.textContent) return script.textContent.trim();
  if (!script?.src) throw new Error("the player's script cannot be read from this page; export with the command line");
  const answer = await fetch(script.src);
  if (!answer.ok) throw new Error(`the player's script cannot be read: ${answer.status}`);
  return (await answer.text()).trim();
}

/** JSON that can stand inside a script element. */
const inlineJson = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");

/**
 * One HTML file with the player and the trace, which opens without a network and shows the same.
 * @param {import("./player.js").Player} player @returns {Promise<string>}
 */
export async function pageHtml(player) {
  const at = player.playing ? null : player.cursor;
  const fills = {
    "/*PLAYER_JS*/": await source(),
    "/*TRACE_JSON*/": inlineJson(player.text()),
    "/*OPTIONS_JSON*/": inlineJson({ lang: player.speaker.language, at }),
  };
  // Split once: the script holds the template, and so the marks, itself.
  return template.split(/(\/\*(?:PLAYER_JS|TRACE_JSON|OPTIONS_JSON)\*\/)/).map((part) => fills[part] ?? part).join("");
}
