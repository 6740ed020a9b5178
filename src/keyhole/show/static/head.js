// A compiled head on one page: its input to flip, its weights to edit, and its proof, made again from the weights shown.

import { el, facts, fill, shown } from "./elements.js";
import { gauge, place, strips } from "./draw.js";
import { add, decimal, exactly, exponential, hull, negate, over, relu, times, UNIT, up, whole, ZERO } from "./exact.js";

const LISTED = 64, EDITED = 32; // rows of the proof, and units of the weights, that are drawn
const block = (id) => JSON.parse(document.getElementById(id).textContent);
const claim = block("claim"), written = block("weights");
let weights = structuredClone(written), ones = new Set();

// --- the function, and one input in doubles ---------------------------------------------------------------------

/** The claimed value where these relevant bits are shown. */
function truth(bits) {
  if (claim.levels) return claim.levels[bits.filter((bit, i) => bit !== claim.negated[i]).length];
  return claim.table[bits.reduce((index, bit, i) => index + (bit ? 2 ** i : 0), 0)];
}

/** What the layer computes on one input; [CLS] has the score 0. */
function respond(head, units) {
  const slot = new Map(claim.positions.map((position, i) => [position, i])), { context } = claim;
  let other = 0;
  const rows = [...Array(context).keys()].map((position) => {
    const bit = Number(ones.has(position)), i = slot.get(position);
    if (i !== undefined) return [Number(head.focus[i][bit]), head.values[i][bit]];
    const score = head.rest_logits[head.rest_logits.length > 1 ? other : 0];
    other += 1;
    return [Number(score), head.rest_values[bit]];
  });
  rows.push([0, head.cls_values]);
  const top = Math.max(...rows.map(([score]) => score)), mass = rows.map(([score]) => Math.exp(score - top));
  const all = mass.reduce((sum, share) => sum + share, 0), shares = mass.map((share) => share / all);
  rows.forEach(([, values], t) => values.forEach((value, k) => { units[k] += shares[t] * Number(value); }));
  return shares;
}

function draw() {
  const units = weights.readout.map(() => 0);
  const shares = weights.heads.map((head) => respond(head, units));
  const output = units.reduce((sum, unit, k) => sum + Number(weights.readout[k]) * Math.max(unit, 0), 0);
  const threshold = claim.output === "signs" ? 0 : 0.5;
  const wanted = truth(claim.positions.map((position) => ones.has(position)));
  const answer = { context: claim.context, relevant: claim.positions, output, threshold, answer: output > threshold, truth: wanted,
    attention: shares.map((row) => row.slice(0, -1)), cls_attention: shares.map((row) => row.at(-1)) };
  fill("strip", strips(answer, ones, flip));
  place("gauge", (width) => gauge(answer, width));
  const distance = (answer.answer === wanted ? 1 : -1) * Math.abs(output - threshold);
  fill("says", `Layer: ${Number(answer.answer)}. Function: ${Number(wanted)}. Margin on this input: ${shown(distance, 6)}.`);
}

function flip(position) {
  if (!ones.delete(position)) ones.add(position);
  draw();
  [...document.querySelectorAll("button.cell")].find((button) => button.textContent.endsWith(`x${position}`))?.focus();
}

// --- the proof ---------------------------------------------------------------------------------------------------

const sum = (intervals) => intervals.reduce(add, ZERO);
const same = (x, y) => x[0] === y[0] && x[1] === y[1];

/** A head with exact numbers; its scores are less the largest, which no share depends on. */
function enclose(head) {
  const numbers = (rows) => rows.map((row) => row.map(exactly));
  const focus = numbers(head.focus), rest = head.rest_logits.map(exactly);
  const top = [...focus.flat(), ...rest, ZERO].reduce((most, score) => (score[1] > most ? score[1] : most), 0n);
  const mass = (score) => exponential([score[0] - top, score[1] - top]);
  const others = claim.context - claim.positions.length;
  if (rest.length !== 1 && rest.length !== others) throw new Error("the other positions do not have one score each");
  return {
    focus: focus.map((row) => row.map(mass)),
    rest: rest.length === 1 ? times(mass(rest[0]), whole(others)) : sum(rest.map(mass)),
    cls: mass(ZERO),
    values: head.values.map(numbers),
    zero: head.rest_values[0].map(exactly), one: head.rest_values[1].map(exactly), own: head.cls_values.map(exactly),
  };
}

