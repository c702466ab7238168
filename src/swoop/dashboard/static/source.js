// Where the page gets its data: from the server, or, in a kept page, out of the file itself.
const kept = document.getElementById("kept");
export const keptMoment = kept && JSON.parse(kept.textContent);

const GONE = { ok: false, status: 404, content: null };

async function fetched(address) {
  const answer = await fetch(address);
  return { ok: answer.ok, status: answer.status, content: await answer.json() };
}

function found(section, key) {
  const content = keptMoment[section][key];
  return content ? { ok: true, status: 200, content } : GONE;
}

export async function explanation(key, pair) {
  if (keptMoment) return found("pairs", key);
  return fetched(`/explain?${new URLSearchParams({ newer: pair.newer, older: pair.older, pair: key })}`);
}

export async function members(key) {
  return keptMoment ? found("families", key) : fetched(`/family?${new URLSearchParams({ key })}`);
}
