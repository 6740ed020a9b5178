// Watch it learn: frames come as events while a child process trains; a reload follows the same job again.

import { ask, attempt, el, facts, fill, logarithmic, remember, remembered, shown } from "./lab.js";
import { chart, heat, place } from "./draw.js";
import { follow, send } from "./jobs.js";

const form = document.getElementById("question");
const field = (name) => form.elements.namedItem(name);
const context = logarithmic(field("context")), samples = logarithmic(field("samples"));
const says = document.getElementById("says"), cancel = document.getElementById("cancel");
let job = null, source = null, frames = [], finished = null, other = [];

const words = () => ({ task: field("task").value, context: context.get(), samples: samples.get(), seed: field("seed").value, preset: field("preset").value, guess: field("guess").value, look: field("look").value, job: job ?? "" });

function label() {
  document.getElementById("context-shown").textContent = shown(context.get());
  document.getElementById("samples-shown").textContent = shown(samples.get());
}

function hear(line) {
  let told;
  try {
    told = JSON.parse(line);
  } catch {
    other.push(line); // what the command says beside its frames: a refusal, for instance
    return;
  }
  if (told.frame) frames.push(told.frame);
  if (told.run) finished = told.run;
  show();
}

function show() {
  if (!frames.length) return;
  const heads = frames[0].attention.length, marked = finished ? finished.positions : [];
  const most = Math.max(...frames.map((frame) => Math.max(...frame.attention.map((shares) => Math.max(...shares)))), 1e-9);
  place("heads", (width) => Array.from({ length: heads }, (_, h) => el("div", { class: "head" }, el("p", { class: "soft" }, `Head ${h + 1}`),
    heat(frames.map((frame) => frame.attention[h]), width, { marked, most, label: `attention of head ${h + 1} over ${frames[0].attention[h].length} positions and ${frames.length} readings` }))));
  const NAMES = { accuracy: "right on fresh inputs", train_accuracy: "right on the training set", mass_best: "attention on relevant positions", fourier: "Fourier weight on the function", loss: "loss" };
  const rows = frames.flatMap(({ readings }) => Object.entries(NAMES).filter(([name]) => readings[name] !== undefined).map(([name, title]) => ({ step: readings.step, value: Math.min(readings[name], 1.5), what: title })));
  place("course", (width) => chart({ title: "Training", subtitle: "", kind: "lines", rows, x: { column: "step", title: "step", scale: "linear" }, y: { column: "value", title: "share, or loss", scale: "linear" }, colour: { column: "what" } }, width));
  const last = frames.at(-1).readings;
  if (!finished) says.textContent = `Step ${shown(last.step)}: ${shown(100 * last.accuracy)} % of fresh inputs are answered rightly.`;
}

/** Whether a guess was right, where one was made. */
function judged(name, yes, truth) {
  const guess = field(name).value;
  return guess ? (guess === yes) === truth ? " You guessed right." : " You guessed otherwise." : "";
}

async function end(record) {
  cancel.disabled = true;
  if (record.state === "cancelled") says.textContent = "Stopped.";
  else if (!finished) says.textContent = other.at(-1) ?? "The run ended without a result.";
  else {
    const share = frames.at(-1).readings.mass_best;
    says.textContent = `${finished.success ? "Learned" : "Not learned"}: ${shown(100 * finished.accuracy, 4)} % of fresh inputs are answered rightly.${judged("guess", "yes", finished.success)} The relevant positions were ${finished.positions.join(", ")}; the best head gives them ${shown(100 * share)} % of its attention.${judged("look", "relevant", share >= 0.5)}`;
    show();
    fill("certificate", el("p", { class: "soft" }, "Reading the function off the weights …"));
    await attempt(async () => {
      const answer = await ask("training", "certificate", { run: finished.identity });
      fill("certificate", el("p", { class: "says" }, answer.summary), facts([["run", finished.identity.slice(0, 12)], ["at a terminal", `keyhole prove --run ${finished.identity.slice(0, 12)}`]]));
    });
  }
}

function listen(number) {
  source?.close();
  job = number; frames = []; finished = null; other = [];
  remember(words());
  cancel.disabled = false;
  says.textContent = "Starting; a first run may have to be compiled, which takes some seconds.";
  source = follow(number, hear, end);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => { const { guess, look, job: _, ...asked } = words(); listen((await send("/begin/training/start", asked)).number); });
});
cancel.addEventListener("click", () => send(`/jobs/${job}/cancel`, {}));
form.addEventListener("input", () => { label(); remember(words()); });
const given = remembered();
context.set(Number(given.context) || 60);
samples.set(Number(given.samples) || 300);
for (const name of ["task", "seed", "preset", "guess", "look"]) if (given[name]) field(name).value = given[name];
label();
if (/^\d+$/.test(given.job ?? "")) {
  fetch("/jobs").then((response) => response.json()).then(({ jobs }) => { if (jobs.some((each) => each.number === Number(given.job))) listen(Number(given.job)); });
}
