// What somebody points at, or has the focus on: cards and their marks in the charts, which are linked both ways.
const listeners = [];
const names = new WeakMap(); // of each card: the keys of its pairs, those that are behind it too, or the id of its family
let linked = "[]";

export const isOf = (card, name) => names.get(card)?.has(name) ?? false;

export function link(wanted) {
  if (JSON.stringify(wanted) === linked) return;
  linked = JSON.stringify(wanted);
  for (const card of document.querySelectorAll(".pair, .family")) card.classList.toggle("linked", wanted.some((name) => isOf(card, name)));
  for (const listener of listeners) listener(wanted);
}

export function onLink(listener) {
  listeners.push(listener);
}

// Links a card to what these names stand for; they may change.
export function links(card, wanted) {
  if (!names.has(card)) {
    for (const event of ["pointerenter", "focusin"]) card.addEventListener(event, () => link([...names.get(card)]));
    for (const event of ["pointerleave", "focusout"]) card.addEventListener(event, () => link([]));
  }
  names.set(card, new Set(wanted));
}
