// Marks the shared tokens in a text. The text is untrusted, so it only ever becomes text nodes.
import { element } from "./format.js";

const WORD = /[\p{L}\p{N}_]+/gu;

// Lower case, with the position each character comes from: some letters change their length.
function folded(text) {
  let lower = "";
  const places = [];
  let place = 0;
  for (const letter of text) {
    for (const unit of letter.toLowerCase()) {
      for (let i = 0; i < unit.length; i++) places.push(place);
      lower += unit;
    }
    place += letter.length;
  }
  places.push(text.length);
  return { lower, places };
}

export function ranges(text, tokens, cut) {
  const { lower, places } = folded(text);
  const wanted = new Set(tokens.map((token) => token.toLowerCase()));
  const words = [...lower.matchAll(WORD)];
  const longest = Math.min(5, Math.max(1, ...[...wanted].map((token) => token.split(" ").length)));
  const found = [];
  const seen = new Set();
  for (let first = 0; first < words.length; first++) {
    let run = "";
    for (let last = first; last < Math.min(words.length, first + longest); last++) {
      run += (run && " ") + words[last][0];
      if (!wanted.has(run)) continue;
      seen.add(run);
      found.push([words[first].index, words[last].index + words[last][0].length]);
    }
  }
  // tokens that are not words: URLs, runs of characters; in a text that was cut off, a word may simply be missing
  for (const token of wanted) {
    if (seen.has(token) || !token || (cut && !/[^\p{L}\p{N}_]/u.test(token))) continue;
    for (let at = lower.indexOf(token); at >= 0; at = lower.indexOf(token, at + 1)) found.push([at, at + token.length]);
  }
  found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const joined = [];
  for (const [from, to] of found) {
    const before = joined.at(-1);
    if (before && !lower.slice(before[1], from).trim()) before[1] = Math.max(before[1], to);
    else joined.push([from, to]);
  }
  return joined.map(([from, to]) => [places[from], places[to]]);
}

export function marked(text, tokens, cut = false) {
  const made = element("p", { class: "text", dir: "auto" });
  let done = 0;
  for (const [from, to] of ranges(text, tokens, cut)) {
    made.append(text.slice(done, from), element("mark", {}, text.slice(from, to)));
    done = to;
  }
  made.append(text.slice(done));
  return made;
}

export function chips(tokens, kind) {
  return tokens.map((token) => element("li", { class: kind }, element("bdi", { dir: "auto" }, token)));
}
