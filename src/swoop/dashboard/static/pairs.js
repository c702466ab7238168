// The list of the most similar pairs.
import { count, counted, distance, element, named, shortened, similarity } from "./format.js";
import { links } from "./links.js";
import { listOf, opens } from "./list.js";
import { chips, marked, plain } from "./marks.js";
import { moreOf } from "./more.js";
import { clock, moment, position } from "./times.js";

const list = document.getElementById("pairs");
const unfolded = new Set(); // the texts of which all pairs are shown
let shown = null; // the state, and what opens a pair

const hasTexts = (pair) => pair.newer_text !== null && pair.older_text !== null;
const ofTokens = (pair) => pair.newer_text === null && pair.older_text === null && pair.counts !== null;

// Whether one side says all that the other does: of sets without texts, if no token differs.
const sameOf = (pair) => pair.same ?? (ofTokens(pair) && pair.counts[1] + pair.counts[2] === 0 ? "same tokens" : null);

// What a card says, as far as it is known. Pairs that say the same as a better one are behind it.
function textsOf(pair) {
  if (hasTexts(pair)) return JSON.stringify(pair.same ? [plain(pair.newer_text)] : [plain(pair.newer_text), plain(pair.older_text)].sort());
  const lists = [pair.shared, pair.only_newer, pair.only_older];
  if (!ofTokens(pair) || lists.some((tokens, kind) => tokens.length < pair.counts[kind])) return null;
  return JSON.stringify([pair.shared, [pair.only_newer, pair.only_older].map((tokens) => JSON.stringify(tokens)).sort()]);
}

// The pairs without those that are behind another one, and which are behind each.
function folded(wanted, pairs) {
  const leaders = new Map();
  const hidden = new Map();
  const kept = wanted.filter(([key]) => {
    const texts = textsOf(pairs[key]);
    if (texts === null || !leaders.has(texts)) {
      leaders.set(texts, key);
      return true;
    }
    const leader = leaders.get(texts);
    hidden.set(leader, [...(hidden.get(leader) ?? []), key]);
    return unfolded.has(texts);
  });
  return { kept, hidden };
}

function heading(name, id, most) {
  return element("p", { class: "who" }, `${name} `, named(id, most), element("span", { class: "copies" }));
}

// Tokens that only one of the sets has come first, so that they are seen.
function side(name, pair, most) {
  const text = pair[`${name}_text`];
  const own = text === null ? [element("ul", { class: "tokens" }, ...chips(pair[`only_${name}`], "own"), ...chips(pair.shared, "shared"))] : [marked(text)];
  return element("div", { class: "side" }, heading(name, pair[name], most), ...(sameOf(pair) ? [] : own));
}

// Both sets beside each other; ids of at most so many letters.
export function bothSides(pair, letters) {
  const same = sameOf(pair);
  const alike = pair.newer !== pair.older && shortened(pair.newer, letters) === shortened(pair.older, letters);
  const most = alike ? 10 * letters : letters; // or they could not be told from each other
  const sides = element("div", { class: same ? "sides same" : "sides" }, side("newer", pair, most), side("older", pair, most));
  if (!same) return [sides];
  const both = hasTexts(pair) ? marked(pair.newer_text) : element("ul", { class: "tokens" }, ...chips(pair.shared, "shared"));
  return [sides, element("div", { class: "once" }, both)];
}

function make(key) {
  const pair = shown.state.pairs[key];
  const rank = element("a", { class: "rank", href: `#pair-${key}`, title: "Link to this pair" });
  const fill = element("span", { class: "fill" });
  const button = element("button", { type: "button", class: "ask" }, "Why?");
  const ages = element("span", { class: "ages" });
  const more = element("button", { type: "button", class: "more" });
  const row = element(
    "li",
    { class: "pair", "data-key": key },
    element("div", { class: "top" }, rank, element("strong", { class: "similarity" }, similarity(pair.similarity)), element("span", { class: "bar", "aria-hidden": "true" }, fill), ...(sameOf(pair) ? [element("span", { class: "badge" }, sameOf(pair))] : []), ages, button),
    ...bothSides(pair, 24),
    more,
  );
  const open = () => shown.open(key, pair);
  const rest = moreOf(row, open);
  button.before(rest.button);
  more.addEventListener("click", (event) => {
    event.stopPropagation();
    const texts = textsOf(pair);
    if (!unfolded.delete(texts)) unfolded.add(texts);
    shown.redraw();
  });
  opens(row, button, open);
  return { row, rank, fill, button, ages, more, rest, copies: row.querySelectorAll(".copies"), data: pair };
}

