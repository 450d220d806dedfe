/** What a server says that hands a lock over without a look at who asks: texts as long as Latchkey's own. */

const FENCE = 1_796_041_866_352_003;

export const GRANTED: string = JSON.stringify({
  t: "granted",
  id: "a100000",
  key: "bench:0:0",
  token: "AAAAAAAAAAAAAAAAAAAAAA",
  fence: FENCE,
  mode: "exclusive",
  reentrant: false,
  depth: 1,
});

/** To whoever let go and queued again in one message. */
export const RELEASED_AND_QUEUED: string = JSON.stringify([
  { t: "released", id: "r100000", depth: 0 },
  { t: "queued", id: "a100001", ticket: FENCE, position: 15 },
]);

/** Whether a message lets go. One that only queues gets no answer here. */
export function letsGo(text: string): boolean {
  return text.startsWith('[{"t":"release"') || text.startsWith('{"t":"release"');
}
