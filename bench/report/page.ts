/** One HTML file with everything in it: no script, no font, no link. */

import { placing } from "../harness/machine.ts";
import type { Results, Row } from "../harness/results.ts";
import { ownFloorOf, type Scenario } from "../scenarios.ts";
import { colorOf, isFloor } from "./colors.ts";
import { type Distribution, distributions, grants, overTime, ratios, throughput, timeline } from "./plots.ts";
import { clock, verdictWords } from "./soak.ts";
import { escape } from "./svg.ts";
import { cellsOf } from "./table.ts";

/** Pictures of each client are drawn for this many subjects at most. */
const PORTRAITS_MAX = 16;

const HAND_OFFS = "share of the hand-offs";
const RANGE = " (line: range over the rounds)";

export function page(results: Results): string {
  const { startedAt, commit, command, machine, rows, notes, rounds, sliceMs } = results;
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  const [soaked] = rows.flatMap(({ soak }) => soak?.samples ?? []);
  const turns =
    soaked === undefined
      ? `${rounds} rounds of ${sliceMs} ms, medians with their range.`
      : `A mixed load, looked at every ${clock(soaked.atMs)}.`;
  const gibibytes = (machine.memoryBytes / 2 ** 30).toFixed(0);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Latchkey benchmark, ${escape(startedAt.slice(0, 16))}</title>
<style>${STYLE}</style>
<header><h1>Locks under contention</h1>
<p><code>${escape(command)}</code> · commit ${escape(commit)} · ${escape(startedAt.slice(0, 16).replace("T", " "))} UTC<br>
${escape(machine.processor)}, ${machine.cores} cores, ${gibibytes} GiB, ${escape(machine.system)} · ${escape(versions.join(", "))}<br>
Everything on loopback; ${placing(machine)}. ${turns}</p>
${notes.map((note) => `<p class="note">${escape(note)}</p>`).join("")}</header>
${overview(results)}
${sections(results)}
<footer>A multiple of the floor is taken slice by slice, the floor right before or after its subject. How to read this, and what it does not show: bench/README.md.</footer>
</html>
`;
}

function overview({ rows, scenarios }: Results): string {
  const drawn = throughput(rows, scenarios);
  if (drawn === "") return "";
  const names = [
    ...new Set(rows.filter(({ scenario }) => scenario.startsWith("hot key ")).map(({ subject }) => subject)),
  ];
  return `<section><h2>Throughput against clients</h2>${legend(names)}<div class="wide">${drawn}</div></section>`;
}

/** Those that differ only in how the holder goes stand together. */
function sections({ scenarios, rows }: Results): string {
  const drops = scenarios.filter(({ shape }) => shape === "drop");
  return scenarios
    .map((scenario) => {
      if (scenario.shape !== "drop") return section(scenario, rows);
      return scenario === drops[0] ? dropSection(drops, rows) : "";
    })
    .join("\n");
}

function section(scenario: Scenario, all: readonly Row[]): string {
  const rows = all.filter((row) => row.scenario === scenario.name);
  const valid = rows.filter(isValid);
  const { shape, keys, clients } = scenario;
  const isHot = shape === "cycles" && keys !== "own";
  const drawn = [
    figure(`Time ÷ ${ownFloorOf(scenario) ?? "the floor"}${RANGE}`, ratios(valid)),
    ...pictures(scenario, valid),
  ];
  const names = valid.map(({ subject }) => subject);
  const hasLines = isHot || shape === "crash" || shape === "open" || shape === "soak";
  return `<section><h2>${escape(scenario.name)}</h2>
${hasLines ? legend(names) : ""}<div class="plots">${drawn.join("")}</div>
${shape === "soak" ? verdicts(valid) : tableOf(scenario, valid)}${excuses(rows)}
${(isHot && clients > 2) || shape === "crash" ? portraits(valid) : ""}</section>`;
}

function pictures({ shape, keys }: Scenario, rows: readonly Row[]): string[] {
  const lines = (of: "handOff" | "cutHandOff" | "wait", isDashed?: boolean): Distribution[] =>
    rows.map(({ subject, figures }) => ({ subject, summary: figures?.[of], isDashed: isDashed ?? isFloor(subject) }));
  switch (shape) {
    case "cycles":
      if (keys === "own") return [];
      return [figure("Hand-off: from the release to the next holder", distributions(HAND_OFFS, lines("handOff")))];
    case "crash": {
      const both = [...lines("cutHandOff"), ...lines("handOff", true)];
      return [figure("Hand-off: from a crash, and (dashed) from a release", distributions(HAND_OFFS, both))];
    }
    case "open":
      return [figure("From the planned time to the grant", distributions("share of the arrivals", lines("wait")))];
    case "soak":
      return soakPictures(rows);
    case "drain":
    case "drop":
    case "storm":
    case "reconnect":
      return [];
  }
}

function soakPictures(rows: readonly Row[]): string[] {
  const memory = overTime(rows, "MiB", ({ residentBytes }) => residentBytes && residentBytes / 2 ** 20);
  const late = overTime(rows, "ms, p99", ({ lateness }) => (lateness === null ? undefined : lateness.p99 / 1e6));
  return [
    figure("Resident memory of the server", memory),
    figure("From the end of a lease to the next holder", late),
    figure(
      "Cycles a second",
      overTime(rows, "cycles/s", ({ cyclesPerSecond }) => cyclesPerSecond),
    ),
  ];
}

function dropSection(scenarios: readonly Scenario[], all: readonly Row[]): string {
  const parts = scenarios.map((scenario) => {
    const rows = all.filter((row) => row.scenario === scenario.name);
    const valid = rows.filter(isValid);
    const title = scenario.name.split(", ").at(-1) ?? scenario.name;
    return {
      picture: figure(`${title} ÷ ${ownFloorOf(scenario) ?? ""}${RANGE}`, ratios(valid)),
      table: `<h3 class="part">${escape(title)}</h3>${tableOf(scenario, valid)}${excuses(rows)}`,
    };
  });
  return `<section><h2>drop → next</h2><div class="plots">${parts.map(({ picture }) => picture).join("")}</div>
${parts.map(({ table }) => table).join("")}</section>`;
}

function verdicts(rows: readonly Row[]): string {
  const items = rows.map((row) => `<li>${dot(row.subject)}${escape(row.subject)}: ${escape(verdictWords(row))}</li>`);
  return `<ul class="verdicts">${items.join("")}</ul>`;
}

function isValid({ figures, invalid }: Row): boolean {
  return figures !== undefined && invalid === undefined;
}

function portraits(rows: readonly Row[]): string {
  const shown = rows.filter(({ subject }) => !isFloor(subject)).slice(0, PORTRAITS_MAX);
  const items = shown.map(
    (row) =>
      `<div class="portrait"><h3>${dot(row.subject)}${escape(row.subject)}</h3>${grants(row)}${timeline(row)}</div>`,
  );
  return `<details open><summary>Grants of each client, and who held when</summary><div class="portraits">${items.join("")}</div></details>`;
}

function tableOf(scenario: Scenario, rows: readonly Row[]): string {
  const { titles, lines } = cellsOf(scenario, rows);
  const head = titles.map((title) => `<th>${escape(title)}</th>`).join("");
  const body = lines.map((cells, index) => {
    const subject = rows[index]?.subject ?? "";
    const tds = cells.map((cell, column) => `<td>${column === 0 ? dot(subject) : ""}${escape(cell)}</td>`);
    return `<tr${isFloor(subject) ? ' class="floor"' : ""}>${tds.join("")}</tr>`;
  });
  return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

function excuses(rows: readonly Row[]): string {
  const texts = rows.flatMap(({ subject, skipped, invalid }) => {
    if (skipped !== undefined) return [`${subject}: skipped, ${skipped}`];
    return invalid === undefined ? [] : [`${subject}: INVALID, ${invalid}`];
  });
  return texts.length === 0 ? "" : `<p class="excuses">${texts.map(escape).join("<br>")}</p>`;
}

function legend(names: readonly string[]): string {
  return `<p class="legend">${names.map((name) => `<span>${dot(name)}${escape(name)}</span>`).join("")}</p>`;
}

function dot(subject: string): string {
  return `<i class="${isFloor(subject) ? "dashed" : ""}" style="--c:${colorOf(subject)}"></i>`;
}

function figure(title: string, drawn: string): string {
  return drawn === "" ? "" : `<figure><figcaption>${escape(title)}</figcaption>${drawn}</figure>`;
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c1917;--soft:#6b645e;--rule:#e7e5e4;--paper:#fafaf9;--card:#fff;--warn:#78350f;--warn-paper:#fffbeb;--bad:#b91c1c;--marks:none}
@media (prefers-color-scheme:dark){:root{--ink:#e7e5e4;--soft:#a8a29e;--rule:#3a3633;--paper:#161412;--card:#1f1c1a;--warn:#fcd34d;--warn-paper:#33270e;--bad:#fca5a5;--marks:invert(.88) hue-rotate(180deg) saturate(1.4)}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1400px;padding:2rem 1.5rem 4rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{margin:0 0 .3rem;font-size:1.9rem;letter-spacing:-.02em}h2{margin:0 0 .6rem;font-size:1.25rem}h3{margin:0;font-size:.85rem;font-weight:600}
header p{margin:.3rem 0;color:var(--soft);overflow-wrap:anywhere}header code{color:var(--ink)}
.note{padding:.35rem .7rem;border-left:3px solid #d97706;background:var(--warn-paper);color:var(--warn)!important}
section{margin:1.4rem 0;padding:1.2rem 1.4rem;background:var(--card);border:1px solid var(--rule);border-radius:10px}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:1.2rem;align-items:start}.wide{max-width:980px}
figure{margin:0}figcaption{margin-bottom:.3rem;font-weight:600;font-size:.9rem}
svg{display:block;width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .title{font-size:11.5px;fill:var(--ink)}svg .value{fill:var(--ink);font-weight:600}
.marks,i{filter:var(--marks)}.grid{stroke:var(--rule)}.range{stroke:var(--ink);stroke-width:1.4}
.table{overflow-x:auto;margin-top:1rem}table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.28rem .7rem;text-align:right;border-bottom:1px solid var(--rule)}th{color:var(--soft);font-weight:500}th:first-child,td:first-child{position:sticky;left:0;background:var(--card);text-align:left;padding-left:0}
.part{margin-top:1.2rem}.part+.table{margin-top:.2rem}.verdicts{margin:1rem 0 0;padding:0;list-style:none;font-size:.88rem}
.floor td{color:var(--soft)}.excuses{color:var(--bad);font-size:.85rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:0 0 .8rem;font-size:.82rem}
i{display:inline-block;width:14px;height:4px;margin-right:.45em;vertical-align:middle;border-radius:2px;background:var(--c)}
i.dashed{background:repeating-linear-gradient(90deg,var(--c) 0 4px,transparent 4px 6px)}
details{margin-top:1rem}summary{cursor:pointer;color:var(--soft);font-size:.88rem}
.portraits{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(380px,100%),1fr));gap:1rem 1.6rem;margin-top:.8rem}
footer{color:var(--soft);font-size:.85rem}
@media (max-width:600px){body{padding:1.2rem .6rem 3rem}section{padding:.9rem .7rem}svg text,svg .title{font-size:17px}.portrait svg text{font-size:12px}}
`;
