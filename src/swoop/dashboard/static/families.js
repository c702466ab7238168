// Families as cards: how many records, in what they differ, since when, and how they grow.
import { count, counted, distance, element, named, put, shortened } from "./format.js";
import { links } from "./links.js";
import { listOf, opens } from "./list.js";
import { marked, plain } from "./marks.js";
import { moreOf } from "./more.js";
import { clock, moment, position } from "./times.js";

const list = document.getElementById("families");
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [96, 22];
let shown = null;

const rowOf = (key) => shown.rows[key];

function drawing() {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ class: "trend", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true", preserveAspectRatio: "none" })) svg.setAttribute(name, value);
  svg.append(document.createElementNS(SVG, "path"));
  return svg;
}

// The size over time, in steps, from the first set to now, or to the end.
function trend(family, now) {
  const points = family.trend.map(([time, size]) => [position(time), size]);
  const begin = position(family.first_seen);
  const end = Math.max(position(family.end ?? now) ?? 0, points.at(-1)?.[0] ?? 0);
  const top = Math.max(2, ...points.map(([, size]) => size));
  const x = (time) => (end > begin ? ((time - begin) / (end - begin)) * WIDTH : 0).toFixed(1);
  const y = (size) => (HEIGHT - 1 - (size / top) * (HEIGHT - 2)).toFixed(1);
  const path = points.map(([time, size]) => `H${x(time)}V${y(size)}`).join("");
  return `M0 ${HEIGHT}${path}H${WIDTH}V${HEIGHT}Z`;
}

export function difference(family) {
  if (!family.kinds) return "";
  const what = family.kinds === 1 ? "same text" : `${count(family.kinds)} different texts`;
  const all = "end" in family ? family.total : family.size;
  if (family.looked < Math.min(all, 2)) return "";
  return family.looked < all ? `${what} in ${count(family.looked)} of them` : what;
}

function make(key) {
  const rank = element("span", { class: "rank" });
  const size = element("strong", { class: "size" });
  const what = element("span", { class: "badge" });
  const grown = element("span", { class: "grown" });
  const svg = drawing();
  const ages = element("p", { class: "ages" });
  const button = element("button", { type: "button", class: "ask" }, "Members");
  const texts = element("div", { class: "variants" });
  const who = element("p", { class: "who" });
  const row = element("li", { class: "family", "data-key": key }, element("div", { class: "top" }, rank, size, what, svg, grown, button), ages, texts, who);
  const open = () => {
    if (!button.hidden) shown.open(key, rowOf(key));
  };
  const rest = moreOf(row, open);
  texts.after(rest.button);
  opens(row, button, open);
  links(row, [rowOf(key).id]);
  return { row, rank, size, what, grown, svg, ages, button, texts, who, rest, drawn: "", version: 0 };
}

function variants(texts) {
  if (texts.every(({ count: times }) => times === 1)) return texts.map(({ parts }) => marked(parts));
  return texts.map(({ count: times, parts }) => element("div", { class: "variant" }, element("span", { class: "times" }, `${count(times)} ×`), marked(parts)));
}

function update(made, key, rank) {
  const family = rowOf(key);
  const { now } = shown.state;
  const over = "end" in family;
  put(made.rank, String(rank));
  put(made.size, counted(over ? family.total : family.size, "record", "records"));
  made.size.title = over ? `${count(family.total)} in total` : `${count(family.size)} in the window, ${count(family.total)} in total`;
  put(made.what, difference(family));
  put(made.grown, !over && family.grown > 0 ? `+${count(family.grown)} in 10 s` : "");
  const path = trend(family, now);
  if (made.svg.firstChild.getAttribute("d") !== path) made.svg.firstChild.setAttribute("d", path);
  const end = family.into ? `merged into ${shortened(family.into)}` : `ended ${clock(family.end ?? null, now)}`;
  put(made.ages, `since ${clock(family.first_seen, now)} · ${over ? end : `last ${clock(family.last_seen, now)}`}`);
  made.ages.title = family.last_seen === null ? "" : `from ${moment(family.first_seen)} to ${moment(family.last_seen)}, for ${distance(family.first_seen, family.last_seen)}`;
  made.button.hidden = over;
  made.button.setAttribute("aria-label", `Members of family ${rank}, ${counted(family.size, "record", "records")}`);
  const texts = JSON.stringify(family.texts);
  if (made.drawn !== texts) {
    made.texts.replaceChildren(...variants(family.texts));
    made.drawn = texts;
    made.version += 1;
  }
  const total = family.total > family.size && !over ? ` · ${count(family.total)} in total` : "";
  const more = family.kinds > family.texts.length ? ` · and ${count(family.kinds - family.texts.length)} more texts` : "";
  const who = `first ${family.id} · newest ${family.newest}${total}${more}`;
  if (made.who.dataset.text !== who) {
    made.who.replaceChildren("first ", named(family.id), " · newest ", named(family.newest), `${total}${more}`);
    made.who.dataset.text = who;
  }
}

const drawRows = listOf(list, { make, update, same: () => true, placed: (made, key, size) => made.rest.measure(`${size} ${made.version}`, 0) });

function words(family) {
  return [family.id, family.newest, ...family.texts.map(({ parts }) => plain(parts))].join("\n").toLowerCase();
}

// Draws the families of an order, at most so many of those that are kept. Returns how many are kept, and how many there are.
export function draw(state, order, keep, most, open) {
  const rows = order === "ended" ? state.ended : state.families;
  shown = { state, rows, open };
  const ended = Object.keys(rows).reverse().sort((a, b) => rows[b].total - rows[a].total);
  const all = order === "ended" ? ended : state.family_orders[order].filter((key) => key in rows);
  const kept = all.map((key, index) => [key, index + 1]).filter(([key]) => keep(words(rows[key])));
  drawRows(kept.slice(0, most));
  return { kept: kept.length, all: all.length };
}
