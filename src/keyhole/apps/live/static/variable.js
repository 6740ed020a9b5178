// Create a variable: the formula is asked as it is typed; bits are flipped by clicking them.

import { ask, atLeast, attempt, el, facts, fill, logarithmic, refuse, remember, remembered, shown, soon } from "./lab.js";
import { bars, gauge, place, strips } from "./draw.js";

const form = document.getElementById("question");
const formula = form.elements.namedItem("formula");
const context = logarithmic(form.elements.namedItem("context"));
const samples = logarithmic(form.elements.namedItem("samples"));
let ones = new Set();
let shortest = 1;

function words() {
  return { formula: formula.value, context: Math.max(context.get(), shortest), samples: samples.get(), ones: [...ones].sort((a, b) => a - b).join(",") };
}

async function update() {
  document.getElementById("context-shown").textContent = shown(words().context);
  document.getElementById("samples-shown").textContent = shown(samples.get());
  ones = new Set([...ones].filter((place) => place < words().context));
  remember(words());
  await attempt(async () => {
    await respond(); // the head first: what moves while one types
    const answer = await ask("variable", "variable", words());
    shortest = answer.shortest;
    if (context.get() < shortest) context.set(shortest);
    document.getElementById("context-shown").textContent = shown(answer.context);
    describe(answer.description, answer.information_floor);
    prove(answer.compiled);
    guarantee(answer.bound);
  });
}

async function respond() {
  remember(words());
  const answer = await ask("variable", "response", words());
  fill("strip", strips(answer, ones, flip));
  show(answer);
}

async function flip(place) {
  if (!ones.delete(place)) ones.add(place);
  await attempt(respond);
  [...document.querySelectorAll("button.cell")].find((button) => button.textContent.endsWith(`x${place}`))?.focus();
}

function show(answer) {
  place("gauge", (width) => gauge(answer, width));
  document.getElementById("says").textContent = `The layer says ${Number(answer.answer)}; the function is ${Number(answer.truth)}.`;
}

function describe(description, floor) {
  fill("facts", facts([
    ["formula", description.formula],
    ["relevant positions", `s = ${description.sparsity}`],
    ["degree", String(description.degree)],
    ["leap", String(description.leap)],
    ["share of inputs with value 1", shown(description.probability, 4)],
    ["to represent", description.representation.says],
    ["to train", description.training.says],
    ["information floor", `${shown(floor)} samples`],
  ]));
  const rows = Object.entries(description.influences).map(([place, value]) => [`x${place}`, value]);
  place("influences", (width) => rows.length ? bars(rows, width) : el("p", { class: "soft" }, "No position matters: the function is constant."));
}

function prove(compiled) {
  const formats = Object.entries(compiled.formats).map(([name, verdict]) => `${name}: ${verdict}`).join("; ");
  fill("proof", el("p", { class: "says good" }, `Right on all ${compiled.inputs_covered} inputs.`), facts([
    ["margin", `at least ${atLeast(compiled.margin, 6)}`],
    ["construction", `${compiled.construction}: ${compiled.why}`],
    ["heads and units", `${compiled.heads} ${compiled.heads === 1 ? "head" : "heads"}, ${compiled.width} units`],
    ["number formats", formats],
  ]));
  const names = Object.keys(compiled.norms);
  fill("norms", el("table", {}, el("thead", {}, el("tr", {}, ["norm", "of this head", "the theorem says"].map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, names.map((name) => {
      const theorem = compiled.theorem[name];
      return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "number" }, shown(compiled.norms[name], 4)),
        el("td", { class: "number" }, theorem ? `${theorem.relation} ${shown(theorem.value, 4)}` : ""));
    }))));
}

function guarantee(bound) {
  const says = document.getElementById("bound-says");
  says.textContent = bound.summary;
  says.className = `says ${bound.vacuous ? "mild" : "good"}`;
  const trees = bound.guarantees.map((stated) =>
    el("details", { open: stated.route === bound.best }, el("summary", {}, stated.sentence),
      branch(stated.derivation), el("p", { class: "soft" }, `Holds if: ${stated.valid_if.join("; ")}.`)));
  const refused = bound.refused.map((each) => el("li", {}, `${each.theorem}: ${each.reason}`));
  fill("bound", trees, refused.length ? [el("h3", {}, "Theorems that do not apply"), el("ul", {}, refused)] : []);
}

function branch(node) {
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.width = `${Math.round(60 * node.share)}px`;
  const line = el("summary", {}, bar, `${node.name} = ${shown(node.value, 4)}`, el("span", { class: "soft" }, `  ${node.lemma}`));
  const inputs = node.inputs.map((input) => `${input.name} = ${shown(input.value, 4)}`).join(", ");
  return el("details", { class: node.parts.length ? null : "leaf", open: true }, line, el("div", { class: "formula" }, node.formula), inputs ? el("div", { class: "soft" }, inputs) : null, node.parts.map(branch));
}

const given = remembered();
if (given.formula) formula.value = given.formula;
context.set(Number(given.context) || 16);
samples.set(Number(given.samples) || 1e6);
ones = new Set((given.ones ?? "").split(",").filter((word) => /^\d+$/.test(word)).map(Number));
form.addEventListener("input", soon(update));
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("[data-formula]"))
  button.addEventListener("click", () => { formula.value = button.dataset.formula; shortest = 1; update(); });
refuse(null);
update();
