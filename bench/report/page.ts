/** One HTML file with everything in it: no script, no font, no link. */

import type { Results, Row } from "../harness/results.ts";
import type { Scenario } from "../scenarios.ts";
import { colorOf, isFloor } from "./colors.ts";
import { grants, handOffs, ratios, throughput, timeline } from "./plots.ts";
import { escape } from "./svg.ts";
import { cellsOf } from "./table.ts";

/** Pictures of each client are drawn for this many subjects at most. */
const PORTRAITS_MAX = 16;

export function page(results: Results): string {
  const { startedAt, commit, command, machine, rows, notes, rounds, sliceMs } = results;
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  const gibibytes = (machine.memoryBytes / 2 ** 30).toFixed(0);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Latchkey benchmark, ${escape(startedAt.slice(0, 16))}</title>
<style>${STYLE}</style>
<header><h1>Locks under contention</h1>
<p><code>${escape(command)}</code> · commit ${escape(commit)} · ${escape(startedAt.slice(0, 16).replace("T", " "))} UTC<br>
${escape(machine.processor)}, ${machine.cores} cores, ${gibibytes} GiB, ${escape(machine.system)} · ${escape(versions.join(", "))}<br>
Everything on loopback; clients and servers share the cores. ${rounds} rounds of ${sliceMs} ms, medians with their range.</p>
${notes.map((note) => `<p class="note">${escape(note)}</p>`).join("")}</header>
${overview(results)}
${results.scenarios.map((scenario) => section(scenario, rows)).join("\n")}
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

function section(scenario: Scenario, all: readonly Row[]): string {
  const rows = all.filter((row) => row.scenario === scenario.name);
  const valid = rows.filter((row) => row.figures !== undefined && row.invalid === undefined);
  const isHot = scenario.shape === "cycles" && scenario.keys !== "own";
  const plots = [
    figure("Time as a multiple of the floor", ratios(valid)),
    isHot ? figure("Hand-off: from the release to the next holder", handOffs(valid)) : "",
  ];
  const names = valid.map(({ subject }) => subject);
  return `<section><h2>${escape(scenario.name)}</h2>
${isHot ? legend(names) : ""}<div class="plots">${plots.join("")}</div>
${tableOf(scenario, valid)}${excuses(rows)}
${isHot && scenario.clients > 2 ? portraits(valid) : ""}</section>`;
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
:root{color-scheme:light;--ink:#1c1917;--soft:#78716c;--rule:#e7e5e4;--paper:#fafaf9}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1400px;padding:2rem 1.5rem 4rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{margin:0 0 .3rem;font-size:1.9rem;letter-spacing:-.02em}h2{margin:0 0 .6rem;font-size:1.25rem}h3{margin:0;font-size:.85rem;font-weight:600}
header p{margin:.3rem 0;color:var(--soft)}header code{color:var(--ink)}
.note{padding:.35rem .7rem;border-left:3px solid #d97706;background:#fffbeb;color:#78350f!important}
section{margin:1.4rem 0;padding:1.2rem 1.4rem;background:#fff;border:1px solid var(--rule);border-radius:10px}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:1.2rem;align-items:start}.wide{max-width:980px}
figure{margin:0}figcaption{margin-bottom:.3rem;font-weight:600;font-size:.9rem}
svg{display:block;width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .title{font-size:11.5px;fill:var(--ink)}svg .value{fill:var(--ink);font-weight:600}
.grid{stroke:var(--rule)}.range{stroke:var(--ink);stroke-width:1.4}
.table{overflow-x:auto;margin-top:1rem}table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.28rem .7rem;text-align:right;border-bottom:1px solid var(--rule)}th{color:var(--soft);font-weight:500}th:first-child,td:first-child{text-align:left;padding-left:0}
.floor td{color:var(--soft)}.excuses{color:#b91c1c;font-size:.85rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:0 0 .8rem;font-size:.82rem}
i{display:inline-block;width:14px;height:4px;margin-right:.45em;vertical-align:middle;border-radius:2px;background:var(--c)}
i.dashed{background:repeating-linear-gradient(90deg,var(--c) 0 4px,transparent 4px 6px)}
details{margin-top:1rem}summary{cursor:pointer;color:var(--soft);font-size:.88rem}
.portraits{display:grid;grid-template-columns:repeat(auto-fit,minmax(380px,1fr));gap:1rem 1.6rem;margin-top:.8rem}.portrait svg{max-width:520px}
footer{color:var(--soft);font-size:.85rem}
`;
