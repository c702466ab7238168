// Times for people, the same everywhere: by the 24-hour clock, with a zone that can be switched between UTC and that of the browser.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const button = document.getElementById("zone");

function remembered() {
  try {
    return localStorage.swoopZone === "local";
  } catch {
    return false;
  }
}

let local = remembered();

export const isDate = (time) => typeof time === "string" && !/^-?\d+$/.test(time);
// Times without a zone are read as if they were UTC, and shown as they are, whatever is chosen.
const hasZone = (time) => /(?:Z|[+-]\d\d:?\d\d)$/.test(time);
export const position = (time) => (time === null ? null : isDate(time) ? Date.parse(hasZone(time) ? time : `${time}Z`) : Number(time));
export const isLocal = (time) => local && isDate(time) && hasZone(time);

// The zone of a time, as it is written behind it.
export function zoneOf(time) {
  if (time === null || !isDate(time) || !hasZone(time)) return "";
  if (!local) return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(position(time));
  return parts.find(({ type }) => type === "timeZoneName").value;
}

function written(time, options) {
  const zone = isLocal(time) ? {} : { timeZone: "UTC" };
  const format = new Intl.DateTimeFormat("en-GB", { ...options, ...zone, hourCycle: "h23" });
  const parts = Object.fromEntries(format.formatToParts(position(time)).map(({ type, value }) => [type, value]));
  const day = [parts.day, parts.month?.slice(0, 3), parts.year].filter(Boolean).join(" ");
  return [day, [parts.hour, parts.minute, parts.second].filter(Boolean).join(":")].filter(Boolean).join(" ");
}

const DAY = { day: "numeric", month: "short", year: "numeric" };
const MINUTE = { hour: "2-digit", minute: "2-digit" };
const SECOND = { ...MINUTE, second: "2-digit" };
const dayOf = (time) => written(time, DAY);
const zoned = (text, time) => [text, zoneOf(time)].filter(Boolean).join(" ");

const isMidnight = (time) => written(time, SECOND) === "00:00:00" && position(time) % 1000 === 0;

// In full: "15 Feb 2020 19:59:07 UTC". Midnight is a date, as on the terminal.
export function moment(time) {
  if (time === null) return "forever";
  if (!isDate(time)) return whole.format(Number(time));
  return isMidnight(time) ? dayOf(time) : zoned(written(time, { ...DAY, ...SECOND }), time);
}

// Without seconds where they do not matter.
export function minute(time) {
  return isDate(time) && !isMidnight(time) ? zoned(written(time, { ...DAY, ...MINUTE }), time) : moment(time);
}

// A time that is not long ago: of the same day without the day, and with seconds if they matter.
export function clock(time, now) {
  if (time === null || !isDate(time)) return time === null ? "" : moment(time);
  const day = now !== null && isDate(now) && dayOf(time) === dayOf(now) ? {} : DAY;
  const recent = now !== null && Math.abs(position(now) - position(time)) < 600000;
  return zoned(written(time, { ...day, ...(recent ? SECOND : MINUTE) }), time);
}

// The switch. Without zones there is nothing to switch.
export function onSwitch(redraw) {
  const show = () => {
    button.textContent = local ? "Local" : "UTC";
    button.setAttribute("aria-label", `Times: ${local ? "local" : "UTC"}`);
  };
  button.addEventListener("click", () => {
    local = !local;
    try {
      localStorage.swoopZone = local ? "local" : "utc";
    } catch {
      // a browser that keeps nothing
    }
    show();
    redraw();
  });
  show();
}

export function drawSwitch(now) {
  button.hidden = !(now !== null && isDate(now) && hasZone(now));
}
