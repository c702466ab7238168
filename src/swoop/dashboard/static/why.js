// The dialog: why a pair is similar, the members of a family, or why rows were not used.
import { difference } from "./families.js";
import { count, counted, element, named, similarity } from "./format.js";
import { focusCard } from "./list.js";
import { chips, marked } from "./marks.js";
import { bothSides, copiesOf } from "./pairs.js";
import { explanation, members } from "./source.js";
import { clock, moment } from "./times.js";

const dialog = document.getElementById("why");
const head = document.getElementById("why-head");
const body = document.getElementById("why-body");
const LONG = 200; // letters of an id in the dialog
let asked = 0;
let comeBack = () => {};

dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

// What was opened may have left the page meanwhile, and the focus with it. Browsers bring it back to what is still there, and
// somebody may have moved on from there before this is called.
dialog.addEventListener("close", () => {
  point("");
  const there = document.activeElement;
  if (!there || there === document.body || dialog.contains(there)) comeBack();
});

// The address of the page names the pair that is open, so that it can be passed on.
function point(hash) {
  if (location.hash === hash) return;
  history.replaceState(null, "", `${location.pathname}${location.search}${hash}`);
}

function open(title, content, whenClosed) {
  comeBack = whenClosed;
  head.textContent = title;
  body.replaceChildren(...content);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  head.focus();
}

function group(name, tokens, total, kind) {
  const more = total - tokens.length;
  return element(
    "section",
    {},
    element("h3", {}, `${name} `, element("span", { class: "quiet" }, count(total))),
    tokens.length ? element("ul", { class: "tokens" }, ...chips(tokens, kind)) : element("p", { class: "quiet" }, "none"),
    ...(more > 0 ? [element("p", { class: "quiet" }, `and ${count(more)} more`)] : []),
  );
}

function pairContent(found) {
  const [shared, newer, older] = found.counts;
  const texts = found.newer_text === null && found.older_text === null ? { ...found, shared: [], only_newer: [], only_older: [] } : found;
  const sides = bothSides(texts, LONG);
  sides[0].querySelectorAll(".copies").forEach((place, index) => {
    place.textContent = copiesOf(found.copies?.[index], null);
  });
  return [
    element("p", { class: "lead" }, element("strong", {}, similarity(found.similarity)), ` similar: ${count(shared)} of ${count(shared + newer + older)} tokens shared. In the window together from ${moment(found.start)} until ${moment(found.end)}.`),
    ...sides,
    group("Shared", found.shared, shared, "shared"),
    group("Only in the newer set", found.only_newer, newer, "own"),
    group("Only in the older set", found.only_older, older, "own"),
  ];
}

function member([id, time]) {
  return element("li", {}, named(id), ...(time === null ? [] : [` ${clock(time, time)}`]));
}

function familyContent(family) {
  const more = family.size - family.looked;
  const total = family.total > family.size ? `, ${count(family.total)} in total` : "";
  const what = difference(family);
  return [
    element("p", { class: "lead" }, element("strong", {}, count(family.size)), ` ${family.size === 1 ? "record" : "records"} in the window${total}${what && `, ${what}`}. The first was `, named(family.id, LONG), "."),
    ...family.groups.map(({ count: times, parts, members: of }) =>
      element(
        "section",
        {},
        ...(parts === null ? [] : [element("h3", {}, `${count(times)} × `, element("span", { class: "quiet" }, times === 1 ? "this text" : "the same text")), marked(parts)]),
        element("ul", { class: "tokens" }, ...of.map(member)),
      ),
    ),
    ...(more > 0 ? [element("p", { class: "quiet" }, `and ${count(more)} more`)] : []),
  ];
}

async function ask(title, answer, content, gone, whenClosed) {
  const mine = ++asked;
  open(title, [element("p", { class: "quiet" }, "Loading …")], whenClosed);
  try {
    const { ok, status, content: found } = await answer;
    if (mine !== asked) return;
    body.replaceChildren(...(ok ? content(found) : [element("p", {}, status === 404 ? gone : "The explanation is not available.")]));
  } catch {
    if (mine === asked) body.replaceChildren(element("p", {}, "No connection; try again in a moment."));
  }
}

// Where the focus goes when the dialog is closed: to the mark of a chart it was opened from, or to the card.
function backTo(list, key) {
  const mark = document.activeElement.closest("[role=option]");
  if (mark) return () => (mark.isConnected ? mark : list).focus();
  const place = [...list.children].findIndex((card) => card.dataset.key === key);
  return () => focusCard(list, key, Math.max(0, place));
}

export function openPair(key, pair) {
  const gone = "These two sets have left the window, so their tokens are gone.";
  point(`#pair-${key}`);
  return ask("Why these two?", explanation(key, pair), pairContent, gone, backTo(document.getElementById("pairs"), key));
}

export function openFamily(key) {
  const gone = "This family has ended, so its records are gone.";
  return ask("A family of near copies", members(key), familyContent, gone, backTo(document.getElementById("families"), key));
}

// The pair that the address of the page names. Of one that has left the top-k, the timeline still knows who it was.
export function openNamed(state) {
  const key = /^#pair-([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (!key) return;
  const pair = state.pairs[key] ?? Object.values(state.stays).find((stay) => stay.pair === key);
  if (pair) openPair(key, pair);
  else open("Why these two?", [element("p", {}, "This pair is not in the top-k, and has not been there recently.")], backTo(document.getElementById("pairs"), key));
}

function rejectedPart(rejected, total) {
  const rows = rejected.map(([rows, example]) => element("li", {}, element("strong", {}, count(rows)), " ", element("bdi", { dir: "auto" }, example)));
  const known = rejected.reduce((sum, [rows]) => sum + rows, 0);
  const earlier = total > known ? [element("p", { class: "quiet" }, `${known ? "and " : ""}${counted(total - known, "row", "rows")} whose reasons are not known here: of an earlier run, or of rarer kinds.`)] : [];
  return element("section", {}, element("h3", {}, "Rejected ", element("span", { class: "quiet" }, count(total))), element("p", { class: "quiet" }, "These rows cannot be used. Each reason, with how many rows it has and an example."), element("ul", { class: "rows" }, ...rows), ...earlier);
}

function latePart(late, total) {
  const rows = late.map(([id, time, watermark]) => element("li", {}, named(id, 60), ` of ${moment(time)}, when rows up to ${moment(watermark)} had been processed`));
  const last = late.length ? [element("p", { class: "quiet" }, late.length < total ? "The last of them:" : "All of them:"), element("ul", { class: "rows" }, ...rows)] : [];
  return element("section", {}, element("h3", {}, "Late ", element("span", { class: "quiet" }, count(total))), element("p", { class: "quiet" }, "These rows came after the watermark had passed their time, so they are not in the results. A longer allowed lateness waits for such rows."), ...last);
}

export function openRows({ metrics, unused }) {
  const parts = [...(metrics.rejected ? [rejectedPart(unused.rejected, metrics.rejected)] : []), ...(metrics.late ? [latePart(unused.late, metrics.late)] : [])];
  asked += 1;
  open("Rows that were not used", parts.length ? parts : [element("p", {}, "All rows were used.")], () => document.getElementById("rows-why").focus());
}
