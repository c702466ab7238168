// What does not fit into a card is a button away: how many differences, and all of the text.
import { count, element } from "./format.js";

// The differences that are not within the lines that a card shows.
function outside(place) {
  const end = place.getBoundingClientRect().bottom + 2;
  return [...place.querySelectorAll("mark, .own")].filter((part) => part.getBoundingClientRect().bottom > end);
}

// A button below a card, which unfolds it; and where that is not all, opens what has all of it.
export function moreOf(card, openAll) {
  const button = element("button", { type: "button", class: "rest", hidden: "" });
  let beyond = 0; // differences that are not even in the unfolded card
  let here = false; // whether there is anything to unfold
  let layout = -1; // as it was measured last
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    if (beyond && (card.classList.contains("unfolded") || !here)) return openAll();
    card.classList.toggle("unfolded");
    layout = -1;
    measure(null, beyond);
  });

  function show(differences, open) {
    button.textContent = differences ? `+${count(differences)} more` : open ? "less" : "more";
    const what = differences ? `Show ${count(differences)} more ${differences === 1 ? "difference" : "differences"}` : open ? "Show less of the text" : "Show more of the text";
    button.setAttribute("aria-label", what);
    if (differences && (open || !here)) button.removeAttribute("aria-expanded");
    else button.setAttribute("aria-expanded", String(open));
  }

  // Only when the card is new, or the window has another size than before: this asks the browser where everything is.
  function measure(now, leftOut) {
    if (now === layout && leftOut === beyond) return;
    [layout, beyond] = [now, leftOut];
    const open = card.classList.contains("unfolded");
    card.classList.remove("tight");
    const texts = [...card.querySelectorAll(".text, .tokens")];
    if (texts.some((place) => outside(place)[0] === place.querySelector("mark") && place.querySelector(".middle"))) card.classList.add("tight");
    const below = texts.reduce((sum, place) => sum + outside(place).length, 0);
    const cut = card.classList.contains("tight") || texts.some((place) => place.scrollHeight > place.clientHeight + 2);
    here = cut || below > 0;
    button.hidden = !(open || cut || below || beyond);
    show(open ? beyond : below + beyond, open);
  }

  return { button, measure };
}
