// What every screen uses: the address as the question, and questions to the server.

export { atLeast, el, facts, fill, shown, svg } from "./elements.js";

/** Ask a question; the newest of a name wins, and a refusal is shown as its sentence. */
const asked = new Map();
let waiting = 0;
export async function ask(screen, question, words) {
  const name = `${screen}/${question}`;
  asked.get(name)?.abort();
  const control = new AbortController();
  asked.set(name, control);
  busy(1);
  let response, answer;
  try {
    response = await fetch(`/ask/${name}?${new URLSearchParams(words)}`, { signal: control.signal });
    answer = await response.json();
  } finally {
    busy(-1);
  }
  if (!response.ok || answer.refused) throw new Error(answer.refused ?? answer.error);
  return answer;
}

/** Say that something is being computed, where it takes long enough to be wondered about. */
function busy(change) {
  waiting += change;
  const place = document.getElementById("busy");
  if (!waiting) place.hidden = true;
  else setTimeout(() => { place.hidden = !waiting; }, 250);
}

/** Show a refusal, or take the last one away. */
export function refuse(sentence) {
  const place = document.getElementById("refusal");
  place.textContent = sentence ?? "";
  place.classList.toggle("marked", Boolean(sentence?.includes("\n"))); // a formula with a mark below what is wrong
  place.hidden = !sentence;
  document.querySelector(".columns")?.classList.toggle("waiting", Boolean(sentence));
}

/** Call `update` and show its refusal; an answer that came too late is left out. */
export async function attempt(update) {
  try {
    await update();
    refuse(null);
  } catch (error) {
    if (error.name !== "AbortError") refuse(error.message);
  }
}

/** A slider with a logarithmic scale: its value has two digits; one that was set stays as it is until the slider moves. */
export function logarithmic(slider) {
  const low = Math.log(Number(slider.dataset.from)), high = Math.log(Number(slider.dataset.to)), steps = Number(slider.max);
  const tidy = (value) => { const rounded = Number(value.toPrecision(2)); return Number(slider.dataset.from) >= 1 ? Math.round(rounded) : rounded; };
  let given = null;
  return {
    get: () => given?.at === slider.value ? given.value : tidy(Math.exp(low + (high - low) * Number(slider.value) / steps)),
    set: (value) => {
      slider.value = String(Math.round(steps * (Math.log(value) - low) / (high - low)));
      const kept = Math.min(Math.max(value, Number(slider.dataset.from)), Number(slider.dataset.to));
      given = { at: slider.value, value: kept };
    },
  };
}

/** The question of this page, kept in its address: a link opens the same state. */
export function remember(words) {
  const query = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== "" && value !== null)).toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
}

export const remembered = () => Object.fromEntries(new URLSearchParams(location.search));

/** Wait until the typing pauses. */
export function soon(action, milliseconds = 80) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(action, milliseconds); };
}
