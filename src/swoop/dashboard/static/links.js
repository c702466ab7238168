// What somebody points at, or has the focus on: a card and its marks in the charts, which are linked both ways.
const listeners = [];
let linked = null;

export function link(name) {
  if (name === linked) return;
  linked = name;
  for (const card of document.querySelectorAll("[data-link]")) card.classList.toggle("linked", card.dataset.link === name);
  for (const listener of listeners) listener(name);
}

export function onLink(listener) {
  listeners.push(listener);
}

// Links a card: the name is the key of its pair, or the id of its family.
export function links(card, name) {
  card.dataset.link = name;
  for (const event of ["pointerenter", "focusin"]) card.addEventListener(event, () => link(name));
  for (const event of ["pointerleave", "focusout"]) card.addEventListener(event, () => link(null));
}
