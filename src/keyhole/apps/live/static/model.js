// Read a model: two grids of heads, the attention of the head that is chosen on a sentence or an image, and verdicts.

import { ask, attempt, el, refuse, remember, remembered, shown, soon, svg } from "./lab.js";
import { place } from "./draw.js";
import { send } from "./jobs.js";
import { fillClaim, frameClaim, claimWords, listenAgain, showClaim } from "./verdicts.js";

const MOST = 4 * 2 ** 20; // bytes of an image; the server has the same limit
const form = document.getElementById("question");
const field = (name) => form.elements.namedItem(name);
const drop = document.getElementById("drop"), mapSection = document.getElementById("map-section");
const SENTENCE = field("text").value;
let chosen = { layer: 1, head: 1 };
let weights = null;
let read = null;
let image = ""; // the name under which the server keeps what was dropped
let picture = null; // the address of what was dropped, in this browser
let from = 0; // the row of an image's map that is shown

const words = () => ({ model: field("model").value || "1", norm: field("norm").value, weights: field("weights").value, use: field("use").value, ...(weights?.reads_images ? { image } : { text: field("text").value }), ...chosen, ...claimWords() });

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
    if (choose) pressable(cell, name, () => choose(each.layer + 1, each.head + 1));
    drawing.append(cell);
  }
  return [drawing, el("p", { class: "soft" }, numbers.length ? `From ${shown(low)} (faint) to ${shown(high)} (strong).` : "No head has this number here.")];
}

/** A drawn shape that acts as a button, by mouse and by key. */
function pressable(shape, name, act) {
  for (const [key, value] of Object.entries({ tabindex: "0", role: "button", "aria-label": name })) shape.setAttribute(key, value);
  shape.addEventListener("click", act);
  shape.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); } });
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

/** The patches of an image, each as dark as the row that is chosen looks at it; a click on a patch chooses it. */
function overImage({ rows, weights: shares, grid: [down, across] }, width) {
  const before = rows.length - down * across, wide = Math.min(width, 460), tall = wide * down / across;
  const most = Math.max(...shares[from].slice(before), 1e-12);
  const drawing = svg("svg", { class: "patches", viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "group", "aria-label": `attention of ${nameOf(from, before, across)} over ${down} × ${across} patches` });
  if (picture) drawing.append(svg("image", { href: picture, width: wide, height: tall, preserveAspectRatio: "none" }));
  for (let patch = 0; patch < down * across; patch += 1) {
    const share = shares[from][before + patch], row = Math.floor(patch / across), column = patch % across;
    const name = `patch ${row + 1}, ${column + 1}: ${shown(100 * share)} % of the attention`;
    const cell = svg("rect", { class: `patch${from === before + patch ? " chosen" : ""}`, x: column * wide / across, y: row * tall / down, width: wide / across, height: tall / down, "fill-opacity": (0.85 * share / most).toFixed(3) }, svg("title", {}, name));
    pressable(cell, name, () => { from = before + patch; showMap(); });
    drawing.append(cell);
  }
  const extra = before ? shares[from].slice(0, before).reduce((sum, share) => sum + share, 0) : 0;
  return [
    drawing,
    el("p", {}, `${nameOf(from, before, across)} looks; the most coloured patch gets ${shown(100 * most)} % of the attention${before ? `, [CLS] ${shown(100 * extra)} %` : ""}.`),
    before ? el("button", { type: "button", onclick: () => { from = 0; showMap(); } }, "Look from [CLS]") : null,
    picture ? null : el("p", { class: "soft" }, "Choose the image again to see it below the attention."),
  ].filter(Boolean);
}

const nameOf = (row, before, across) => row < before ? "[CLS]" : `Patch ${Math.floor((row - before) / across) + 1}, ${(row - before) % across + 1}`;

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

