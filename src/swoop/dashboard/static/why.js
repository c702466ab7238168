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

function side(name, id, text, shared) {
  const said = text === null ? [] : [marked(text, shared)];
  return element("div", { class: "side" }, element("p", { class: "who" }, `${name} `, element("bdi", { dir: "auto" }, id)), ...said);
}

function show(explanation) {
  const [shared, newer, older] = explanation.counts;
  body.replaceChildren(
    element("p", { class: "lead" }, element("strong", {}, similarity(explanation.similarity)), ` similar: ${count(shared)} of ${count(shared + newer + older)} tokens shared. In the window together from ${moment(explanation.start)} until ${moment(explanation.end)}.`),
    element("div", { class: "sides" }, side("newer", explanation.newer, explanation.newer_text, explanation.shared), side("older", explanation.older, explanation.older_text, explanation.shared)),
    group("Shared", explanation.shared, shared, "shared"),
    group("Only in the newer set", explanation.only_newer, newer, "own"),
    group("Only in the older set", explanation.only_older, older, "own"),
  );
}

export async function open(key, pair) {
  const mine = ++asked;
  body.replaceChildren(element("p", { class: "quiet" }, "Loading …"));
  if (!dialog.open) dialog.showModal();
  document.getElementById("why-head").focus();
  try {
    const answer = await fetch(`/explain?${new URLSearchParams({ newer: pair.newer, older: pair.older, pair: key })}`);
    const explanation = await answer.json();
    if (mine !== asked) return;
    if (answer.ok) show(explanation);
    else body.replaceChildren(element("p", {}, answer.status === 404 ? "These two sets have left the window, so their tokens are gone." : "The explanation is not available."));
  } catch {
    if (mine === asked) body.replaceChildren(element("p", {}, "No connection; try again in a moment."));
  }
}
