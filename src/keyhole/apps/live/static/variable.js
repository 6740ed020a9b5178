// Create a variable: the formula is asked as it is typed; bits are flipped by clicking them.

import { ask, atLeast, attempt, el, facts, fill, logarithmic, refuse, remember, remembered, shown, soon, svg } from "./lab.js";
import { bars, place } from "./draw.js";

const ALL = 64; // up to so many positions each has a cell; beyond, the others share one
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
  strip(answer);
  gauge(answer);
}

function strip(answer) {
  const relevant = new Set(answer.relevant);
  const every = answer.context <= ALL;
  const places = every ? [...Array(answer.context).keys()] : answer.relevant;
  const most = Math.max(...answer.attention.flat(), ...answer.cls_attention);
  const heads = answer.attention.map((shares, h) => {
    const cells = places.map((place) => cell(`x${place}`, shares[place], most, ones.has(place), relevant.has(place), () => flip(place)));
    if (!every) {
      const rest = shares.reduce((sum, share, place) => sum + (relevant.has(place) ? 0 : share), 0);
      cells.push(cell(`${answer.context - relevant.size} others`, rest, Math.max(most, rest), null, false, null));
    }
    cells.push(cell("[CLS]", answer.cls_attention[h], most, null, false, null));
    const title = answer.attention.length > 1 ? el("p", { class: "soft" }, `Head ${h + 1}`) : null;
    return el("div", { class: "head" }, title, el("div", { class: "strip" }, cells));
  });
  fill("strip", heads);
}

function cell(name, share, most, bit, relevant, action) {
  const fillBar = el("span", { class: "share" });
  fillBar.style.height = `${Math.round(64 * share / most)}px`;
  const inner = [el("span", { class: "column", "aria-hidden": "true" }, fillBar), el("span", { class: bit === null ? "bit none" : "bit" }, bit === null ? "\u00a0" : bit ? "1" : "0"), el("span", { class: "name" }, name)];
  const label = `${name}${bit === null ? "" : `, bit ${Number(bit)}`}: ${(100 * share).toPrecision(3)} % of the attention`;
  return action
    ? el("button", { type: "button", class: `cell${relevant ? " relevant" : ""}`, "aria-pressed": String(Boolean(bit)), "aria-label": label, title: label, onclick: action }, inner)
    : el("span", { class: "cell wide", title: label }, inner);
}

async function flip(place) {
  if (!ones.delete(place)) ones.add(place);
  await attempt(respond);
  [...document.querySelectorAll("button.cell")].find((button) => button.textContent.endsWith(`x${place}`))?.focus();
}

function gauge(answer) {
  place("gauge", (width) => line(answer, width));
  document.getElementById("says").textContent = `The layer says ${Number(answer.answer)}; the function is ${Number(answer.truth)}.`;
}

function line(answer, width) {
  const middle = width / 2;
  const far = Math.max(1.5, Math.abs(answer.output - answer.threshold) * 1.15);
  const at = (value) => middle + (middle - 30) * (value - answer.threshold) / far;
  return svg("svg", { viewBox: `0 0 ${width} 66`, width, height: 66, role: "img", "aria-label": `Output ${shown(answer.output)}, threshold ${shown(answer.threshold)}` },
    svg("line", { class: "axis", x1: 10, x2: width - 10, y1: 34, y2: 34 }),
    svg("line", { class: "axis", x1: middle, x2: middle, y1: 20, y2: 48 }),
    svg("text", { class: "soft", x: middle, y: 62, "text-anchor": "middle" }, `threshold ${shown(answer.threshold)}`),
    svg("text", { class: "soft", x: 10, y: 62 }, "says 0"), svg("text", { class: "soft", x: width - 10, y: 62, "text-anchor": "end" }, "says 1"),
    svg("circle", { cx: at(answer.output), cy: 34, r: 7, class: answer.answer === answer.truth ? "right" : "wrong" }),
    svg("text", { x: at(answer.output), y: 16, "text-anchor": "middle" }, `output ${shown(answer.output)}`));
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
