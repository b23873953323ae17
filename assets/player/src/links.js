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
