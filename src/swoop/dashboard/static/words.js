// Words for when there is nothing to show: why that is so, and what was there last.
import { counted } from "./format.js";
import { clock, position } from "./times.js";

function latest(rows) {
  return rows.reduce((last, { to }) => (to !== null && (last === null || position(to) > position(last)) ? to : last), null);
}

// Why nothing was found so far, as far as the rows tell; null if they do not.
function ofRows({ status, metrics }) {
  const rows = metrics.rows ?? metrics.sets ?? 0;
  const ended = status.state === "stopped";
  if (status.state === "waiting") return "Waiting for the stream to start …";
  if (rows === 0) return ended ? "The stream has ended without any rows." : "Waiting for the first rows …";
  if (metrics.rejected >= rows) return `${rows === 1 ? "The only row" : `All ${counted(rows, "row", "rows")}`} so far ${rows === 1 ? "was" : "were"} rejected: see why, above.`;
  if (metrics.held > 0 && metrics.window_size === 0 && !ended) return `${counted(metrics.held, "row waits", "rows wait")} until later ones arrive, so that all enter in the order of time.`;
  return null;
}

function nothing(state, what, past, never) {
  const ended = state.status.state === "stopped";
  const last = latest(past);
  if (last !== null) return `${ended ? "The stream has ended: no" : "No"} ${what} in the window now; the last left at ${clock(last, state.now)}.`;
  return ofRows(state) ?? (ended ? `The stream has ended: ${never} were found.` : `No ${what} so far, in ${counted(state.metrics.rows ?? state.metrics.sets, "row", "rows")}.`);
}

export const noPairs = (state) => nothing(state, "similar pairs", Object.values(state.stays), "no similar pairs");
export const noFamilies = (state) => nothing(state, "families", Object.values(state.lives), "no families");
