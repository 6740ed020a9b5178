// Long work: start it, hear of its lines, cancel it. A reload finds the job again by its number in the address.

import { el, fill, shown } from "./lab.js";

/** Send JSON to the server; only pages of the lab may. */
export async function send(address, words) {
  const response = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(words) });
  const answer = await response.json();
  if (!response.ok || answer.refused) throw new Error(answer.refused ?? answer.error);
  return answer;
}

/** Hear of every line of a job; `last` is called with its record when it ends. */
export function follow(number, line, last) {
  const source = new EventSource(`/jobs/${number}/events`);
  source.addEventListener("line", (event) => line(JSON.parse(event.data).text));
  source.addEventListener("end", (event) => { source.close(); last(JSON.parse(event.data)); });
  return source;
}

/** The list of jobs, each with a button that cancels it. */
export async function list(id) {
  const { jobs } = await (await fetch("/jobs")).json();
  const rows = jobs.slice(0, 6).map((job) => el("tr", {}, el("td", {}, job.title), el("td", { class: TONES[job.state] ?? null }, job.state),
    el("td", { class: "number" }, job.seconds === null ? "" : `${shown(job.seconds)} s`),
    el("td", {}, job.state === "running" || job.state === "waiting" ? el("button", { type: "button", onclick: () => send(`/jobs/${job.number}/cancel`, {}).then(() => list(id)) }, "Cancel") : "")));
  fill(id, rows.length ? el("table", {}, el("tbody", {}, rows)) : el("p", { class: "soft" }, "Nothing is under way. A sweep that is started at a terminal shows below as its runs come in."));
  return jobs;
}

const TONES = { done: "good", failed: "bad", cancelled: "mild" };
