/** How a report looks: light and dark, wide and narrow. */

export const STYLE: string = `
:root{color-scheme:light dark;--ink:#1c1917;--soft:#6b645e;--rule:#e7e5e4;--paper:#fafaf9;--card:#fff;--warn:#78350f;--warn-paper:#fffbeb;--bad:#b91c1c;--marks:none}
@media (prefers-color-scheme:dark){:root{--ink:#e7e5e4;--soft:#a8a29e;--rule:#3a3633;--paper:#161412;--card:#1f1c1a;--warn:#fcd34d;--warn-paper:#33270e;--bad:#fca5a5;--marks:invert(.88) hue-rotate(180deg) saturate(1.4)}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1400px;padding:2rem 1.5rem 4rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{margin:0 0 .3rem;font-size:1.9rem;letter-spacing:-.02em}h2{margin:0 0 .6rem;font-size:1.25rem}h3{margin:0;font-size:.85rem;font-weight:600}
header p{margin:.3rem 0;color:var(--soft);overflow-wrap:anywhere}header code{color:var(--ink)}
.note{padding:.35rem .7rem;border-left:3px solid #d97706;background:var(--warn-paper);color:var(--warn)!important}
section{margin:1.4rem 0;padding:1.2rem 1.4rem;background:var(--card);border:1px solid var(--rule);border-radius:10px}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:1.2rem;align-items:start}
figure{margin:0}figcaption{margin-bottom:.3rem;font-weight:600;font-size:.9rem}
svg{display:block;width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .title{font-size:11.5px;fill:var(--ink)}svg .value{fill:var(--ink);font-weight:600}
.marks,i{filter:var(--marks)}.grid{stroke:var(--rule)}.range{stroke:var(--ink);stroke-width:1.4}
.table{overflow-x:auto;margin-top:1rem}table{border-collapse:collapse;font-size:.78rem;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.26rem .46rem;text-align:right;border-bottom:1px solid var(--rule)}th{color:var(--soft);font-weight:500}th:first-child,td:first-child{position:sticky;left:0;background:var(--card);text-align:left;padding-left:0}
.part{margin-top:1.2rem}.part+.table{margin-top:.2rem}.verdicts{margin:1rem 0 0;padding:0;list-style:none;font-size:.88rem}
.floor td{color:var(--soft)}.excuses{color:var(--bad);font-size:.85rem}
.left-out{margin:.6rem 0 0;color:var(--soft);font-size:.82rem}
i{display:inline-block;width:14px;height:4px;margin-right:.45em;vertical-align:middle;border-radius:2px;background:var(--c)}
i.dashed{background:repeating-linear-gradient(90deg,var(--c) 0 4px,transparent 4px 6px)}
details{margin-top:1rem}summary{cursor:pointer;color:var(--soft);font-size:.88rem}
.portraits{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(560px,100%),1fr));gap:.6rem 1.6rem;margin-top:.8rem}.pair{display:grid;grid-template-columns:1fr 2fr;gap:.4rem}
footer{color:var(--soft);font-size:.85rem}
@media (max-width:600px){body{padding:1.2rem .6rem 3rem}section{padding:.9rem .7rem}svg text,svg .title{font-size:17px}svg .name{font-size:13px}.portrait svg text{font-size:12px}}
`;
