// Read a model: two grids of heads, and the attention of the head that is chosen.

import { ask, attempt, el, refuse, remember, remembered, shown, soon, svg } from "./lab.js";
import { place } from "./draw.js";

const form = document.getElementById("question");
const field = (name) => form.elements.namedItem(name);
let chosen = { layer: 1, head: 1 };
let weights = null;
let read = null;

const words = () => ({ model: field("model").value || "1", norm: field("norm").value, weights: field("weights").value, use: field("use").value, text: field("text").value, ...chosen });

/** Layers × heads, coloured by a number; a click on a head chooses it. */
function grid(heads, value, width, choose) {
  const layers = Math.max(...heads.map((each) => each.layer)) + 1, across = Math.max(...heads.map((each) => each.head)) + 1;
  const size = Math.min(34, Math.floor((width - 30) / across)), numbers = heads.map(value).filter(Number.isFinite);
  const low = Math.min(...numbers), high = Math.max(...numbers);
  const drawing = svg("svg", { viewBox: `0 0 ${30 + size * across} ${20 + size * layers}`, width: 30 + size * across, height: 20 + size * layers, role: "group", "aria-label": "layers and heads" });
  for (let h = 0; h < across; h += 1) drawing.append(svg("text", { class: "soft", x: 30 + (h + 0.5) * size, y: 12, "text-anchor": "middle" }, String(h + 1)));
  for (let l = 0; l < layers; l += 1) drawing.append(svg("text", { class: "soft", x: 22, y: 20 + (l + 0.62) * size, "text-anchor": "end" }, String(l + 1)));
  for (const each of heads) {
    const number = value(each), share = high > low ? (number - low) / (high - low) : 0.5;
    const name = `head ${each.layer + 1}-${each.head + 1}: ${shown(number)}${each.verdict ? `, ${each.verdict}` : ""}`;
    const cell = svg("rect", { class: `dot c0 headcell${choose && each.layer + 1 === chosen.layer && each.head + 1 === chosen.head ? " chosen" : ""}`, x: 30 + each.head * size, y: 20 + each.layer * size, width: size - 2, height: size - 2, rx: 3, "fill-opacity": (0.06 + 0.94 * share).toFixed(3) }, svg("title", {}, name));
    if (choose) {
      cell.setAttribute("tabindex", "0");
      cell.setAttribute("role", "button");
      cell.setAttribute("aria-label", name);
      const act = () => choose(each.layer + 1, each.head + 1);
      cell.addEventListener("click", act);
      cell.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); } });
    }
    drawing.append(cell);
  }
  return [drawing, el("p", { class: "soft" }, `From ${shown(low)} (light) to ${shown(high)} (dark).`)];
}

function map({ rows, weights: shares }, width) {
  const left = 10 + 7 * Math.max(...rows.map((token) => token.length)), size = Math.max(8, Math.min(26, Math.floor((Math.min(width, 900) - left) / rows.length)));
  const wide = left + size * rows.length, tall = left + size * rows.length;
  const drawing = svg("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "img", "aria-label": `attention between ${rows.length} tokens` });
  rows.forEach((token, i) => {
    drawing.append(svg("text", { x: left - 5, y: left + (i + 0.7) * size, "text-anchor": "end" }, token));
    drawing.append(svg("text", { transform: `translate(${left + (i + 0.7) * size} ${left - 5}) rotate(-90)` }, token));
  });
  shares.forEach((row, i) => row.forEach((share, j) => drawing.append(svg("rect", { class: "dot c0", x: left + j * size, y: left + i * size, width: size - 1, height: size - 1, "fill-opacity": Math.max(0.03, share).toFixed(3) }, svg("title", {}, `${rows[i]} looks at ${rows[j]}: ${shown(100 * share)} %`)))));
  return drawing;
}

function options(name, pairs, wanted) {
  const select = field(name);
  select.replaceChildren(...pairs.map(([value, title]) => el("option", { value }, title)));
  if (pairs.some(([value]) => value === wanted)) select.value = wanted;
}

function showNorms() {
  const kind = field("weights").value in weights.heads[0] ? field("weights").value : "trained";
  document.getElementById("norm-says").textContent = weights.statistics[field("norm").value];
  place("norms", (width) => grid(weights.heads, (each) => each[kind][field("norm").value], width, null));
  const stand = weights.stand_in;
  document.getElementById("bound").textContent = stand ? `Generalization bound of its stand-in: ${stand.sentence ?? shown(stand.value)}.` : "";
  document.getElementById("bound-is").textContent = stand ? weights.stand_in_is : "";
}

function showUse() {
  const name = field("use").value;
  place("use", (width) => grid(read.heads, (each) => (each.without_sinks[name] ?? each.with_sinks[name])[0], width, choose));
  document.getElementById("rule").textContent = `${read.statistics[name]}; sinks taken out.`;
  document.getElementById("which").textContent = `${chosen.layer}-${chosen.head}`;
  place("map", (width) => map(read.map, width));
}

function choose(layer, head) {
  chosen = { layer, head };
  sentence().then(() => document.querySelector(".headcell.chosen")?.focus());
}

async function sentence() {
  remember(words());
  await attempt(async () => {
    const use = field("use").value;
    read = await ask("model", "attention", words());
    options("use", Object.entries(read.statistics), use || remembered().use);
    showUse();
  });
}

async function open() {
  await attempt(async () => {
    const norm = field("norm").value;
    weights = await ask("model", "norms", words());
    options("norm", Object.entries(weights.statistics), norm || remembered().norm);
    showNorms();
  });
  if (weights) await sentence();
}

const given = remembered();
attempt(async () => {
  const { models } = await ask("model", "models", {});
  if (!models.length) {
    form.hidden = true;
    document.querySelector(".columns").replaceChildren(el("section", { class: "across" }, el("p", {}, "No model was named when the lab was started. At a terminal:"), el("pre", {}, "keyhole serve --model DIR\nkeyhole serve --model minilm")));
    return;
  }
  options("model", models.map((name, i) => [String(i + 1), name]), given.model);
  if (given.text) field("text").value = given.text;
  if (given.weights) field("weights").value = given.weights;
  if (Number(given.layer) && Number(given.head)) chosen = { layer: Number(given.layer), head: Number(given.head) };
  await open();
});
field("model").addEventListener("change", () => { chosen = { layer: 1, head: 1 }; open(); });
for (const name of ["norm", "weights"]) field(name).addEventListener("change", () => { remember(words()); showNorms(); });
field("use").addEventListener("change", () => { remember(words()); showUse(); });
field("text").addEventListener("input", soon(sentence, 250));
form.addEventListener("submit", (event) => event.preventDefault());
refuse(null);
