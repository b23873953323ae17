import { GIFEncoder, applyPalette, quantize } from "gifenc";
import { PACE } from "./constants.js";
import { Picture } from "./picture.js";

const WIDTH = 860;
const MAX_FRAMES = 120;
const LAST_FRAME_MS = 2500;
const STEPS = new Set(["run_started", "plan", "verify", "infill_round", "commit", "run_finished"]);

/**
 * The events to show: those that change the picture, and if they are too many, evenly chosen ones.
 * @param {object[]} events @returns {number[]} indexes, the first and the last always among them
 */
export function chooseFrames(events, limit = MAX_FRAMES) {
  const steps = events.flatMap((event, at) => (STEPS.has(event.type) || at === events.length - 1 ? [at] : []));
  if (steps.length <= limit) return steps;
  return Array.from({ length: limit }, (_, n) => steps[Math.round((n * (steps.length - 1)) / (limit - 1))]);
}

/**
 * The run as an animated GIF of stage and narration. Where the player was, it is again afterwards.
 * @param {import("./player.js").Player} player
 * @param {{onProgress?: (share: number) => void, signal?: AbortSignal}} [options]
 * @returns {Promise<Blob>}
 */
export async function gif(player, { onProgress, signal } = {}) {
  const cursor = player.cursor;
  player.pause();
  const frames = chooseFrames(player.trace.events);
  const encoder = GIFEncoder();
  try {
    const picture = new Picture(player, [player.narration.section, player.stage.section], WIDTH, 1);
    for (const [n, at] of frames.entries()) {
      signal?.throwIfAborted();
      player.moveTo(at);
      player.paint();
      const canvas = await picture.draw();
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      const palette = quantize(data, 256);
      const delay = n === frames.length - 1 ? LAST_FRAME_MS : PACE[player.trace.events[at].type];
      encoder.writeFrame(applyPalette(data, palette), width, height, { palette, delay });
      onProgress?.((n + 1) / frames.length);
    }
  } finally {
    player.moveTo(cursor);
  }
  encoder.finish();
  return new Blob([encoder.bytes()], { type: "image/gif" });
}
