// Figures drawn from the records that the library makes: lines and points with bands, on linear or logarithmic axes.

import { el, shown, svg } from "./elements.js";

const SERIES = 8; // colours; the style sheet has them, for light and dark pages
const HEIGHT = 300, RIGHT = 16, TOP = 12, BOTTOM = 46, LETTER = 7;
const WIDEST = 1100;
const CELLS = 64; // up to so many positions each has a cell; beyond, the others share one

/** Draw into an element at the width it has, and again when that changes. */
const drawn = new Map();
const watcher = new ResizeObserver((entries) => {
  for (const { target } of entries) redraw(target);
});

export function place(id, draw) {
  const target = document.getElementById(id);
  drawn.set(target, { draw, width: 0 });
  watcher.observe(target);
  redraw(target);
}

function redraw(target) {
  const entry = drawn.get(target), width = Math.min(WIDEST, Math.floor(target.clientWidth));
  if (!entry || !width || entry.width === width) return;
  entry.width = width;
  target.replaceChildren(...[entry.draw(width)].flat());
}

/** Numbers at which an axis is marked. */
function ticks(low, high, log, most) {
  if (log) {
    const decades = Math.log10(high / low), powers = [];
    const digits = decades > 2.5 ? [1] : decades > 0.9 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    const skip = Math.max(1, Math.ceil(decades / most));
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1)
      if (k % skip === 0) for (const digit of digits) powers.push(Number(`${digit}e${k}`));
    return powers.filter((value) => value >= low * 0.98 && value <= high * 1.02);
  }
  const rough = (high - low) / most || 1, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * unit).find((candidate) => candidate >= rough * 0.999);
  const marks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step / 1e6; k += 1) marks.push(Number((k * step).toPrecision(12)));
  return marks;
}

function span(values, log) {
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const low = Math.min(...usable), high = Math.max(...usable);
  if (low !== high) return [low, high];
  return log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
}

function scale([low, high], log, from, to) {
  const f = log ? Math.log : (value) => value;
  const pad = (f(high) - f(low)) * 0.04;
  return {
    at: (value) => from + (to - from) * (f(value) - f(low) + pad) / (f(high) - f(low) + 2 * pad),
    fits: (value) => Number.isFinite(value) && (!log || value > 0),
  };
}

