// The list of the most similar pairs. Each pair keeps its row, which moves smoothly to its new rank.
import { distance, element, moment, position, similarity } from "./format.js";
import { chips, marked } from "./marks.js";

const list = document.getElementById("pairs");
const rows = new Map();
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function side(name, id, text, pair) {
  const heading = element("p", { class: "who" }, `${name} `, element("bdi", { dir: "auto" }, id));
  if (text !== null) return element("div", { class: "side" }, heading, marked(text, pair.shared, pair.cut));
  const own = name === "newer" ? pair.only_newer : pair.only_older;
  return element("div", { class: "side" }, heading, element("ul", { class: "tokens" }, ...chips(pair.shared, "shared"), ...chips(own, "own")));
}

function make(key, pair, open) {
  const rank = element("span", { class: "rank" });
  const fill = element("span", { class: "fill" });
  const button = element("button", { type: "button", class: "ask" }, "Why?");
  const ages = element("span", { class: "ages" });
  const row = element(
    "li",
    { class: "pair", "data-key": key },
    element("div", { class: "top" }, rank, element("strong", { class: "similarity" }, similarity(pair.similarity)), element("span", { class: "bar", "aria-hidden": "true" }, fill), ages, button),
    element("div", { class: "sides" }, side("newer", pair.newer, pair.newer_text, pair), side("older", pair.older, pair.older_text, pair)),
  );
  row.addEventListener("click", (event) => {
    if (event.target === button || getSelection().isCollapsed) open(key, pair);
  });
  return { row, rank, fill, button, ages, data: pair };
}

function update(made, pair, rank, state, scale) {
  const [low, high] = scale;
  made.rank.textContent = rank;
  made.fill.style.transform = `scaleX(${Math.max(0.004, Math.min(1, (pair.similarity - low) / (high - low || 1)))})`;
  const fresh = state.now !== null && position(pair.start) >= position(state.now);
  const age = state.now === null ? "" : fresh ? "new" : `${distance(pair.start, state.now)} old`;
  const left = pair.end === null ? "never ends" : state.now === null ? "" : position(pair.end) > position(state.now) ? `${distance(state.now, pair.end)} left` : "ending";
  const ages = [age, left].filter(Boolean).join(" · ");
  if (made.ages.textContent !== ages) made.ages.textContent = ages;
  made.ages.title = `since ${moment(pair.start)}, until ${moment(pair.end)}`;
  made.button.setAttribute("aria-label", `Why? Pair ${rank}, similarity ${similarity(pair.similarity)}`);
}

export function words(pair) {
  const parts = [pair.newer, pair.older, pair.newer_text ?? "", pair.older_text ?? "", ...pair.shared, ...pair.only_newer, ...pair.only_older];
  return parts.join("\n").toLowerCase();
}

// The range of similarities: 0 to 1 for most, up to 0 for distances, as wide as needed for others.
export function scaleOf(state) {
  const all = Object.values(state.pairs).map((pair) => pair.similarity).filter((value) => value !== null);
  const low = Math.min(0, ...all);
  return [low, low < 0 && all.every((value) => value <= 0) ? 0 : Math.max(1, ...all)];
}

export function draw(state, keep, open) {
  const scale = scaleOf(state);
  const wanted = state.order.map((key, index) => [key, index + 1]).filter(([key]) => keep(state.pairs[key]));
  const still = calm.matches || document.hidden;
  const before = new Map(still ? [] : [...rows].map(([key, made]) => [key, made.row.getBoundingClientRect().top]));
  const focus = document.activeElement?.closest?.(".pair");

  const left = new Set(wanted.map(([key]) => key));
  for (const [key, made] of rows) {
    if (left.has(key) && made.data === state.pairs[key]) continue;
    made.row.remove();
    rows.delete(key);
  }
  let place = list.firstElementChild;
  for (const [key, rank] of wanted) {
    const pair = state.pairs[key];
    if (!rows.has(key)) rows.set(key, make(key, pair, open));
    const made = rows.get(key);
    update(made, pair, rank, state, scale);
    if (made.row === place) place = place.nextElementSibling;
    else list.insertBefore(made.row, place);
  }
  if (focus && !focus.isConnected) list.focus({ preventScroll: true });
  // if almost everything is new, moving would only flicker
  const fresh = wanted.filter(([key]) => !before.has(key)).length;
  if (!still && fresh <= wanted.length / 2) for (const [key] of wanted) move(rows.get(key).row, before.get(key));
  return wanted.length;
}

function move(row, before) {
  if (before === undefined) {
    row.animate([{ opacity: 0, transform: "scale(0.985)" }, { opacity: 1, transform: "none" }], { duration: 420, easing: "ease-out" });
    return;
  }
  const by = before - row.getBoundingClientRect().top;
  if (Math.abs(by) > 1) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.2,.7,.2,1)" });
}
