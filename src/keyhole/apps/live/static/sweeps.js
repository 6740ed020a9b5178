// How much data: the sweeps of the store, asked again whenever the store changes.

import { ask, attempt, el, fill, shown } from "./lab.js";
import { chart, place } from "./draw.js";
import { follow, list, send } from "./jobs.js";

const form = document.getElementById("question");
const log = document.getElementById("log");
let following = 0;

async function update() {
  await attempt(async () => {
    const answer = await ask("sweeps", "sweeps", {});
    document.getElementById("remark").textContent = answer.figure ? answer.figure.subtitle : answer.remark;
    place("figure", (width) => answer.figure ? chart(answer.figure, width) : []);
    document.getElementById("says").textContent = `${shown(answer.sweeps.length)} sweep${answer.sweeps.length === 1 ? "" : "s"}, ${shown(answer.runs)} runs`;
    fill("sweeps", answer.sweeps.map(card));
  });
}

function card(sweep) {
  const rows = sweep.thresholds.map((found) => el("tr", {}, [found.context, found.m, found.low, found.high, found.trials].map((value) =>
    el("td", { class: "number" }, value === null ? "?" : shown(value)))));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ["T", "m*", "from", "to", "runs"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows));
  const law = sweep.law ? el("p", {}, `Growth: the law "${sweep.law.winner}" has the most support; ${sweep.law.status}.`) : null;
  return el("details", {}, el("summary", {}, `${sweep.name}: ${sweep.runs} runs, ${sweep.successes} succeeded`), rows.length ? table : el("p", { class: "soft" }, "Runs on fresh samples have no m*."), law);
}

async function jobs() {
  const all = await list("jobs");
  const running = all.find((job) => job.state === "running");
  if (running && running.number !== following) {
    following = running.number;
    log.hidden = false;
    log.textContent = "";
    follow(running.number, (line) => { log.textContent = [...log.textContent.split("\n").slice(-11), line].join("\n"); }, () => { following = 0; jobs(); });
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => { await send("/begin/sweeps/start", Object.fromEntries(new FormData(form))); await jobs(); });
});
new EventSource("/watch/sweeps").addEventListener("change", update);
update();
jobs();
