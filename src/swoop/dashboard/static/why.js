// The explanation of a pair, in a dialog.
import { count, element, moment, similarity } from "./format.js";
import { chips, marked } from "./marks.js";

const dialog = document.getElementById("why");
const body = document.getElementById("why-body");
let asked = 0;

dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

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

function person(name, id, text, shared) {
  const said = text === null ? [] : [marked(text, shared)];
  return element("div", { class: "side" }, element("p", { class: "who" }, `${name} `, element("bdi", { dir: "auto" }, id)), ...said);
}

function show(found) {
  const [shared, newer, older] = found.counts;
  body.replaceChildren(
    element("p", { class: "lead" }, element("strong", {}, similarity(found.similarity)), ` similar: ${count(shared)} shared of ${count(shared + newer + older)} tokens. Together from ${moment(found.start)} until ${moment(found.end)}.`),
    element("div", { class: "sides" }, person("newer", found.newer, found.newer_text, found.shared), person("older", found.older, found.older_text, found.shared)),
    group("Shared", found.shared, shared, "shared"),
    group("Only in the newer", found.only_newer, newer, "own"),
    group("Only in the older", found.only_older, older, "own"),
  );
}

export async function open(key, pair) {
  const mine = ++asked;
  body.replaceChildren(element("p", { class: "quiet" }, "Asking the engine …"));
  if (!dialog.open) dialog.showModal();
  document.getElementById("why-head").focus();
  try {
    const answer = await fetch(`/explain?${new URLSearchParams({ newer: pair.newer, older: pair.older, pair: key })}`);
    const found = await answer.json();
    if (mine !== asked) return;
    if (answer.ok) show(found);
    else body.replaceChildren(element("p", {}, answer.status === 404 ? "These two have left the window, and their tokens with them." : "The engine cannot be asked now."));
  } catch {
    if (mine === asked) body.replaceChildren(element("p", {}, "The page has no connection now; try again in a moment."));
  }
}
