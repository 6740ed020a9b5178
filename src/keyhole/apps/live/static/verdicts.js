// Is a claim true on every word? A job proves it length by length; each verdict is shown as it comes.

import { atLeast, attempt, el, fill, remembered, shown } from "./lab.js";
import { follow, send } from "./jobs.js";

const NAMES = { PROVED: ["proved", "good"], COUNTEREXAMPLE: ["wrong word", "bad"], UNDECIDED: ["undecided", "mild"], VACUOUS: ["no word to ask about", "soft"] };
const FIELDS = ["claim", "lengths", "alphabet", "before", "read-at", "answers"];
const form = document.getElementById("claim");
const field = (name) => form.elements.namedItem(name);
const started = remembered().job; // looked at before the address changes
const says = document.getElementById("verify-says"), stop = document.getElementById("stop");
let job = null, source = null, rows = [], summary = "", other = [], changed = () => {};

/** The claim and the job that looks at it, for the address of the page. */
export function claimWords() {
  if (document.getElementById("verify").hidden) return {};
  return { ...Object.fromEntries(FIELDS.map((name) => [name, field(name).value.trim()])), job: job ?? "" };
}

/** Put the words of an address into the form; `remember` is called when they change. */
export function fillClaim(given, remember) {
  changed = remember;
  for (const name of FIELDS) if (given[name]) field(name).value = given[name];
}

/** Fill in the tokens around a word, where a model has them and nothing was typed. */
export function frameClaim(before, after) {
  for (const [name, token] of [["before", before], ["read-at", after]]) if (!field(name).value) field(name).value = token;
}

/** Show the form for a model that can be verified, and hide it for any other. */
export function showClaim(verifiable) {
  document.getElementById("verify").hidden = !verifiable;
}

/** Follow the job that the address names, where the lab still knows it. */
export async function listenAgain() {
  if (!/^\d+$/.test(started ?? "")) return;
  const { jobs } = await (await fetch("/jobs")).json();
  if (jobs.some((each) => each.number === Number(started))) listen(Number(started));
}

function listen(number) {
  source?.close();
  job = number; rows = []; summary = ""; other = [];
  changed();
  stop.disabled = false;
  says.textContent = "Reading the model …";
  show();
  source = follow(number, hear, end);
}

function hear(line) {
  let told;
  try {
    told = JSON.parse(line);
  } catch {
    other.push(line); // what the command says beside its verdicts: a refusal, for instance
    return;
  }
  if (told.length) rows.push(told.length);
  if (told.verified) summary = told.verified.summary;
  show();
}

function show() {
  if (rows.length) says.textContent = summary || `${rows.length} length${rows.length === 1 ? "" : "s"} so far: ${counted()}.`;
  fill("lengths", rows.length ? el("div", { class: "strip", role: "img", "aria-label": counted() }, rows.map((row) => el("span", { class: `length ${NAMES[row.status][1]}`, title: `T = ${row.length}: ${NAMES[row.status][0]}` }, String(row.length)))) : []);
  fill("verdicts", rows.length ? el("table", {},
    el("thead", {}, el("tr", {}, ["length", "verdict", "what is known", "random words wrong"].map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, el("td", { class: "number" }, String(row.length)), el("td", { class: NAMES[row.status][1] }, NAMES[row.status][0]), el("td", {}, known(row)), el("td", { class: "number" }, row.sampled ? `${shown(row.sampled_wrong)} of ${shown(row.sampled)}` : ""))))) : []);
}

const counted = () => Object.entries(NAMES).map(([status, [name]]) => [rows.filter((row) => row.status === status).length, name]).filter(([count]) => count).map(([count, name]) => `${count} ${name}`).join(", ");

function known(row) {
  if (row.status === "PROVED") return `on all words; margin at least ${atLeast(row.margin)}${row.float_keeps ? `, in ${row.float_format} too` : ""}`;
  if (row.status === "COUNTEREXAMPLE") return `${row.wrong_tokens.join(" ")}: it should say ${row.wanted ? "true" : "false"}, and prefers the other answer by ${shown(Math.abs(row.output))}`;
  if (row.status === "UNDECIDED") return `no wrong word found, no proof in ${shown(row.time_limit)} s${row.bound === null ? "" : `; margin at least ${atLeast(row.bound)}`}`;
  return row.reason;
}

function end(record) {
  stop.disabled = true;
  if (record.state === "cancelled") says.textContent = `Stopped after ${rows.length} lengths; verdicts are kept.`;
  else if (!summary) says.textContent = other.at(-1) ?? "The job ended without a verdict.";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const { job: _, ...asked } = claimWords();
    const model = document.querySelector("[name=model]").value;
    listen((await send("/begin/model/prove", { ...asked, model })).number);
  });
});
form.addEventListener("input", () => changed());
stop.addEventListener("click", () => send(`/jobs/${job}/cancel`, {}));
