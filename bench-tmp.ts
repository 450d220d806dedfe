import { Host } from "/work/main/src/host/host.ts";
import { createMint } from "/work/main/src/host/mint.ts";
import { systemClock } from "/work/main/src/host/clock.ts";
import { createAlarm } from "/work/main/src/host/alarm.ts";
import { createMemoryStore } from "/work/main/src/stores/memory.ts";
let host: Host; const alarm = createAlarm(systemClock, () => host.woken());
host = new Host({ clock: systemClock, alarm, mint: createMint(), store: createMemoryStore(systemClock), onError: console.error }, {ratePerSecond: 1e9});
let last = ""; 
const sock = (id: string, on: (t: string)=>void) => ({ id, buffered: 0, send(t: string){ on(t); return true }, close(c:number,r:string){ console.log("closed",c,r)} });
const a = sock("a", (t)=>{ last = t; });
host.opened(a); host.message(a, '{"t":"hello","v":1}');
const N = 300000;
for (let round=0; round<3; round++){
 const t0=performance.now();
 for (let i=0;i<N;i++){ host.message(a, `{"t":"acquire","id":"a${round}-${i}","key":"k"}`); const tok = /"token":"([^"]+)"/.exec(last)![1]; host.message(a, `{"t":"release","id":"r${i}","key":"k","token":"${tok}"}`); }
 const t=performance.now()-t0; console.log("acquire+release pair ns", (t*1e6/N).toFixed(0));
}
let n=0; const t0=performance.now();
for (let i=0;i<20000;i++){ const r=await host.fetch(new Request("http://localhost/v1/latch/h/acquire",{method:"POST",body:'{"ttl":10000}'})); const {token}=await r.json() as any; await host.fetch(new Request("http://localhost/v1/latch/h/release",{method:"POST",body:JSON.stringify({token})})); n++; }
console.log("http pair µs", ((performance.now()-t0)*1000/n).toFixed(1));
process.exit(0);
