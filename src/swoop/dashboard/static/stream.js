// The state of the page, kept up to date by server-sent events.
const KEYED = ["pairs", "stays", "families", "ended", "lives"];

export function apply(state, diff) {
  const result = { ...state, ...diff };
  for (const section of KEYED) {
    if (!(section in diff)) continue;
    const entries = { ...state[section], ...diff[section] };
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
      // the browser reconnects by itself, unless the response was an error
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  };
  connect();
}
