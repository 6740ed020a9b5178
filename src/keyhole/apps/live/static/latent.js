// Infer a latent: one context is asked for, and shown token by token.

import { ask, attempt, el, facts, logarithmic, remember, remembered, shown, soon } from "./lab.js";
import { bars, chart, place } from "./draw.js";

const form = document.getElementById("question");
const seen = document.getElementById("seen");
const field = (name) => form.elements.namedItem(name);
const variances = { prior: logarithmic(field("prior")), noise: logarithmic(field("noise")) };
let followed = null;
let playing = 0;

function words() {
  const plain = Object.fromEntries(["model", "length", "seed", "bandwidth", "ridge"].map((name) => [name, field(name).value.trim()]));
  return plain.model === "gaussian" ? { ...plain, prior: variances.prior.get(), noise: variances.noise.get() } : plain;
}

async function update() {
  stop();
  for (const each of document.querySelectorAll(".gaussian")) each.hidden = field("model").value !== "gaussian";
  for (const [name, slider] of Object.entries(variances)) document.getElementById(`${name}-shown`).textContent = shown(slider.get());
  document.getElementById("length-shown").textContent = field("length").value;
  remember(words());
  await attempt(async () => {
    followed = await ask("latent", "context", words());
    seen.max = String(followed.steps.length);
    seen.value = seen.max;
    show();
    const { figure, repeats } = await ask("latent", "errors", { ...words(), length: "" });
    place("errors", (width) => [chart(figure, width), el("p", { class: "soft" }, `Means over ${repeats} contexts; a band is two standard errors.`)]);
  });
}

function show() {
  const at = Number(seen.value), step = followed.steps[at - 1];
  document.getElementById("seen-shown").textContent = String(at);
  const rows = followed.steps.slice(0, at).flatMap((each) => [
    { T: each.tokens, value: each.posterior_mean[0], who: "posterior mean" },
    ...Object.entries(each.answers).map(([who, answer]) => ({ T: each.tokens, value: answer[0], who })),
    { T: each.tokens, value: followed.truth[0], who: "the hidden value" },
  ]);
  const figure = { title: "Answers as tokens come", subtitle: "first coordinate", kind: "lines", rows, x: { column: "T", title: "tokens seen", scale: "linear" }, y: { column: "value", title: "answer", scale: "linear" }, colour: { column: "who" } };
  place("course", (width) => chart(figure, width, { plain: ["the hidden value"] }));
  const gaps = Object.entries(step.gaps).map(([name, gap]) => gap < 1e-18 ? `${name} is the posterior mean` : `${name} is off by ${shown(gap)}`);
  document.getElementById("says").textContent = `After ${at} token${at === 1 ? "" : "s"}: ${gaps.join("; ")} (squared distance).`;
  const tables = [facts([
    ["last token", step.token.map((value) => shown(value)).join(", ")],
    ["posterior mean", step.posterior_mean.map((value) => shown(value, 4)).join(", ")],
    ...Object.entries(step.answers).map(([name, answer]) => [name, answer.map((value) => shown(value, 4)).join(", ")]),
    ["the hidden value", followed.truth.map((value) => shown(value, 4)).join(", ")],
  ])];
  const shares = step.posterior?.map((share, z) => [`z = ${z + 1}`, share]);
  place("posterior", (width) => shares ? [...tables, el("h3", {}, "Probability of each hidden value"), bars(shares, width)] : tables);
}

function stop() {
  clearInterval(playing);
  playing = 0;
  document.getElementById("play").textContent = "Play";
}

document.getElementById("play").addEventListener("click", () => {
  if (playing) return stop();
  if (seen.value === seen.max) seen.value = "1";
  document.getElementById("play").textContent = "Pause";
  playing = setInterval(() => {
    if (seen.value === seen.max) return stop();
    seen.value = String(Number(seen.value) + 1);
    show();
  }, 350);
  show();
});
document.getElementById("again").addEventListener("click", () => { field("seed").value = String((Number(field("seed").value) + 1) % 1000000); update(); });
seen.addEventListener("input", () => { stop(); show(); });
form.addEventListener("input", soon(update, 150));
form.addEventListener("submit", (event) => event.preventDefault());
variances.prior.set(Number(remembered().prior) || 2);
variances.noise.set(Number(remembered().noise) || 0.5);
for (const [name, value] of Object.entries(remembered())) if (field(name) && !(name in variances)) field(name).value = value;
update();
