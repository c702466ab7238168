// Texts with what differs marked, and tokens. Both are untrusted, so they only ever become text nodes.
import { element } from "./format.js";

// A text comes in parts, each with whether it differs from the text it is compared with.
export function marked(parts) {
  return element("p", { class: "text", dir: "auto" }, ...parts.map(([text, differs]) => (differs ? element("mark", {}, text) : text)));
}

export const plain = (parts) => parts.map(([text]) => text).join("");

export function chips(tokens, kind) {
  return tokens.map((token) => element("li", { class: kind }, element("bdi", { dir: "auto" }, token)));
}
