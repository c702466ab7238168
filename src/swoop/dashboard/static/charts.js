// The charts. Vega's expressions are interpreted, not compiled, so the page needs no eval.
import { count, counted, shortened, similarity } from "./format.js";
import { link, onLink } from "./links.js";
import { scaleOf } from "./pairs.js";
import { plain } from "./marks.js";
import { keptMoment } from "./source.js";
import { isDate, isLocal, moment, position, zoneOf } from "./times.js";
import { walk } from "./walk.js";
import { openFamily, openPair } from "./why.js";

const LINES = 18;
const STEP = 17;
const tip = document.getElementById("tip");
const places = Object.fromEntries(["skyband", "timeline", "lives"].map((name) => [name, document.getElementById(name)]));
const views = {};
let shown = null; // the state
let drawn = "";
let drawing = false;
let tries = 0;

// A browser may remember that a script failed to load, so each retry uses another name.
async function vega() {
  if (window.vegaEmbed) return;
  try {
    await import(`./vega.js?${tries}`);
  } catch (error) {
    tries += 1;
    throw error;
  }
}

function tooltip(handler, event, item, value) {
  tip.hidden = !value;
  if (!value) return;
  tip.textContent = typeof value === "object" ? Object.values(value).join("\n") : String(value);
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
}

// The current colours: only elements know what light-dark() resolves to.
function colours() {
  const probe = document.body.appendChild(document.createElement("i"));
  const found = ["accent", "ink", "quiet", "line", "pale"].map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(found);
}

// by the 24-hour clock, like everything else on the page
const HOURS = { year: "%Y", quarter: "%B", month: "%B", week: "%-d %b", date: "%-d %b", hours: "%H:%M", minutes: "%H:%M", seconds: "%H:%M:%S", milliseconds: ".%L" };

// the mark that is pointed at, here or in the list, stands out
const LINKED = "length(linked) === 0 || indexof(linked, datum.link) >= 0";

function frame(colour, now, spec) {
  const axis = { labelColor: colour.quiet, titleColor: colour.quiet, gridColor: colour.line, domain: false, ticks: false, labelFontSize: 11, titleFontSize: 11, titleFontWeight: "normal", labelPadding: 6 };
  const font = "ui-sans-serif, system-ui, sans-serif";
  const time = { type: "temporal", title: zoneOf(now) || null, scale: { type: isLocal(now) ? "time" : "utc" }, axis: { format: HOURS, titleAnchor: "end", titlePadding: 2 } };
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    width: "container",
    autosize: { type: "fit-x", contains: "padding" },
    background: null,
    padding: 2,
    params: [{ name: "linked", value: [] }],
    config: { view: { stroke: null }, axis, font, axisX: { grid: false, labelFlush: true, labelOverlap: true, tickCount: 4 } },
    ...spec(isDate(now) ? time : { type: "quantitative", title: null, scale: { zero: false, nice: false } }),
  };
}

const skyband = (colour, y) => (x) => ({
  height: 170,
  layer: [
    { data: { name: "steps", values: [] }, mark: { type: "area", interpolate: "step-before", color: colour.accent, opacity: 0.1, clip: true }, encoding: { x: { field: "x", ...x }, y: { field: "y", type: "quantitative", title: "similarity", scale: { domain: y, nice: false }, axis: { tickCount: 5 } }, y2: { datum: y[0] } } },
    { data: { name: "stairs", values: [] }, mark: { type: "line", interpolate: "step-before", color: colour.accent, strokeWidth: 1.5, opacity: 0.75, clip: true }, encoding: { x: { field: "x", ...x }, y: { field: "y", type: "quantitative" } } },
    { data: { name: "dots", values: [] }, mark: { type: "point", filled: true, size: 58, color: colour.accent }, encoding: { x: { field: "x", ...x }, y: { field: "y", type: "quantitative" }, opacity: { condition: { test: LINKED, value: 1 }, value: 0.25 }, tooltip: { field: "tip" } } },
  ],
});

const timeline = (colour) => (x) => ({
  height: STEP,
  data: { name: "stays", values: [] },
  mark: { type: "bar", height: 7, cornerRadius: 3.5, minBandSize: 2 },
  encoding: {
    x: { field: "from", ...x },
    x2: { field: "to" },
    y: { field: "line", type: "nominal", sort: { field: "place", op: "min" }, title: null, axis: { labelLimit: 170, labelFontSize: 10.5 } },
    color: { field: "open", type: "nominal", legend: null, scale: { domain: [true, false], range: [colour.accent, colour.pale] } },
    opacity: { condition: { test: LINKED, value: 1 }, value: 0.25 },
    tooltip: { field: "tip" },
  },
});

