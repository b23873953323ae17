import { GIFEncoder, applyPalette, quantize } from "gifenc";
import { PACE } from "./constants.js";
import { chooseFrames } from "./frames.js";
import { Picture } from "./picture.js";

const WIDTH = 860;
const MAX_FRAMES = 120;
const LAST_FRAME_MS = 2500;

/**
 * The run as an animated GIF of stage and narration. Where the player was, and whether it played, it is again
 * afterwards. Another run ends it.
 * @param {import("./player.js").Player} player
 * @param {{onProgress?: (share: number) => void, signal?: AbortSignal}} [options]
 * @returns {Promise<Blob>}
 */
export async function gif(player, { onProgress, signal } = {}) {
  const { trace } = player;
  const giveBack = borrow(player);
  const frames = chooseFrames(trace.events, MAX_FRAMES);
  const encoder = GIFEncoder();
  try {
    const picture = new Picture(player, [player.narration.section, player.stage.section], WIDTH, 1);
    for (const [n, at] of frames.entries()) {
      signal?.throwIfAborted();
      if (player.trace !== trace || player.destroyed) throw new DOMException("the run is no longer shown", "AbortError");
      player.moveTo(at);
      const canvas = await picture.draw();
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      const palette = quantize(data, 256);
      const delay = n === frames.length - 1 ? LAST_FRAME_MS : PACE[trace.events[at].type];
      encoder.writeFrame(applyPalette(data, palette), width, height, { palette, delay });
      onProgress?.((n + 1) / frames.length);
    }
  } finally {
    giveBack();
  }
  encoder.finish();
  return new Blob([encoder.bytes()], { type: "image/gif" });
}

/** Stops the player. @returns {() => void} what makes it go on where it was, unless it shows another run */
function borrow(player) {
  const { trace, cursor, wantsPlay, following } = player;
  player.pause();
  return () => {
    if (player.trace !== trace || player.destroyed) return;
    if (wantsPlay) player.playFrom(cursor);
    else player.moveTo(following ? trace.length - 1 : cursor);
    if (following) player.follow(true);
  };
}
