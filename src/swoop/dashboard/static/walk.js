// The marks of a chart for the keyboard and for screen readers: a list that is one stop, through which arrows go.
import { element, put } from "./format.js";

// point(mark, place) is called with the mark that has the focus, or null; open(mark), when somebody wants to know more.
export function walk(chart, name, point, open) {
  const list = element("ul", { class: "unseen", role: "listbox", "aria-label": name });
  const marks = new Map(); // by their items
  const items = () => [...list.children];
  let current = null;
  chart.after(list);

  function make(key) {
    const item = element("li", { role: "option", "data-key": key });
    item.addEventListener("focus", () => {
      choose(item);
      point(marks.get(item), items().indexOf(item));
    });
    item.addEventListener("blur", () => point(null));
    return item;
  }

  // The one to which Tab leads.
  function choose(item) {
    current = item ?? null;
    for (const one of items()) {
      one.tabIndex = one === current ? 0 : -1;
      one.setAttribute("aria-selected", String(one === current));
    }
  }

  list.addEventListener("keydown", (event) => {
    const [place, last] = [items().indexOf(current), items().length - 1];
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) items()[Math.max(0, Math.min(to, last))]?.focus();
    else if (event.key === "Enter" || event.key === " ") open(marks.get(current));
    else return;
    event.preventDefault();
  });

  // Each mark has a key and a text.
  return (wanted) => {
    const known = new Map(items().map((item) => [item.dataset.key, item]));
    const place = items().indexOf(document.activeElement);
    const held = items()[place];
    const all = wanted.map((mark) => {
      const item = known.get(mark.key) ?? make(mark.key);
      marks.set(item, mark);
      put(item, mark.text);
      return item;
    });
    if (all.length === list.children.length && all.every((item, index) => item === list.children[index])) return;
    list.replaceChildren(...all);
    for (const item of marks.keys()) if (!item.isConnected) marks.delete(item);
    choose(current?.isConnected ? current : all[Math.max(0, Math.min(place, all.length - 1))]);
    if (held) current?.focus();
  };
}
