/**
 * A client and a server on two networks, with a router between that can stop forwarding: whatever is cut there vanishes
 * without a word, as a laptop does whose lid is closed. Linux namespaces; they need root.
 */

import { execFileSync } from "node:child_process";
import { afterAll } from "vitest";

const PROGRAM = "ip";
const SERVER_ADDRESS = "10.213.1.1";
const CLIENT_ADDRESS = "10.213.2.1";
const ROUTER_ADDRESSES = { server: "10.213.1.2", client: "10.213.2.2" } as const;

const made = new Set<Network>();
let count = 0;

// A test that ran out of time never gets to the end of its `using`.
afterAll(() => {
  for (const network of made) network[Symbol.dispose]();
});

export class Network implements Disposable {
  readonly serverAddress = SERVER_ADDRESS;
  readonly #names: { readonly server: string; readonly router: string; readonly client: string };

  constructor() {
    count += 1;
    const name = (place: string): string => `latchkey-${process.pid}-${count}-${place}`;
    this.#names = { server: name("server"), router: name("router"), client: name("client") };
    made.add(this);
    try {
      this.#build();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** What to put before a command, to run it in this place. */
  at(place: "server" | "client"): readonly string[] {
    return [PROGRAM, "netns", "exec", this.#names[place]];
  }

  /** Neither end hears anything of the other from now on, and neither is told. */
  cut(): void {
    this.#ip("router", `route add blackhole ${SERVER_ADDRESS}/32`);
    this.#ip("router", `route add blackhole ${CLIENT_ADDRESS}/32`);
  }

  heal(): void {
    this.#ip("router", `route del blackhole ${SERVER_ADDRESS}/32`);
    this.#ip("router", `route del blackhole ${CLIENT_ADDRESS}/32`);
  }

  [Symbol.dispose](): void {
    made.delete(this);
    for (const name of Object.values(this.#names)) {
      try {
        run(`netns del ${name}`);
      } catch {
        // It was never made: the machine does not allow it, and that was told where it was tried.
      }
    }
  }

  #build(): void {
    for (const name of Object.values(this.#names)) run(`netns add ${name}`);
    this.#connect("server", SERVER_ADDRESS);
    this.#connect("client", CLIENT_ADDRESS);
    execFileSync(PROGRAM, ["netns", "exec", this.#names.router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
  }

  #connect(place: "server" | "client", address: string): void {
    const device = `to-${place}`;
    run(`link add uplink netns ${this.#names[place]} type veth peer name ${device} netns ${this.#names.router}`);
    this.#ip(place, "link set lo up");
    this.#ip(place, `addr add ${address}/24 dev uplink`);
    this.#ip(place, "link set uplink up");
    this.#ip("router", `addr add ${ROUTER_ADDRESSES[place]}/24 dev ${device}`);
    this.#ip("router", `link set ${device} up`);
    this.#ip(place, `route add default via ${ROUTER_ADDRESSES[place]}`);
  }

  #ip(place: "server" | "router" | "client", command: string): void {
    run(`-n ${this.#names[place]} ${command}`);
  }
}

/** Why this machine can have no such network, or undefined. */
export function networkImpossible(): string | undefined {
  const name = `latchkey-${process.pid}-probe`;
  try {
    run(`netns add ${name}`);
    run(`netns del ${name}`);
    return undefined;
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    return `no network namespaces: ${(stderr || message).trim()}`;
  }
}

function run(command: string): void {
  execFileSync(PROGRAM, command.split(" "), { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] });
}
