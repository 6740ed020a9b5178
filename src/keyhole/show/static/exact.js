// Arithmetic that encloses: an interval [low, high] of integers stands for numbers times 2^PLACES, and is rounded outward.

const PLACES = 192n;
const ONE = 1n << PLACES;
const HALVINGS = 16n, TERMS = 24n; // of the exponential

export const down = (value) => value >> PLACES;
export const up = (value) => -(-value >> PLACES);
const least = (...values) => values.reduce((a, b) => (b < a ? b : a));
const largest = (...values) => values.reduce((a, b) => (b > a ? b : a));

export const ZERO = [0n, 0n], UNIT = [ONE, ONE];
export const add = (x, y) => [x[0] + y[0], x[1] + y[1]];
export const negate = (x) => [-x[1], -x[0]];
export const relu = (x) => [largest(x[0], 0n), largest(x[1], 0n)];
export const hull = (x, y) => [least(x[0], y[0]), largest(x[1], y[1])];
export const whole = (count) => [BigInt(count) * ONE, BigInt(count) * ONE];

export function times(x, y) {
  const products = [x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1]];
  return [down(least(...products)), up(largest(...products))];
}

/** A quotient; the divisor is positive. */
export function over(x, y) {
  const floor = (a, b) => { const q = (a << PLACES) / b; return a < 0n && q * b !== a << PLACES ? q - 1n : q; };
  const ceiling = (a, b) => -floor(-a, b);
  return [floor(x[0], x[0] < 0n ? y[0] : y[1]), ceiling(x[1], x[1] < 0n ? y[1] : y[0])];
}

/** A double as it is stored, m · 2^e. */
export function exactly(text) {
  const number = Number(text);
  if (String(text).trim() === "" || !Number.isFinite(number)) throw new Error(`"${text}" is not a number`);
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, number);
  const word = bits.getBigUint64(0), exponent = (word >> 52n) & 2047n, fraction = word & ((1n << 52n) - 1n);
  const size = exponent ? fraction | (1n << 52n) : fraction, shift = (exponent || 1n) - 1075n + PLACES;
  const signed = word >> 63n ? -size : size;
  return shift >= 0n ? [signed << shift, signed << shift] : [signed >> -shift, -(-signed >> -shift)];
}

/** e^x for x ≤ 0: the series at x / 2^16, whose remainder is less than its last term, then 16 squarings. */
export function exponential(x) {
  return [exponentialAt(x[0])[0], exponentialAt(x[1])[1]];
}

function exponentialAt(value) {
  if (value > 0n) throw new Error("an exponent is positive");
  if (value < -(ONE << 8n)) return [0n, 1n]; // e^-256 < 2^-192
  const small = [value >> HALVINGS, (value >> HALVINGS) + 1n];
  let sum = UNIT, term = UNIT;
  for (let n = 1n; n <= TERMS; n += 1n) {
    term = times(term, small);
    term = [term[0] / n - 1n, term[1] / n + 1n];
    sum = add(sum, term);
  }
  const rest = largest(-term[0], term[1]);
  let power = [largest(sum[0] - rest, 0n), sum[1] + rest];
  for (let n = 0n; n < HALVINGS; n += 1n) power = times(power, power);
  return power;
}

/** A lower bound as text with so many digits after the point, rounded down; an upper one is rounded up. */
export function decimal(value, digits = 15, round = down) {
  const scaled = round(value * 10n ** BigInt(digits)), text = String(scaled < 0n ? -scaled : scaled).padStart(digits + 1, "0");
  return `${scaled < 0n ? "−" : ""}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
