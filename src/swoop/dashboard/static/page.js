// The page: state comes from the event stream and is drawn at most once per frame.
import * as charts from "./charts.js";
import { bytes, count, element, seconds, similarity } from "./format.js";
import * as pairs from "./pairs.js";
import { follow } from "./stream.js";
import { open } from "./why.js";

const at = (id) => document.getElementById(id);
const view = { state: null, linked: false, paused: false, ever: false, waiting: false, charted: 0, said: 0, leader: null };

const METRICS = [
  ["rate", "rows per second", (value) => (value === null ? "–" : count(value))],
  ["rows", "rows in total", count],
  ["window_size", "in the window", count],
  ["stock_size", "pairs in the stock", count],
  ["batch_seconds", "batch latency", seconds],
  ["late", "late", count],
  ["rejected", "rejected", count],
  ["memory_bytes", "memory", bytes],
];

function drawMetrics({ sets, ...metrics }) {
  if (!("rows" in metrics) && sets !== undefined) metrics.rows = sets;
  for (const [name, label, shown] of METRICS) {
    let value = at(`metric-${name}`);
    if (!(name in metrics)) {
      value?.parentElement.remove();
      continue;
    }
    if (!value) {
      value = element("dd", { id: `metric-${name}` });
      at("metrics").append(element("div", {}, element("dt", {}, label), value));
    }
    const text = shown(metrics[name]);
    if (value.textContent !== text) value.textContent = text;
  }
  const reasons = metrics.reasons?.length ? `Rejected rows: ${metrics.reasons.join("; ")}` : "";
  if (at("reasons").textContent !== reasons) at("reasons").textContent = reasons;
  at("reasons").hidden = !reasons;
}

function drawStatus() {
  const { state, reason } = view.state?.status ?? { state: "connecting", reason: null };
  const shown = view.linked ? (view.paused && state === "running" ? "paused" : state) : "connecting";
  const text = { connecting: view.ever ? "reconnecting …" : "connecting …", waiting: "waiting for the stream", running: "live", paused: "paused", stopped: "the stream has stopped", failed: "the stream has failed" }[shown];
  if (shown === "connecting" && view.ever && at("status").dataset.state !== shown) at("news").textContent = "Connection lost. Reconnecting.";
  at("status").dataset.state = shown;
  if (at("status-text").textContent !== text) at("status-text").textContent = text;
  const trouble = at("trouble");
  const said = state === "failed" ? `The stream has failed: ${reason}. This is the last known state.` : state === "stopped" ? "The stream has stopped. This is its final state." : "";
  trouble.dataset.state = state;
  if (trouble.textContent !== said) trouble.textContent = said;
  trouble.hidden = !said;
}

function drawList() {
  const { state } = view;
  const [low, high] = pairs.scaleOf(state);
  const slider = at("least");
  if (slider.min !== String(low) || slider.max !== String(high)) {
    const any = slider.value === slider.min;
    Object.assign(slider, { min: low, max: high, step: high - low > 2 ? 1 : 0.01 });
    if (any) slider.value = low;
  }
  const least = Number(slider.value) <= low ? null : Number(slider.value);
  const words = at("word").value.toLowerCase().split(/\s+/).filter(Boolean);
  at("least-text").textContent = least === null ? "any" : Number.isInteger(least) ? String(least) : least.toFixed(2);
  const keep = (pair) => (least === null || pair.similarity >= least) && (!words.length || ((text) => words.every((word) => text.includes(word)))(pairs.words(pair)));
  const shown = pairs.draw(state, keep, open);
  const all = state.order.length;
  at("shown").textContent = all === 0 ? "" : shown === all ? `${all} ${all === 1 ? "pair" : "pairs"}` : `${shown} of ${all} pairs`;
  at("empty").hidden = shown > 0;
  at("empty").textContent = all ? "No pair matches the filters." : state.status.state === "stopped" ? "There are no pairs." : "Waiting for the first pairs …";
}

// For screen readers: announce a new leader, at most every fifteen seconds.
function announce() {
  const { state } = view;
  const leader = state.order[0] ?? null;
  if (leader === view.leader || performance.now() - view.said < 15000) return;
  view.leader = leader;
  view.said = performance.now();
  const pair = state.pairs[leader];
  at("news").textContent = pair ? `The most similar pair is now ${pair.newer} and ${pair.older}, similarity ${similarity(pair.similarity)}.` : "There are no pairs now.";
}

function draw() {
  view.waiting = false;
  drawStatus();
  if (!view.state) return;
  document.title = view.state.title;
  at("title").textContent = view.state.title;
  drawMetrics(view.state.metrics);
  drawList();
  announce();
  const now = performance.now();
  clearTimeout(view.later);
  if (now - view.charted > 900) {
    view.charted = now;
    charts.draw(view.state).catch((error) => {
      if (!view.chartless) console.error("the charts cannot be drawn", error);
      view.chartless = true;
    });
  } else view.later = setTimeout(plan, 950);
}

function plan() {
  if (view.waiting) return;
  view.waiting = true;
  // a hidden tab has no frames, and nothing needs to be drawn there
  requestAnimationFrame(draw);
}

at("pause").addEventListener("click", () => {
  view.paused = !view.paused;
  at("pause").textContent = view.paused ? "Resume" : "Pause";
  at("pause").setAttribute("aria-pressed", String(view.paused));
  if (!view.paused && view.latest) view.state = view.latest;
  plan();
});
at("filters").addEventListener("input", plan);
at("filters").addEventListener("submit", (event) => event.preventDefault());
document.documentElement.addEventListener("themechange", () => {
  view.charted = 0;
  plan();
});

// the token has done its work: from now on there is the cookie
if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname);

follow("/events", {
  onState: (state) => {
    view.latest = state;
    // a paused page still shows that the stream has ended
    view.state = view.paused && view.state ? { ...view.state, status: state.status } : state;
    plan();
  },
  onLink: (linked) => {
    view.linked = linked;
    view.ever ||= linked;
    plan();
  },
});