/** What the units gather where the other positions show 0, and what changes when all of them show 1. */
function gather(heads, bits) {
  const start = weights.readout.map(() => ZERO), slope = [...start];
  for (const head of heads) {
    const chosen = bits.map((bit, i) => head.focus[i][Number(bit)]), all = sum([...chosen, head.rest, head.cls]);
    const shares = chosen.map((mass) => over(mass, all)), rest = over(head.rest, all), own = over(head.cls, all);
    start.forEach((_, k) => {
      const read = sum(shares.map((share, i) => times(share, head.values[i][Number(bits[i])][k])));
      start[k] = sum([start[k], read, times(rest, head.zero[k]), times(own, head.own[k])]);
      slope[k] = add(slope[k], times(rest, add(head.one[k], negate(head.zero[k]))));
    });
  }
  return { start, slope };
}

/** The output on every input that shows these relevant bits: piecewise linear in the share l of the rest that shows 1, so that its extremes lie at 0, at 1 and at the bends. */
function outputs(heads, readout, bits) {
  const { start, slope } = gather(heads, bits);
  const at = (l) => sum(readout.map((weight, k) => times(weight, relu(add(start[k], times(l, slope[k]))))));
  const points = [ZERO];
  if (slope.some((change) => !same(change, ZERO))) {
    points.push(UNIT);
    start.forEach((value, k) => {
      const [low, high] = slope[k];
      const bend = low > 0n ? over(negate(value), slope[k]) : high < 0n ? over(value, negate(slope[k])) : same(slope[k], ZERO) ? null : [ZERO[0], UNIT[0]];
      if (bend && bend[1] >= ZERO[0] && bend[0] <= UNIT[0])
        points.push([bend[0] < ZERO[0] ? ZERO[0] : bend[0], bend[1] > UNIT[0] ? UNIT[0] : bend[1]]);
    });
  }
  return points.map(at).reduce(hull);
}

/** The patterns to go through: one for each count of true literals where all relevant positions are alike, or all. */
function patterns() {
  const s = claim.positions.length;
  if (!claim.levels) return [...Array(2 ** s).keys()].map((index) => claim.positions.map((_, i) => Boolean(Math.floor(index / 2 ** i) % 2)));
  for (const head of weights.heads) for (const table of [head.focus, head.values]) {
    const turned = table.map((rows, i) => JSON.stringify((claim.negated[i] ? [...rows].reverse() : rows).map((row) => [row].flat().map(Number))));
    if (turned.some((rows) => rows !== turned[0])) throw new Error("the relevant positions are not alike, and their order could matter");
  }
  return [...Array(s + 1).keys()].map((count) => claim.positions.map((_, i) => (i < count) !== claim.negated[i]));
}

/** Go through all patterns, and return a row for each, the margin, and the argument. */
function prove() {
  const heads = weights.heads.map(enclose), readout = weights.readout.map(exactly);
  const blind = heads.every((head) => head.zero.every((value, k) => same(value, head.one[k])));
  if (!blind && heads.length > 1) throw new Error("several heads read the other positions; this page has no argument for that");
  const half = exactly(claim.output === "signs" ? 1 : 0.5)[0], low = exactly(claim.output === "signs" ? -1 : 0);
  const rows = patterns().map((bits) => {
    const output = outputs(heads, readout, bits), wanted = truth(bits), off = add(output, negate(wanted ? UNIT : low));
    return { bits, wanted, output, margin: half - (off[1] > -off[0] ? off[1] : -off[0]) };
  });
  return { rows, blind, margin: rows.map((row) => row.margin).reduce((a, b) => (b < a ? b : a)) };
}

const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const spelled = (bits) => (bits.length > 12 ? `${bits.filter((bit, i) => bit !== claim.negated[i]).length} of ${bits.length} literals true` : bits.map((bit, i) => `x${claim.positions[i]}=${Number(bit)}`).join(" "));

