// Texts with what differs marked, and tokens. Both are untrusted, so they only ever become text nodes.
import { element } from "./format.js";

export const plain = (parts) => parts.map(([text]) => text).join("");

const SIDE = 36; // letters that stay on each side of what a folded card leaves out
const LEAST = 12; // letters that are worth leaving out

// What is the same before a difference, so that a folded card can leave out the middle where the difference is not seen.
function before(text) {
  const from = text.indexOf(" ", SIDE) + 1;
  const space = text.lastIndexOf(" ", text.length - SIDE);
  const to = text.startsWith(" …", space) ? space + 2 : space; // of an excerpt, which has left out something there
  if (from === 0 || to - from < LEAST) return [text];
  return [text.slice(0, from), element("span", { class: "middle" }, text.slice(from, to)), text.slice(to)];
}

// A text comes in parts, each with whether it differs from the text it is compared with.
export function marked(parts) {
  const runs = [];
  for (const [text, differs] of parts) {
    if (!differs && runs.at(-1)?.[1] === false) runs.at(-1)[0] += text;
    else runs.push([text, differs]);
  }
  const last = runs.findLastIndex(([, differs]) => differs);
  const shown = runs.flatMap(([text, differs], place) => (differs ? [element("mark", {}, text)] : place < last ? before(text) : [text]));
  return element("p", { class: "text", dir: "auto" }, ...shown);
}

export function chips(tokens, kind) {
  return tokens.map((token) => element("li", { class: kind }, element("bdi", { dir: "auto" }, token)));
}
