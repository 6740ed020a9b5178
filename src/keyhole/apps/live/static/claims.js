// Claims: a card for each, with its finding where there is one.

import { ask, attempt, el, facts, fill, remember, remembered } from "./lab.js";
import { chart } from "./draw.js";

const TONES = { holds: "good", "holds with a caveat": "mild", "fails here": "bad" };
const UNMEASURED = ["not measured here", "not finished"];
const WAYS = { measurement: "measured", replication: "a replication", identity: "proved: an identity", inequality: "proved: an inequality" };
const KINDS = new Set(["lines", "curves", "points"]);
const choice = document.querySelector("[name=show]");
let answer = null;

function wanted({ claim, outcome }) {
  if (choice.value === "all") return true;
  if (choice.value === "fails here") return outcome?.verdict === "fails here";
  return (choice.value === "proved") === (claim.kind === "identity" || claim.kind === "inequality");
}

function card({ claim, outcome }) {
  const verdict = outcome ? outcome.verdict : "not looked at yet";
  const rows = [["prediction", claim.prediction]];
  if (outcome) rows.push(["interval", outcome.interval], ...outcome.caveats.map((caveat) => ["caveat", caveat]));
  rows.push(["would make it fail", claim.could_fail], ["source", `${claim.source} (${claim.kind})`]);
  const figures = (outcome?.figures ?? []).filter((figure) => KINDS.has(figure.kind)).map((figure) => el("div", {}, el("p", {}, figure.title), el("p", { class: "soft" }, figure.subtitle), chart(figure, 640)));
  return el("article", { id: claim.id }, el("h4", {}, claim.title), el("p", {}, el("span", { class: `verdict ${TONES[verdict] ?? "soft"}` }, verdict), el("span", { class: "soft" }, ` (${WAYS[claim.kind] ?? claim.kind})`)), outcome ? el("p", {}, outcome.measurement) : null, claim.shipped ? el("p", { class: "soft" }, `A long run, shipped with keyhole, not of this machine: ${claim.shipped}.`) : null, el("details", {}, el("summary", {}, "Statement, prediction, interval, figures"), el("p", {}, claim.statement), facts(rows), figures));
}

function show() {
  remember({ show: choice.value === "all" ? "" : choice.value });
  const chosen = new Map(answer.claims.filter(wanted).map((each) => [each.claim.id, each]));
  fill("claims", answer.story.flatMap((part) => {
    const sentences = part.sentences.map((sentence) => [sentence, [...sentence.claims, ...sentence.besides].filter((name) => chosen.has(name))]).filter(([, names]) => names.length);
    return sentences.length ? [el("h2", { class: "part" }, part.title), part.paper ? el("p", { class: "soft" }, `${part.paper.authors}, ${part.paper.year}: ${part.paper.title}`) : null,
      ...sentences.flatMap(([sentence, names]) => [sentence.says ? el("h3", { class: "sentence" }, sentence.says, el("span", { class: "soft" }, ` (${sentence.place})`)) : null, ...names.map((name) => card(chosen.get(name)))])].filter(Boolean) : [];
  }));
  const found = answer.claims.filter((each) => each.outcome && !UNMEASURED.includes(each.outcome.verdict));
  const holds = found.filter((each) => each.outcome.verdict.startsWith("holds")).length;
  document.getElementById("says").textContent = answer.report
    ? `${found.length} of ${answer.claims.length} claims were looked at on this machine; ${holds} hold.`
    : "No claim was looked at on this machine yet. At a terminal, `keyhole reproduce` looks at all of them.";
  fill("not-covered", facts(answer.not_covered));
}

choice.value = remembered().show ?? "all";
choice.addEventListener("change", show);
attempt(async () => { answer = await ask("claims", "claims", {}); show(); });
