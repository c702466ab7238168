// The page: state comes from the event stream and is drawn at most once per frame.
import * as charts from "./charts.js";
import * as families from "./families.js";
import { bytes, count, counted, element, put, seconds, similarity } from "./format.js";
import * as pairs from "./pairs.js";
import { keptMoment } from "./source.js";
import { follow } from "./stream.js";
import { drawSwitch, minute, onSwitch } from "./times.js";
import { openFamily, openNamed, openPair, openRows } from "./why.js";
import { ending, noFamilies, noPairs } from "./words.js";

const at = (id) => document.getElementById(id);
const view = { state: null, linked: false, paused: false, ever: false, waiting: false, charted: 0, said: 0, leader: null, unfolded: false };
const FEW = 4; // families beside pairs, until all are asked for

const METRICS = [
  ["rate", "rows per second", (value) => (value === null ? "–" : count(value))],
  ["rows", "rows in total", count],
  ["window_size", "in the window", count],
  ["families", "families", count],
  ["stock_size", "pairs in the stock", count],
  ["batch_seconds", "batch latency", seconds],
  ["alerts", "alerts", count],
  ["alerts_failed", "alerts given up", count],
  ["alerts_left_out", "alerts over the limit", count],
  ["alerts_waiting", "alerts not delivered yet", count],
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
  const unused = [["rejected", metrics.rejected], ["late", metrics.late]].filter(([, rows]) => rows > 0);
  put(at("rows-why"), unused.map(([what, rows]) => `${count(rows)} ${what}`).join(", "));
  at("rows-why").setAttribute("aria-label", `Rows that were not used: ${unused.map(([what, rows]) => `${count(rows)} ${what}`).join(", ")}. Why?`);
  at("rows-why").classList.toggle("bad", metrics.rejected > 0);
}

// What is shown: "top 20 · last 6 hours · jaccard · posts.jsonl · stream time 15 Feb 2020 19:59 UTC".
function drawAbout({ about, now }) {
  const parts = now === null ? about : [...about, `stream time ${minute(now)}`];
  const text = parts.join(" · ");
  at("about").hidden = !text;
  if (at("about").dataset.text === text) return;
  at("about").dataset.text = text;
  at("about").replaceChildren(...parts.flatMap((part, place) => [...(place ? [" · "] : []), element("bdi", { dir: "auto" }, part)]));
}

function drawStatus() {
  const { state } = view.state?.status ?? { state: "connecting" };
  const shown = keptMoment ? "kept" : view.linked ? (view.paused && state === "running" ? "paused" : state) : "connecting";
  const text = { connecting: view.ever ? "reconnecting …" : "connecting …", waiting: "waiting for the stream", running: "live", paused: "paused", kept: "kept", stopped: "the stream has ended", failed: "the stream has failed" }[shown];
  if (shown === "connecting" && view.ever && at("status").dataset.state !== shown) at("news").textContent = "Connection lost. Reconnecting.";
  at("status").dataset.state = shown;
  if (at("status-text").textContent !== text) at("status-text").textContent = text;
  const trouble = at("trouble");
  const said = view.state ? ending(view.state, keptMoment) : "";
  trouble.dataset.state = state;
  at("save").hidden = keptMoment !== null || !view.state || state === "waiting";
  if (trouble.textContent !== said) trouble.textContent = said;
  trouble.hidden = !said;
}

// Whether a text has all the words that somebody looks for.
function containing(field) {
  const words = at(field).value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return () => true;
  return (textOf) => {
    const text = textOf();
    return words.every((word) => text.includes(word));
  };
}

function drawFamilies() {
  const { state } = view;
  const order = document.querySelector("input[name=order]:checked").value;
  const contains = containing("family-word");
  const folds = state.shows.pairs && !view.unfolded;
  const { kept, all } = families.draw(state, order, (text) => contains(() => text), folds ? FEW : Infinity, openFamily);
  const known = order === "ended" ? all : Math.max(all, state.metrics.families ?? 0);
  const ended = order === "ended" ? " that ended" : "";
  at("families-shown").textContent = known === 0 ? "" : kept === known ? `${count(known)}${ended}` : `${count(kept)} of ${count(known)}${ended}`;
  at("families-empty").hidden = kept > 0;
  if (kept === 0) at("families-empty").textContent = all ? "No family matches the filter." : order === "ended" ? "No family has ended yet." : noFamilies(state);
  const more = at("families-more");
  more.hidden = !state.shows.pairs || kept <= FEW;
  more.textContent = view.unfolded ? "Show fewer families" : `Show ${count(kept - FEW)} more`;
  more.setAttribute("aria-expanded", String(view.unfolded));
}