/** A record of a figure as a drawing of this width. Series named in `plain` are lines without points. */
export function chart(figure, width, { plain = [] } = {}) {
  const rows = figure.rows, { x, y } = figure, group = figure.colour?.column;
  const column = (name) => rows.map((row) => row[name]);
  const ends = [figure.low, figure.high].filter(Boolean).flatMap(column);
  const wide = span(column(x.column), x.scale === "log"), high = span([...column(y.column), ...ends], y.scale === "log");
  const upMarks = ticks(...high, y.scale === "log", 6), acrossMarks = ticks(...wide, x.scale === "log", Math.max(3, Math.floor(width / 90)));
  const left = 26 + LETTER * Math.max(...upMarks.map((mark) => shown(mark).length), 2);
  const across = scale(wide, x.scale === "log", left, width - RIGHT), up = scale(high, y.scale === "log", HEIGHT - BOTTOM, TOP);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": `${figure.title}. ${figure.subtitle ?? ""}` });
  for (const mark of upMarks) {
    drawing.append(svg("line", { class: "grid", x1: left, x2: width - RIGHT, y1: up.at(mark), y2: up.at(mark) }));
    drawing.append(svg("text", { class: "soft", x: left - 6, y: up.at(mark) + 4, "text-anchor": "end" }, shown(mark)));
  }
  for (const mark of acrossMarks) {
    drawing.append(svg("line", { class: "grid", x1: across.at(mark), x2: across.at(mark), y1: TOP, y2: HEIGHT - BOTTOM }));
    drawing.append(svg("text", { class: "soft", x: across.at(mark), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, shown(mark)));
  }
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  drawing.append(svg("text", { x: (left + width - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, x.title));
  drawing.append(svg("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, y.title));
  const names = group ? [...new Set(column(group))] : [""];
  names.forEach((name, i) => {
    const tone = `series c${i % SERIES}`, own = group ? rows.filter((row) => row[group] === name) : rows;
    const fitting = own.filter((row) => across.fits(row[x.column]) && up.fits(row[y.column]));
    const point = (row, key) => `${across.at(row[x.column])},${up.at(row[key])}`;
    const line = (row) => point(row, y.column);
    if (figure.low && figure.kind === "lines") {
      const band = own.filter((row) => up.fits(row[figure.low]) && up.fits(row[figure.high]));
      const outline = [...band.map((row) => point(row, figure.high)), ...[...band].reverse().map((row) => point(row, figure.low))];
      drawing.append(svg("polygon", { class: `band c${i % SERIES}`, points: outline.join(" ") }));
    } else if (figure.low) {
      for (const row of fitting) drawing.append(svg("line", { class: tone, x1: across.at(row[x.column]), x2: across.at(row[x.column]), y1: up.at(row[figure.low]), y2: up.at(row[figure.high]) }));
    }
    if (figure.kind === "lines" || figure.kind === "curves")
      drawing.append(svg("polyline", { class: `${tone}${plain.includes(name) ? " dashed" : ""}`, points: fitting.map(line).join(" ") }));
    if (figure.kind !== "curves" && !plain.includes(name))
      for (const row of fitting)
        drawing.append(svg("circle", { class: `dot c${i % SERIES}`, cx: across.at(row[x.column]), cy: up.at(row[y.column]), r: fitting.length > 40 ? 2 : 3.2 },
          svg("title", {}, Object.entries(row).map(([key, value]) => `${key}: ${shown(value, 5)}`).join("\n"))));
  });
  return el("figure", { class: "drawn" }, drawing, group ? legend(names) : null);
}

function legend(names) {
  return el("figcaption", { class: "examples" }, names.map((name, i) => {
    const mark = svg("svg", { viewBox: "0 0 12 12", width: 12, height: 12, class: "key", "aria-hidden": "true" },
      svg("rect", { class: `dot c${i % SERIES}`, width: 12, height: 12, rx: 2 }));
    return el("span", { class: "entry" }, mark, ` ${name}`);
  }));
}

/** Named shares as horizontal bars. */
export function bars(rows, width, most = 1) {
  const left = 14 + LETTER * Math.max(...rows.map(([name]) => name.length)), room = Math.min(width, 560) - left - 70;
  const height = 22 * rows.length + 4;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": rows.map(([name, value]) => `${name}: ${shown(value)}`).join(", ") });
  rows.forEach(([name, value], i) => {
    drawing.append(svg("text", { x: 0, y: 22 * i + 16 }, name));
    drawing.append(svg("rect", { class: "dot c0", x: left, y: 22 * i + 5, width: Math.max(1, room * value / most), height: 13, rx: 2 }));
    drawing.append(svg("text", { class: "soft", x: left + 6 + room * value / most, y: 22 * i + 16 }, shown(value)));
  });
  return drawing;
}

/** A grid of numbers from 0 to `most` as a strip of colour: a column per place, a row per line; marks above columns. */
export function heat(lines, width, { marked = [], most, label }) {
  const places = lines[0]?.length ?? 0, height = Math.max(4, Math.min(14, Math.floor(280 / Math.max(lines.length, 1))));
  const step = width / Math.max(places, 1), tall = height * lines.length + 16;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${tall}`, width, height: tall, role: "img", "aria-label": label });
  for (const place of marked) drawing.append(svg("path", { class: "dot c1", d: `M ${(place + 0.5) * step - 4} 2 h 8 l -4 8 z` }));
  lines.forEach((line, i) => line.forEach((value, place) => {
    if (value / most > 0.01)
      drawing.append(svg("rect", { class: "dot c0", x: place * step, y: 14 + i * height, width: Math.max(step, 1), height, "fill-opacity": Math.min(1, value / most).toFixed(3) }));
  }));
  return drawing;
}

/** The attention of [CLS] as a strip of cells, one for each position, for every head; a click flips the bit of a cell. */
export function strips(answer, ones, flip) {
  const relevant = new Set(answer.relevant), every = answer.context <= CELLS;
  const places = every ? [...Array(answer.context).keys()] : answer.relevant;
  const most = Math.max(...answer.attention.flat(), ...answer.cls_attention);
  return answer.attention.map((shares, h) => {
    const cells = places.map((place) => cell(`x${place}`, shares[place], most, ones.has(place), relevant.has(place), () => flip(place)));
    if (!every) {
      const rest = shares.reduce((sum, share, place) => sum + (relevant.has(place) ? 0 : share), 0);
      cells.push(cell(`${answer.context - relevant.size} others`, rest, Math.max(most, rest), null, false, null));
    }
    cells.push(cell("[CLS]", answer.cls_attention[h], most, null, false, null));
    const title = answer.attention.length > 1 ? el("p", { class: "soft" }, `Head ${h + 1}`) : null;
    return el("div", { class: "head" }, title, el("div", { class: "strip" }, cells));
  });
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

/** An output as a point on a line, with the threshold between the two answers in the middle. */
export function gauge(answer, width) {
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