async function check() {
  const began = performance.now(), words = [];
  let proof = null, refusal = null;
  try {
    proof = prove();
    const worst = proof.rows.reduce((a, b) => (b.margin < a.margin ? b : a));
    if (proof.margin <= 0n) refusal = `where ${spelled(worst.bits)}, the output lies between ${decimal(worst.output[0], 6)} and ${decimal(worst.output[1], 6, up)}, and ${Number(worst.wanted)} is wanted`;
    else if (proof.margin < exactly(claim.margin)[0]) refusal = `the weights compute the function, but with margin ${decimal(proof.margin, 9)}; the claim is ${claim.margin}`;
  } catch (error) {
    refusal = error.message;
  }
  const digest = hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(weights))));
  const intact = digest === claim.digest;
  if (!refusal && !intact) refusal = "they are not the weights that keyhole wrote, although they compute the same function";
  words.push(el("p", { class: `says ${refusal ? "bad" : "good"}`, id: "verdict" }, refusal ? `REFUSED: ${refusal}.` : `PROVED here: right on all 2^${claim.context} inputs, margin at least ${decimal(proof.margin)}.`));
  if (proof) words.push(facts([
    ["claimed margin", claim.margin],
    ["margin found here", decimal(proof.margin)],
    ["other positions", proof.blind ? "read alike, whatever they show" : "any share of them may show 1: the output is piecewise linear in it, and its bends are gone through"],
    ["cases", `${proof.rows.length} ${claim.levels ? "counts of true literals" : "patterns of the relevant bits"}, in exact integers, rounded outward`],
    ["weights", intact ? "as keyhole wrote them (SHA-256)" : "changed (SHA-256)"],
    ["time", `${Math.round(performance.now() - began)} ms`],
  ]), el("details", {}, el("summary", {}, "Case by case"), el("table", {},
    el("thead", {}, el("tr", {}, ["relevant bits", "wanted", "output at least", "output at most"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, proof.rows.slice(0, LISTED).map((row) => el("tr", {}, el("td", {}, spelled(row.bits)), el("td", {}, Number(row.wanted)),
      el("td", { class: row.margin > 0n ? null : "bad" }, decimal(row.output[0])), el("td", { class: row.margin > 0n ? null : "bad" }, decimal(row.output[1], 15, up)))))),
    proof.rows.length > LISTED ? el("p", { class: "soft" }, `The first ${LISTED} of ${proof.rows.length} cases.`) : null));
  fill("proof", words);
}

// --- the weights -------------------------------------------------------------------------------------------------

/** A number to edit, at its place in the weights. */
function number(list, index, name) {
  const change = (event) => { list[index] = event.target.value; event.target.classList.add("edited"); check(); draw(); };
  return el("td", {}, el("input", { value: list[index], "aria-label": name, size: 10, spellcheck: false, onchange: change }));
}

function table() {
  const units = weights.readout.slice(0, EDITED).map((_, k) => k);
  fill("weights-drawn", weights.heads.map((head, h) => {
    const title = weights.heads.length > 1 ? `head ${h + 1}, ` : "";
    const cells = (list, name) => units.map((k) => number(list, k, `${title}value of ${name} for unit ${k + 1}`));
    const token = (name, score, values) => el("tr", {}, el("th", { scope: "row" }, name), score, cells(values, name));
    const rest = (bit) => (bit || head.rest_logits.length > 1 ? el("td", { class: "soft" }, bit ? "the same" : "one each") : number(head.rest_logits, 0, `${title}score of the others`));
    const rows = [
      ...head.focus.slice(0, EDITED).flatMap((scores, i) => [0, 1].map((bit) => token(`x${claim.positions[i]} = ${bit}`, number(scores, bit, `${title}score of x${claim.positions[i]} = ${bit}`), head.values[i][bit]))),
      ...[0, 1].map((bit) => token(`others = ${bit}`, rest(bit), head.rest_values[bit])),
      token("[CLS]", el("td", {}, "0"), head.cls_values),
    ];
    const last = h === weights.heads.length - 1;
    if (last) rows.push(el("tr", {}, el("th", { scope: "row" }, "read-out"), el("td", {}), units.map((k) => number(weights.readout, k, `read-out of unit ${k + 1}`))));
    return el("table", { class: "weights" }, el("thead", {}, el("tr", {}, [`${title}token`, "score", ...units.map((k) => `unit ${k + 1}`)].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows));
  }),
  weights.readout.length > EDITED || claim.positions.length > EDITED ? el("p", { class: "soft" }, `The first ${EDITED} units and positions; the proof reads all.`) : []);
}

function restore() {
  weights = structuredClone(written);
  table();
  check();
  draw();
}

document.getElementById("restore").addEventListener("click", restore);
document.getElementById("all-ones").addEventListener("click", () => { claim.positions.forEach((position) => ones.add(position)); draw(); });
document.getElementById("no-ones").addEventListener("click", () => { ones.clear(); draw(); });
restore();