function drawParts(state) {
  const { shows } = state;
  const told = charts.tells(state);
  at("pairs-part").hidden = !shows.pairs;
  at("families-part").hidden = !shows.families;
  for (const name of Object.keys(told)) at(`${name}-part`).hidden = !told[name];
  at("charts").hidden = !Object.values(told).some(Boolean);
  for (const [name, there] of Object.entries(shows)) for (const item of document.querySelectorAll(`.of-${name}`)) item.hidden = !there;
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
  const contains = containing("word");
  at("least-text").textContent = least === null ? "any" : Number.isInteger(least) ? String(least) : least.toFixed(2);
  const shown = pairs.draw(state, (pair) => (least === null || pair.similarity >= least) && contains(() => pairs.words(pair)), openPair, plan);
  const all = state.order.length;
  at("filters").hidden = all === 0 && least === null && !at("word").value && !at("filters").contains(document.activeElement);
  at("shown").textContent = all === 0 ? "" : shown === all ? `${all} ${all === 1 ? "pair" : "pairs"}` : `${shown} of ${all} pairs`;
  at("empty").hidden = shown > 0;
  if (shown === 0) at("empty").textContent = all ? "No pair matches the filters." : noPairs(state);
}

// For screen readers: announce a new leader, at most every fifteen seconds.
function announce() {
  const { state } = view;
  const { pairs: ofPairs } = state.shows;
  const leader = (ofPairs ? state.order : state.family_orders.size)[0] ?? null;
  if (leader === view.leader || performance.now() - view.said < 15000) return;
  view.leader = leader;
  view.said = performance.now();
  const pair = state.pairs[leader];
  const family = state.families[leader];
  const ofPair = pair ? `The most similar pair is now ${pair.newer} and ${pair.older}, similarity ${similarity(pair.similarity)}.` : "There are no pairs now.";
  const ofFamily = family ? `The largest family is now that of ${family.id}, with ${counted(family.size, "record", "records")}.` : "There are no families now.";
  at("news").textContent = ofPairs ? ofPair : ofFamily;
}

function draw() {
  view.waiting = false;
  drawStatus();
  if (!view.state) return;
  document.title = view.state.title;
  at("title").textContent = view.state.title;
  drawAbout(view.state);
  drawSwitch(view.state.now);
  drawMetrics(view.state.metrics);
  drawParts(view.state);
  if (view.state.shows.families) drawFamilies();
  drawList();
  announce();
  if (!view.named) {
    view.named = true;
    openNamed(view.state);
  }
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
for (const filters of ["filters", "family-filters"]) {
  at(filters).addEventListener("input", plan);
  at(filters).addEventListener("submit", (event) => event.preventDefault());
}
at("families-more").addEventListener("click", () => {
  view.unfolded = !view.unfolded;
  plan();
});
at("rows-why").addEventListener("click", () => openRows(view.state));
at("fold").addEventListener("click", () => {
  const open = document.body.classList.toggle("unfolded");
  at("fold").setAttribute("aria-expanded", String(open));
  at("fold").textContent = open ? "Less" : "More";
});
const menu = at("save");
document.addEventListener("click", (event) => {
  if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
});
menu.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menu.open) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

function redrawAll() {
  view.charted = 0;
  plan();
}
document.documentElement.addEventListener("themechange", redrawAll);
onSwitch(redrawAll);
addEventListener("resize", plan); // other lines of texts may fit
addEventListener("hashchange", () => view.state && openNamed(view.state));

// the token has done its work: from now on there is the cookie
if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname + location.hash);

if (keptMoment) {
  view.state = keptMoment.state;
  at("pause").hidden = true;
  plan();
} else {
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
}
