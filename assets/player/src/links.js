/** The iteration that an address names, counted from 1 as the page shows it, or null. "#iter=12" */
export function iterationOfHash(hash) {
  const value = Number(new URLSearchParams(hash.replace(/^#/, "")).get("iter"));
  return Number.isInteger(value) && value > 0 ? value : null;
}

/**
 * The address that opens at an iteration.
 * @param {string} href @param {number} iteration counted from 1
 * @param {Record<string, string>} [of] what else the page needs to find the run
 */
export function linkTo(href, iteration, of = {}) {
  const url = new URL(href);
  url.hash = new URLSearchParams({ ...of, iter: String(iteration) }).toString();
  return url.href;
}

/**
 * Whom an address leads to the run.
 * @param {string} href @param {Record<string, string>} [of] what finds the run on the page; a page that is the run needs none
 * @returns {"none"|"kept"|"local"|"run"|"web"} nobody, this browser, this machine, everybody for a while, everybody
 */
export function reachOf(href, of) {
  if (of && !Object.keys(of).length) return "none";
  if (of?.kept) return "kept";
  const { protocol, hostname } = new URL(href);
  if (!/^https?:$/.test(protocol) || /^(localhost|.*\.localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname)) return "local";
  return of?.run ? "run" : "web";
}
