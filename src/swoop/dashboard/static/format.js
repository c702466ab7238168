// Numbers, times and durations for people, and elements made from untrusted data.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (value) => (value >= 100000 ? short.format(value) : whole.format(value));

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${(value / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}

export function similarity(value) {
  if (value === null) return "∞";
  return Number.isInteger(value) && Math.abs(value) > 1 ? whole.format(value) : value.toFixed(3);
}

// A long id, shortened to its beginning and end.
export function brief(id) {
  const letters = [...id];
  return letters.length <= 9 ? id : `${letters.slice(0, 4).join("")}…${letters.slice(-4).join("")}`;
}

export const isDate = (time) => typeof time === "string" && !/^-?\d+$/.test(time);
export const position = (time) => (time === null ? null : isDate(time) ? Date.parse(time) : Number(time));

export function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 90) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 5400) return `${Math.round(value / 60)} min`;
  if (value < 129600) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86400)} days`;
}

export function moment(time) {
  if (time === null) return "forever";
  if (!isDate(time)) return whole.format(Number(time));
  return new Date(time).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

// A time that is not long ago: of the same day without the day, and with seconds if they matter.
export function clock(time, now) {
  if (time === null || !isDate(time)) return time === null ? "" : moment(time);
  const [then, to] = [new Date(time), now === null ? new Date() : new Date(now)];
  const day = then.toDateString() === to.toDateString() ? {} : { day: "numeric", month: "short" };
  const second = Math.abs(to - then) < 600000 ? { second: "2-digit" } : {};
  return then.toLocaleString("en-GB", { ...day, hour: "2-digit", minute: "2-digit", ...second });
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