// How many copies of a record there are, and since when.
export function copiesOf(copies, now) {
  if (!copies || copies[0] < 2) return "";
  return ` · ${count(copies[0])} copies since ${clock(copies[1], now)}, last ${clock(copies[2], now)}`;
}

function update(made, key, rank) {
  const { state, scale } = shown;
  const pair = state.pairs[key];
  const [low, high] = scale;
  made.rank.textContent = rank;
  made.rank.setAttribute("aria-label", `Link to pair ${rank}`);
  made.fill.style.transform = `scaleX(${Math.max(0.004, Math.min(1, (pair.similarity - low) / (high - low || 1)))})`;
  const fresh = state.now !== null && position(pair.start) >= position(state.now);
  const age = state.now === null ? "" : fresh ? "new" : `${distance(pair.start, state.now)} old`;
  const left = pair.end === null ? "never ends" : state.now === null ? "" : position(pair.end) > position(state.now) ? `${distance(state.now, pair.end)} left` : "ending";
  const ages = [age, left].filter(Boolean).join(" · ");
  if (made.ages.textContent !== ages) made.ages.textContent = ages;
  made.ages.title = `since ${moment(pair.start)}, until ${moment(pair.end)}`;
  made.button.setAttribute("aria-label", `Why? Pair ${rank}, similarity ${similarity(pair.similarity)}`);
  const behind = shown.hidden.get(key) ?? [];
  const open = unfolded.has(textsOf(pair));
  links(made.row, open ? [key] : [key, ...behind]);
  made.more.hidden = !behind.length;
  made.more.textContent = open ? "Show them once" : `and ${counted(behind.length, "more pair", "more pairs")} of the same ${hasTexts(pair) ? "texts" : "tokens"}`;
  made.more.setAttribute("aria-expanded", String(open));
  made.copies.forEach((place, index) => {
    const text = copiesOf(pair.copies?.[index], state.now);
    if (place.textContent !== text) place.textContent = text;
  });
}

// Numbers of copies and the end may change; then only these are drawn anew.
function same(made, key) {
  const pair = shown.state.pairs[key];
  const stays = made.data === pair || (pair.copies && made.data.copies && made.data.counts !== null && pair.counts !== null);
  made.data = pair;
  return stays;
}

// Differences that are not even in the state: of a long text, or of very many tokens.
function leftOut(pair) {
  if (pair.same) return 0;
  if (pair.newer_text !== null) return pair.left_out[0] + pair.left_out[1];
  return pair.counts === null ? 0 : pair.counts[1] + pair.counts[2] - pair.only_newer.length - pair.only_older.length;
}

const drawRows = listOf(list, { make, update, same, placed: (made, key, size) => made.rest.measure(size, leftOut(shown.state.pairs[key])) });

export function words(pair) {
  const texts = [pair.newer_text, pair.older_text].map((parts) => (parts === null ? "" : plain(parts)));
  return [pair.newer, pair.older, ...texts, ...pair.shared, ...pair.only_newer, ...pair.only_older].join("\n").toLowerCase();
}

// The range of similarities: 0 to 1 for most, up to 0 for distances, as wide as needed for others.
export function scaleOf(state) {
  const all = Object.values(state.pairs).map((pair) => pair.similarity).filter((value) => value !== null);
  const low = Math.min(0, ...all);
  return [low, low < 0 && all.every((value) => value <= 0) ? 0 : Math.max(1, ...all)];
}

export function draw(state, keep, open, redraw) {
  const wanted = state.order.map((key, index) => [key, index + 1]).filter(([key]) => keep(state.pairs[key]));
  const { kept, hidden } = folded(wanted, state.pairs);
  shown = { state, open, redraw, hidden, scale: scaleOf(state) };
  drawRows(kept);
  return wanted.length;
}
