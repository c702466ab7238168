// Numbers, ids and durations for people, and elements made from untrusted data.
import { isDate, position } from "./times.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (value) => (value >= 100000 ? short.format(value) : whole.format(value));
export const counted = (value, one, many) => `${count(value)} ${value === 1 ? one : many}`;

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${(value / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}

export function similarity(value) {
  if (value === null) return "∞";
  return Number.isInteger(value) && Math.abs(value) > 1 ? whole.format(value) : value.toFixed(3);
}

// A long id without its middle: beginnings and ends tell ids apart.
export function shortened(id, most = 24) {
  const letters = [...id];
  if (letters.length <= most) return id;
  const end = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(-end).join("")}`;
}

export function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 90) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 5400) return `${Math.round(value / 60)} min`;
  if (value < 129600) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86400)} days`;
}

// How far apart two times are; integers have no unit.
export function distance(from, to) {
  const gap = Math.max(0, position(to) - position(from));
  return isDate(from) ? seconds(gap / 1000) : whole.format(gap);
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// An id: whatever its letters do, they do it within; complete when somebody points at it.
export function named(id, most) {
  return element("bdi", { dir: "auto", title: id }, shortened(id, most));
}

export function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}
