// A list of cards. Each keeps its row, which moves smoothly to its new place.
import { isOf } from "./links.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");

// The card that has, or had, a place in a list: where the focus goes when a card has left.
export function focusCard(list, key, place) {
  const cards = [...list.children];
  const own = cards.find((card) => card.dataset.key === key) ?? cards.find((card) => isOf(card, key));
  const card = own ?? cards[Math.min(place, cards.length - 1)];
  (card?.querySelector("button.ask:not([hidden])") ?? list).focus({ preventScroll: !own });
}

// make(key) gives { row, ... }; update(made, key, rank) shows what may change; same(made, key) is whether the row can stay;
// placed(made, key, size), if there is one, is called when all are in their places; size is of the list and the window.
export function listOf(list, { make, update, same, placed }) {
  const rows = new Map();
  return function draw(wanted) {
    const still = calm.matches || document.hidden;
    const before = new Map(still ? [] : [...rows].map(([key, made]) => [key, made.row.getBoundingClientRect().top]));
    const focus = document.activeElement?.closest?.("li");
    const held = focus && focus.parentElement === list ? [...list.children].indexOf(focus) : -1;
    const left = new Set(wanted.map(([key]) => key));
    for (const [key, made] of rows) {
      if (left.has(key) && same(made, key)) continue;
      made.row.remove();
      rows.delete(key);
    }
    let place = list.firstElementChild;
    for (const [key, rank] of wanted) {
      if (!rows.has(key)) rows.set(key, make(key));
      const made = rows.get(key);
      update(made, key, rank);
      if (made.row === place) place = place.nextElementSibling;
      else list.insertBefore(made.row, place);
    }
    if (held >= 0 && !focus.isConnected) focusCard(list, focus.dataset.key, held);
    for (const [key] of wanted) placed?.(rows.get(key), key, `${list.clientWidth} ${innerHeight}`);
    // if almost everything is new, moving would only flicker
    const fresh = wanted.filter(([key]) => !before.has(key)).length;
    if (!still && fresh <= wanted.length / 2) for (const [key] of wanted) move(rows.get(key).row, before.get(key));
  };
}

function move(row, before) {
  if (before === undefined) {
    row.animate([{ opacity: 0, transform: "scale(0.985)" }, { opacity: 1, transform: "none" }], { duration: 420, easing: "ease-out" });
    return;
  }
  const by = before - row.getBoundingClientRect().top;
  if (Math.abs(by) > 1) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.2,.7,.2,1)" });
}

// A click anywhere on a card opens it, unless text is being selected there.
export function opens(row, button, open) {
  row.addEventListener("click", (event) => {
    if (!event.target.closest("a") && (event.target === button || getSelection().isCollapsed)) open();
  });
}
