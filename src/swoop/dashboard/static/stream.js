// The state of the page, kept up to date by server-sent events.
const KEYED = ["pairs", "stays"];

export function apply(state, change) {
  const result = { ...state, ...change };
  for (const section of KEYED) {
    if (!(section in change)) continue;
    const entries = { ...state[section], ...change[section] };
    for (const key of Object.keys(entries)) if (entries[key] === null) delete entries[key];
    result[section] = entries;
  }
  return result;
}

export function follow(url, { onState, onLink }) {
  let state = null;
  const connect = () => {
    const events = new EventSource(url);
    events.addEventListener("open", () => onLink(true));
    events.addEventListener("snapshot", (event) => onState((state = JSON.parse(event.data))));
    events.addEventListener("difference", (event) => {
      if (state !== null) onState((state = apply(state, JSON.parse(event.data))));
    });
    events.addEventListener("error", () => {
      onLink(false);
      // the browser tries again by itself, unless it was answered with an error
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  };
  connect();
}