function showMap() {
  mapSection.hidden = false;
  const patches = Boolean(read.map.grid);
  document.getElementById("map-is").textContent = patches
    ? "The more a patch is coloured, the more weight it gets. Click a patch to look from it."
    : "Each row is a token that looks; the stronger a cell's colour, the more weight the token in that column gets.";
  place("map", (width) => patches ? overImage(read.map, width) : map(read.map, width));
}

function showUse() {
  const name = field("use").value;
  place("use", (width) => grid(read.heads, (each) => (each.without_sinks[name] ?? each.with_sinks[name])[0], width, choose));
  document.getElementById("rule").textContent = `${read.statistics[name]}; sinks taken out.`;
  document.getElementById("which").textContent = `${chosen.layer}-${chosen.head}`;
  from = Math.min(from, read.map.rows.length - 1);
  showMap();
}

function choose(layer, head) {
  chosen = { layer, head };
  look().then(() => document.querySelector("#use .headcell.chosen")?.focus());
}

async function look() {
  remember(words());
  if (weights.reads_images && !image) {
    place("use", () => el("p", {}, "Drop an image onto the page, or choose a file above."));
    mapSection.hidden = true;
    return;
  }
  try {
    const use = field("use").value;
    read = await ask("model", "attention", words());
    options("use", Object.entries(read.statistics), use || remembered().use);
    showUse();
  } catch (error) { // said in place: the norms and the claims below do not depend on it
    if (error.name === "AbortError") return;
    place("use", () => el("p", { class: "refusal", role: "alert" }, error.message));
    mapSection.hidden = true;
  }
}

async function open() {
  await attempt(async () => {
    const norm = field("norm").value;
    weights = await ask("model", "norms", words());
    options("norm", Object.entries(weights.statistics), norm || remembered().norm);
    showNorms();
  });
  if (!weights) return;
  drop.hidden = !weights.reads_images;
  document.getElementById("sentence").hidden = weights.reads_images;
  document.getElementById("input-is").textContent = weights.reads_images ? "the image" : "the sentence";
  document.getElementById("sentence-is").textContent = weights.tokens ? `Tokens of the model, between spaces: ${weights.tokens.join(" ")} …` : "A sentence";
  const framed = ["BOS", "SEP"].every((token) => weights.tokens?.includes(token));
  if (weights.tokens && field("text").value === SENTENCE) field("text").value = framed ? "BOS 0 1 1 SEP" : weights.tokens.slice(0, 4).join(" ");
  if (framed) frameClaim("BOS", "SEP");
  showClaim(weights.verifiable);
  await look();
}

/** Send an image to the lab, which reads it or says why not. */
async function give(file) {
  await attempt(async () => {
    if (!weights?.reads_images) throw new Error("This model reads no images; type a sentence instead.");
    if (file.size > MOST) throw new Error(`The image has ${shown(file.size)} bytes; the lab takes at most ${shown(MOST)}.`);
    const spelled = await new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
      reader.onerror = () => reject(new Error("The file cannot be read."));
      reader.readAsDataURL(file);
    });
    ({ image } = await send("/give/image", { image: spelled }));
    if (picture) URL.revokeObjectURL(picture);
    picture = file.type.startsWith("image/") ? URL.createObjectURL(file) : null;
    from = 0;
    await look();
  });
}

const given = remembered();
image = /^[0-9a-f]{32}$/.test(given.image ?? "") ? given.image : "";
fillClaim(given, () => remember(words()));
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
  await listenAgain();
});
field("model").addEventListener("change", () => { chosen = { layer: 1, head: 1 }; weights = null; from = 0; open(); });
for (const name of ["norm", "weights"]) field(name).addEventListener("change", () => { remember(words()); showNorms(); });
field("use").addEventListener("change", () => { remember(words()); showUse(); });
field("text").addEventListener("input", soon(look, 250));
field("picture").addEventListener("change", (event) => { if (event.target.files.length) give(event.target.files[0]); });
document.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
document.addEventListener("dragleave", () => drop.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  if (event.dataTransfer?.files.length) give(event.dataTransfer.files[0]);
});
form.addEventListener("submit", (event) => event.preventDefault());
refuse(null);
