// Words for when there is nothing to show: why that is so, and what was there last.
import { counted } from "./format.js";
import { clock, position } from "./times.js";

function latest(rows) {
  return rows.reduce((last, { to }) => (to !== null && (last === null || position(to) > position(last)) ? to : last), null);
}

const overOf = ({ state }) => ({ stopped: "The stream has ended", failed: "The stream has failed" })[state];

// Why nothing was found so far, as far as the rows tell; null if they do not.
function ofRows({ status, metrics }) {
  const rows = metrics.rows ?? metrics.sets ?? 0;
  const over = overOf(status);
  if (status.state === "waiting") return "Waiting for the stream to start …";
  if (status.state === "failed" && rows === 0) return "There is nothing to show: see why, above.";
  if (rows === 0) return over ? "The stream has ended without any rows." : "Waiting for the first rows …";
  if (metrics.rejected >= rows) return `${rows === 1 ? "The only row" : `All ${counted(rows, "row", "rows")}`} so far ${rows === 1 ? "was" : "were"} rejected: see why, above.`;
  if (metrics.held > 0 && metrics.window_size === 0 && !over) return `${counted(metrics.held, "row waits", "rows wait")} until later ones arrive, so that all enter in the order of time.`;
  return null;
}

function nothing(state, what, past, never) {
  const over = overOf(state.status);
  const last = latest(past);
  if (last !== null) return `${over ? `${over}: no` : "No"} ${what} in the window now; the last left at ${clock(last, state.now)}.`;
  return ofRows(state) ?? (over ? `${over}: ${never} were found.` : `No ${what} so far, in ${counted(state.metrics.rows ?? state.metrics.sets, "row", "rows")}.`);
}

// What is said at the top of a stream that is over, or of a page that was kept.
export function ending({ status: { state, reason }, metrics }, isKept) {
  if (isKept) return "This page was kept: it shows one moment of a stream, and changes no more.";
  if (state === "stopped") return "The stream has ended. This is its final state.";
  if (state !== "failed") return "";
  const why = reason.replace(/\.$/, "");
  return (metrics.rows ?? metrics.sets) === 0 ? `The stream has failed before any row came: ${why}.` : `The stream has failed: ${why}. This is the last known state.`;
}

export const noPairs = (state) => state.hidden ? `Nothing but ${counted(state.hidden, "pair", "pairs")} of equal sets, which ${state.hidden === 1 ? "is" : "are"} not shown; a larger -k finds others.` : nothing(state, "similar pairs", Object.values(state.stays), "no similar pairs");
export const noFamilies = (state) => nothing(state, "families", Object.values(state.lives), "no families");
