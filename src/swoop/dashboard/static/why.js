// The explanation of a pair, or the members of a family, in a dialog.
import { clock, count, element, moment, similarity } from "./format.js";
import { difference } from "./families.js";
import { chips, marked } from "./marks.js";
import { bothSides, copiesOf } from "./pairs.js";

const dialog = document.getElementById("why");
const head = document.getElementById("why-head");
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

function showPair(explanation) {
  const [shared, newer, older] = explanation.counts;
  const texts = explanation.newer_text === null && explanation.older_text === null ? { ...explanation, shared: [], only_newer: [], only_older: [] } : explanation;
  const sides = bothSides(texts);
  sides[0].querySelectorAll(".copies").forEach((place, index) => {
    place.textContent = copiesOf(explanation.copies?.[index], null);
  });
  body.replaceChildren(
    element("p", { class: "lead" }, element("strong", {}, similarity(explanation.similarity)), ` similar: ${count(shared)} of ${count(shared + newer + older)} tokens shared. In the window together from ${moment(explanation.start)} until ${moment(explanation.end)}.`),
    ...sides,
    group("Shared", explanation.shared, shared, "shared"),
    group("Only in the newer set", explanation.only_newer, newer, "own"),
    group("Only in the older set", explanation.only_older, older, "own"),
  );
}

function member([id, time]) {
  return element("li", { class: "own" }, element("bdi", { dir: "auto" }, id), ...(time === null ? [] : [` ${clock(time, time)}`]));
}

function showFamily(family) {
  const more = family.size - family.looked;
  const total = family.total > family.size ? `, ${count(family.total)} in total` : "";
  const what = difference(family);
  body.replaceChildren(
    element("p", { class: "lead" }, element("strong", {}, count(family.size)), ` records in the window${total}${what && `, ${what}`}. The first was `, element("bdi", { dir: "auto" }, family.id), "."),
    ...family.groups.map(({ count: times, parts, members }) =>
      element(
        "section",
        {},
        ...(parts === null ? [] : [element("h3", {}, `${count(times)} × `, element("span", { class: "quiet" }, times === 1 ? "this text" : "the same text")), marked(parts)]),
        element("ul", { class: "tokens" }, ...members.map(member)),
      ),
    ),
    ...(more > 0 ? [element("p", { class: "quiet" }, `and ${count(more)} more`)] : []),
  );
}

async function ask(title, address, show, gone) {
  const mine = ++asked;
  head.textContent = title;
  body.replaceChildren(element("p", { class: "quiet" }, "Loading …"));
  if (!dialog.open) dialog.showModal();
  head.focus();
  try {
    const answer = await fetch(address);
    const content = await answer.json();
    if (mine !== asked) return;
    if (answer.ok) show(content);
    else body.replaceChildren(element("p", {}, answer.status === 404 ? gone : "The explanation is not available."));
  } catch {
    if (mine === asked) body.replaceChildren(element("p", {}, "No connection; try again in a moment."));
  }
}

export function openPair(key, pair) {
  const address = `/explain?${new URLSearchParams({ newer: pair.newer, older: pair.older, pair: key })}`;
  return ask("Why these two?", address, showPair, "These two sets have left the window, so their tokens are gone.");
}

export function openFamily(key) {
  return ask("A family of near copies", `/family?${new URLSearchParams({ key })}`, showFamily, "This family has ended, so its records are gone.");
}