// By what people recognise a pair: the beginning of its text, or else its ids.
function label(stay) {
  const text = stay.text ?? `${shortened(stay.newer, 9)} · ${shortened(stay.older, 9)}`;
  const letters = [...text];
  return letters.length <= 24 ? letters.join("") : `${letters.slice(0, 23).join("").trimEnd()}…`;
}

function skybandData(state) {
  const now = position(state.now);
  const { steps } = state.skyband;
  const ends = [...state.order.map((key) => position(state.pairs[key].end)), ...steps.map(([until]) => position(until))].filter((end) => end !== null);
  const edge = Math.max(now ?? 0, ...ends);
  const last = edge > now ? edge : (now ?? 0) + 1;
  const stairs = steps.map(([until, value]) => ({ x: position(until) ?? last, y: value }));
  if (stairs.length && state.skyband.from !== null) stairs.unshift({ x: position(state.skyband.from), y: stairs[0].y });
  const dots = state.order.map((key, index) => {
    const pair = state.pairs[key];
    return { link: key, x: position(pair.end) ?? last, y: pair.similarity, tip: `${index + 1}: ${shortened(pair.newer, 60)} and ${shortened(pair.older, 60)}\n${similarity(pair.similarity)} until ${moment(pair.end)}` };
  });
  return { steps: stairs, stairs, dots };
}

function timelineData(state) {
  const ranks = new Map(state.order.map((key, index) => [key, index]));
  const stays = Object.values(state.stays);
  const last = new Map();
  for (const stay of stays) last.set(stay.pair, Math.max(last.get(stay.pair) ?? -Infinity, stay.to === null ? Infinity : position(stay.to)));
  const lines = [...last.keys()].sort((a, b) => (ranks.get(a) ?? 1e9) - (ranks.get(b) ?? 1e9) || last.get(b) - last.get(a)).slice(0, LINES);
  const index = new Map(lines.map((key, place) => [key, place]));
  const now = position(state.now);
  const seen = stays.filter((stay) => index.has(stay.pair));
  const begin = Math.min(...seen.map((stay) => position(stay.from)));
  const least = Math.max(0, now - begin) * 0.006; // so that a short stay is visible
  return {
    stays: seen
      .sort((a, b) => index.get(a.pair) - index.get(b.pair))
      .map((stay) => ({
        link: stay.pair,
        place: index.get(stay.pair),
        // lines are distinguished by their labels, so each gets its own number of zero-width spaces
        line: `${ranks.has(stay.pair) ? `${ranks.get(stay.pair) + 1}.  ` : ""}${label(stay)}${"\u200b".repeat(index.get(stay.pair))}`,
        from: position(stay.from),
        to: Math.max(position(stay.to) ?? now ?? 0, position(stay.from) + least),
        open: stay.to === null,
        tip: `${shortened(stay.newer, 60)} and ${shortened(stay.older, 60)}, ${similarity(stay.similarity)}\n${stay.text === null ? "" : `${stay.text}\n`}from ${moment(stay.from)} ${stay.to === null ? "on" : `to ${moment(stay.to)}, ${stay.how}`}`,
      })),
  };
}

function livesData(state) {
  const now = position(state.now);
  const lives = Object.values(state.lives);
  const largest = lives.sort((a, b) => b.records - a.records || position(b.from) - position(a.from)).slice(0, LINES);
  const seen = largest.sort((a, b) => position(a.from) - position(b.from));
  const begin = Math.min(...seen.map((life) => position(life.from)));
  const least = Math.max(0, now - begin) * 0.006;
  const cards = [...Object.values(state.ended), ...Object.values(state.families)].filter(({ texts }) => texts.length);
  const texts = new Map(cards.map(({ id, texts: [first] }) => [id, plain(first.parts)]));
  return {
    stays: seen.map((life, place) => ({
      link: life.family,
      place,
      line: `${count(life.records)} × ${label({ text: texts.get(life.family) ?? shortened(life.family, 12) })}${"\u200b".repeat(place)}`,
      from: position(life.from),
      to: Math.max(position(life.to) ?? now ?? 0, position(life.from) + least),
      open: life.to === null,
      tip: `${shortened(life.family, 60)}, ${counted(life.records, "record", "records")}\nfrom ${moment(life.from)} ${life.to === null ? "on" : `to ${moment(life.to)}, ${life.how}${life.into === null ? "" : ` into ${shortened(life.into, 60)}`}`}`,
    })),
  };
}

// Which charts have something to tell: pairs that end, stays, lives of families.
export function tells({ shows, order, pairs, stays, lives, skyband: { steps } }) {
  const drawable = !keptMoment || window.vegaEmbed; // a page may have been kept without what draws charts
  const ends = [...order.map((key) => pairs[key].end), ...steps.map(([until]) => until)].some((end) => end !== null);
  return { skyband: drawable && shows.pairs && ends, timeline: drawable && shows.pairs && Object.keys(stays).length > 0, lives: drawable && shows.families && Object.keys(lives).length > 0 };
}

