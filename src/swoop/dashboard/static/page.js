// The page: state comes from the stream, and is drawn at most once per frame.
import * as charts from "./charts.js";
import { bytes, count, element, seconds, similarity } from "./format.js";
import * as pairs from "./pairs.js";
import { follow } from "./stream.js";
import { open } from "./why.js";

const at = (id) => document.getElementById(id);
const view = { state: null, linked: false, paused: false, ever: false, waiting: false, charted: 0, said: 0, leader: null };

const FIGURES = [
  ["rate", "rows a second", (value) => (value === null ? "–" : count(value))],
  ["rows", "rows in all", count],
  ["window_size", "in the window", count],
  ["stock_size", "pairs in stock", count],
  ["batch_seconds", "latency", seconds],
  ["late", "late", count],
  ["rejected", "rejected", count],
  ["memory_bytes", "memory", bytes],
];

function drawFigures({ sets, ...figures }) {
  if (!("rows" in figures) && sets !== undefined) figures.rows = sets;
  for (const [name, label, shown] of FIGURES) {
    let value = at(`figure-${name}`);
    if (!(name in figures)) {
      value?.parentElement.remove();
      continue;
    }
    if (!value) {
      value = element("dd", { id: `figure-${name}` });
      at("figures").append(element("div", {}, element("dt", {}, label), value));
    }
    const text = shown(figures[name]);
    if (value.textContent !== text) value.textContent = text;
  }
}

function drawStatus() {
  const { state, reason } = view.state?.status ?? { state: "connecting", reason: null };
  const shown = view.linked ? (view.paused && state === "running" ? "paused" : state) : "connecting";
  const text = { connecting: view.ever ? "connecting again …" : "connecting …", waiting: "waiting for the stream", running: "live", paused: "paused", stopped: "the stream has stopped", failed: "the stream has failed" }[shown];
  if (shown === "connecting" && view.ever && at("status").dataset.state !== shown) at("news").textContent = "The connection is lost. Connecting again.";
  at("status").dataset.state = shown;
  if (at("status-text").textContent !== text) at("status-text").textContent = text;
  const trouble = at("trouble");
  const said = state === "failed" ? `The stream has failed: ${reason}. This is the last that was known.` : state === "stopped" ? "The stream has stopped. This is how it ended." : "";
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
  at("empty").textContent = all ? "No pair passes the filters." : state.status.state === "stopped" ? "There are no pairs." : "Waiting for the first pairs …";
}

// Said to screen readers: a new leader, at most every fifteen seconds.
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
  drawFigures(view.state.figures);
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
  // frames stop in a hidden tab, where nothing needs to be drawn
  requestAnimationFrame(draw);
}

at("pause").addEventListener("click", () => {
  view.paused = !view.paused;
  at("pause").textContent = view.paused ? "Go on" : "Pause";
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

// the token has done its work: the cookie has it now
if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname);

follow("/events", {
  onState: (state) => {
    view.latest = state;
    // a paused page still says that the stream is over
    view.state = view.paused && view.state ? { ...view.state, status: state.status } : state;
    plan();
  },
  onLink: (linked) => {
    view.linked = linked;
    view.ever ||= linked;
    plan();
  },
});
