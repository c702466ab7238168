// Texts with what differs marked, and tokens. Both are untrusted, so they only ever become text nodes.
import { element } from "./format.js";

export const plain = (parts) => parts.map(([text]) => text).join("");

const SIDE = 36; // letters that stay on each side of what a folded card leaves out
const LEAST = 12; // letters that are worth leaving out, and that stay of a long word

// A place in a text that is not within a letter with its marks, or within the name of a hidden character.
function whole(text, at) {
  const name = text.slice(0, at).search(/<(U(\+[0-9A-F]*)?)?$/);
  if (name >= 0) return name;
  return at + /^[\udc00-\udfff]?[\p{M}\u200c\u200d]*/u.exec(text.slice(at))[0].length;
}

// Where the middle begins: behind a space, or within a word that is too long to stay.
function first(text) {
  const space = text.indexOf(" ", SIDE) + 1;
  return space && space <= SIDE + LEAST ? space : whole(text, text.lastIndexOf(" ", SIDE) + 1 + LEAST);
}

// Where it ends: before a space, which is behind a long word.
function last(text) {
  const near = text.length - SIDE;
  const space = text.lastIndexOf(" ", near);
  if (space >= near - LEAST) return space;
  const next = text.indexOf(" ", Math.max(0, near));
  return next >= 0 ? next : whole(text, Math.max(0, text.length - LEAST));
}

// What is the same before a difference, so that a folded card can leave out the middle where the difference is not seen. What is
// already left out there becomes a part of it.
function before(text) {
  const begin = text.slice(0, first(text)).replace(/…\s*$/, "");
  const middle = text.slice(begin.length, Math.max(begin.length, last(text)));
  if (middle.length < LEAST) return [text];
  const end = text.slice(begin.length + middle.length);
  const [out] = /^(\s*…)?/.exec(end);
  return [begin, element("span", { class: "middle" }, middle + out), end.slice(out.length)];
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