async function embed(state, told, scale) {
  for (const view of Object.values(views)) view.finalize();
  for (const name of Object.keys(views)) delete views[name];
  const colour = colours();
  const options = { ast: true, actions: false, renderer: "canvas", defaultStyle: false, tooltip, logLevel: 1 };
  const specs = { skyband: skyband(colour, scale), timeline: timeline(colour), lives: timeline(colour) };
  for (const name of Object.keys(specs).filter((one) => told[one])) {
    const { view } = await window.vegaEmbed(places[name], frame(colour, state.now, specs[name]), options);
    const linkOf = (item) => (item?.datum?.link === undefined ? [] : [item.datum.link]);
    view.addEventListener("mouseover", (event, item) => link(linkOf(item)));
    view.addEventListener("mouseout", () => link([]));
    view.addEventListener("click", (event, item) => linkOf(item).forEach(open));
    views[name] = view;
  }
}

onLink((names) => {
  for (const view of Object.values(views)) view.signal("linked", names).runAsync();
});

// What a mark stands for, in the dialog. A family that is over has nothing to show there.
function open(name) {
  const pair = shown.pairs[name] ?? Object.values(shown.stays).find((stay) => stay.pair === name);
  const family = Object.entries(shown.families).find(([, { id }]) => id === name);
  if (pair) openPair(name, pair);
  else if (family) openFamily(family[0]);
}

// Where the tip of a mark goes: beside a dot of the skyband, below a line of the others.
function beside(name, mark, place) {
  const { left, top } = places[name].getBoundingClientRect();
  const view = views.skyband;
  if (name !== "skyband" || !view) return { clientX: left, clientY: top + STEP * (place + 1) };
  const [x, y] = view.origin();
  return { clientX: left + x + view.scale("x")(mark.x), clientY: top + y + view.scale("y")(mark.y) };
}

const walks = Object.fromEntries(
  [["skyband", "Pairs in the skyband"], ["timeline", "Stays in the top-k"], ["lives", "Lives of families"]].map(([name, title]) => {
    const point = (mark, place) => {
      link(mark ? [mark.link] : []);
      tooltip(null, mark && beside(name, mark, place), null, mark?.tip);
    };
    return [name, walk(places[name], title, point, (mark) => open(mark.link))];
  }),
);

// The marks as a list: each with its line, if it has one, and what its tip says.
function listed(name, marks) {
  const said = ({ line, tip }) => `${line === undefined ? "" : `${line.replace(/\u200b/g, "")}: `}${tip.replace(/\n/g, ", ")}`;
  walks[name](marks.map((mark) => ({ ...mark, key: `${mark.link} ${mark.from ?? ""}`, text: said(mark) })));
}

// What a chart is about, and in which zone its times are.
function describe(name, what, { now }) {
  places[name].setAttribute("aria-label", zoneOf(now) ? `${what} Times are in ${zoneOf(now)}.` : what);
}

async function fill(view, data, height) {
  if (height) view.height(height);
  for (const [name, rows] of Object.entries(data)) view.data(name, rows);
  await view.resize().runAsync();
}

const lines = (data) => STEP * Math.max(1, new Set(data.stays.map((stay) => stay.line)).size);

async function drawSkyband(state) {
  const data = skybandData(state);
  listed("skyband", data.dots);
  await fill(views.skyband, data);
  const first = state.skyband.steps[0];
  describe("skyband", first ? `A new pair must now be more similar than ${similarity(first[1])} to matter.` : "A new pair of any similarity matters now.", state);
}

async function drawTimeline(state) {
  const past = timelineData(state);
  listed("timeline", past.stays);
  await fill(views.timeline, past, lines(past));
  describe("timeline", `${past.stays.length} stays in the top-k, which now has ${state.order.length} pairs.`, state);
}

async function drawLives(state) {
  const past = livesData(state);
  listed("lives", past.stays);
  await fill(views.lives, past, lines(past));
  const there = past.stays.filter((life) => life.open).length;
  describe("lives", `The lives of ${past.stays.length} families, of which ${there} are still there.`, state);
}

// Draws the state, unless the last one is still being drawn; another will follow.
export async function draw(state) {
  const told = tells(state);
  shown = state;
  if (drawing || !Object.values(told).some(Boolean)) return;
  drawing = true;
  try {
    await vega();
    const scale = scaleOf(state);
    const kind = JSON.stringify([isDate(state.now), zoneOf(state.now), scale, told, document.documentElement.dataset.theme, matchMedia("(prefers-color-scheme: dark)").matches]);
    if (kind !== drawn) await embed(state, told, scale);
    drawn = kind;
    if (views.skyband) await drawSkyband(state);
    if (views.timeline) await drawTimeline(state);
    if (views.lives) await drawLives(state);
  } finally {
    drawing = false;
  }
}
