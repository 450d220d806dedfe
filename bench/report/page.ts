/** One HTML file with everything in it: no script, no font, no link. */

import { grouped } from "../harness/groups.ts";
import { placing } from "../harness/machine.ts";
import type { Results, Row } from "../harness/results.ts";
import { ownFloorOf, type Scenario } from "../scenarios.ts";
import { allFiguresOf } from "./all-figures.ts";
import { type Level, ratios, shares } from "./bars.ts";
import { colorOf, isFloor } from "./colors.ts";
import { type Distribution, distributions, overTime, throughput } from "./lines.ts";
import { panelsOf } from "./panels.ts";
import { leftOutLine } from "./plan.ts";
import { grants, timeline } from "./portraits.ts";
import { clock, verdictWords } from "./soak.ts";
import { STYLE } from "./style.ts";
import { escape } from "./svg.ts";
import { type Cells, cellsOf } from "./table.ts";
import { targetsOf } from "./targets.ts";
import { ratio } from "./words.ts";

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

/** What most people came for. */
function overview(results: Results): string {
  const { rows, scenarios } = results;
  const hot = scenarios.filter(({ name }) => name.startsWith("hot key "));
  const measured = rows.filter((row) => hot.some(({ name }) => name === row.scenario) && isValid(row));
  // With one size alone there is nothing to compare.
  const names = [...grouped(measured, ({ subject }) => subject)].flatMap(([name, same]) =>
    same.length > 1 ? [name] : [],
  );
  const lines = panelsOf(names).map(({ title, subjects }) =>
    figure(titled("Throughput", title), throughput(rows, scenarios, subjects)),
  );
  // Where there are many the differences are largest; those who poll are not in the largest.
  const crowd = hot.find(({ clients }) => clients === 128) ?? hot.at(-1);
  const fair = figure(
    `Fairness: Jain's index, ${crowd?.clients} clients on one key`,
    shares(jains(rows, crowd), "1 is fair"),
  );
  const line = scenarios.find(({ shape }) => shape === "drain");
  const drained = figure(
    `Until ${line?.clients} in line have all had a turn ÷ the floor`,
    ratios(rows.filter((row) => row.scenario === line?.name && isValid(row))),
  );
  const drawn = [...lines, drained, fair].join("");
  const targets = targetsOf(results);
  const aims = targets.lines.length === 0 ? "" : tableOf(targets);
  return drawn + aims === "" ? "" : `<section><h2>At a glance</h2><div class="plots">${drawn}</div>${aims}</section>`;
}

function jains(rows: readonly Row[], scenario: Scenario | undefined): readonly Level[] {
  return rows.flatMap((row) => {
    const fairness = row.figures?.fairness;
    if (row.scenario !== scenario?.name || isFloor(row.subject) || !isValid(row) || !fairness) return [];
    if (fairness.jain === null) return [];
    const starved = fairness.starved > 0 ? `, ${fairness.starved} starved` : "";
    return [{ subject: row.subject, value: fairness.jain, text: `${ratio(fairness.jain)}${starved}` }];
  });
}

/** Those that differ only in how the holder goes stand together. */
function sections({ scenarios, rows, scenarioTimes = [] }: Results): string {
  const drops = scenarios.filter(({ shape }) => shape === "drop");
  const portrayed = scenarios.find(hasPortraits);
  return scenarios
    .map((scenario) => {
      const times = scenarioTimes.find((each) => each.scenario === scenario.name);
      const left = times && leftOutLine(times);
      if (scenario.shape !== "drop") return section(scenario, rows, left, scenario === portrayed);
      return scenario === drops[0] ? dropSection(drops, rows) : "";
    })
    .join("\n");
}

function section(scenario: Scenario, all: readonly Row[], leftOut: string | undefined, isOpen: boolean): string {
  const rows = all.filter((row) => row.scenario === scenario.name);
  const valid = rows.filter(isValid);
  const { shape } = scenario;
  const drawn = [
    figure(`Time ÷ ${ownFloorOf(scenario) ?? "the floor"}${RANGE}`, ratios(valid)),
    ...pictures(scenario, valid),
  ];
  const more = allFiguresOf(scenario, valid);
  return `<section><h2>${escape(scenario.name)}</h2>
<div class="plots">${drawn.join("")}</div>
${shape === "soak" ? verdicts(valid) : tableOf(cellsOf(scenario, valid), valid)}${excuses(rows)}
${leftOut === undefined ? "" : `<p class="left-out">${escape(leftOut)}</p>`}
${more === undefined ? "" : details("All figures", false, tableOf(more, valid))}
${hasPortraits(scenario) ? details("Grants of each client, and who held when", isOpen, portraits(valid)) : ""}</section>`;
}

function hasPortraits({ shape, keys, clients }: Scenario): boolean {
  return (shape === "cycles" && keys !== "own" && clients > 2) || shape === "crash";
}

function pictures({ shape, keys }: Scenario, rows: readonly Row[]): string[] {
  const lines = (of: "handOff" | "cutHandOff" | "wait", isDashed?: boolean): Distribution[] =>
    rows.map(({ subject, figures }) => ({ subject, summary: figures?.[of], isDashed: isDashed ?? isFloor(subject) }));
  switch (shape) {
    case "cycles":
      if (keys === "own") return [];
      return panelsOf(rows.map(({ subject }) => subject)).map(({ title, subjects }) => {
        const shown = lines("handOff").filter(({ subject }) => subjects.includes(subject));
        return figure(titled("Hand-off", title), distributions(HAND_OFFS, shown));
      });
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
      table: `<h3 class="part">${escape(title)}</h3>${tableOf(cellsOf(scenario, valid), valid)}${excuses(rows)}`,
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
  const items = rows
    .filter(({ subject }) => !isFloor(subject))
    .map((row) => {
      const name = `<h3>${dot(row.subject)}${escape(row.subject)}</h3>`;
      return `<div class="portrait">${name}<div class="pair">${grants(row)}${timeline(row)}</div></div>`;
    });
  return `<div class="portraits">${items.join("")}</div>`;
}

function details(title: string, isOpen: boolean, content: string): string {
  return `<details${isOpen ? " open" : ""}><summary>${title}</summary>${content}</details>`;
}

/** `rows`: whose lines they are, where they are somebody's. */
function tableOf({ titles, lines }: Cells, rows?: readonly Row[]): string {
  const head = titles.map((title) => `<th>${escape(title)}</th>`).join("");
  const body = lines.map((cells, index) => {
    const subject = rows?.[index]?.subject;
    const mark = subject === undefined ? "" : dot(subject);
    const tds = cells.map((cell, column) => `<td>${column === 0 ? mark : ""}${escape(cell)}</td>`);
    return `<tr${subject !== undefined && isFloor(subject) ? ' class="floor"' : ""}>${tds.join("")}</tr>`;
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

function titled(title: string, panel: string): string {
  return panel === "" ? title : `${title}: ${panel}`;
}

function dot(subject: string): string {
  return `<i class="${isFloor(subject) ? "dashed" : ""}" style="--c:${colorOf(subject)}"></i>`;
}

function figure(title: string, drawn: string): string {
  return drawn === "" ? "" : `<figure><figcaption>${escape(title)}</figcaption>${drawn}</figure>`;
}
