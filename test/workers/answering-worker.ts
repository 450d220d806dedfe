/**
 * A Worker whose answers go out when it is told to, by the product's delivery but without its patience: as on a machine so busy that the
 * time to notice a broken connection is over before anybody looked at it.
 */

import { deliver } from "../../src/workers/delivery.ts";

const counts = { waiting: 0, goes: 0 };
const told: boolean[] = [];

const status = (): Response => Response.json({ waiting: counts.waiting, told });

export default {
  async fetch(request: Request): Promise<Response> {
    switch (new URL(request.url).pathname) {
      case "/status":
        return status();
      case "/go":
        counts.goes += 1;
        return status();
      default:
        return answer();
    }
  },
};

async function answer(): Promise<Response> {
  const before = counts.goes;
  counts.waiting += 1;
  // Another request's promise cannot be waited for in a Worker.
  while (counts.goes === before) await new Promise((resolve) => setTimeout(resolve, 1));
  counts.waiting -= 1;
  const confirm = async (isDelivered: boolean): Promise<boolean> => {
    told.push(isDelivered);
    return isDelivered;
  };
  return deliver(200, new Headers(), '{"status":"acquired"}', confirm, 0);
}
