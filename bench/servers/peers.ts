/** The servers of the peers: as packaged, each with a folder of its own under the system's temporary one, on one kind of disk. */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inRepository } from "./paths.ts";
import { type BenchServer, freePort, startServer, temporaryFolder, type User } from "./server.ts";

export type PeerKind = "redis" | "upstash" | "postgres" | "etcd" | "zookeeper";

interface Peer {
  /** It does not outlive a scenario. */
  readonly isBrief?: boolean;
  /** Why it cannot be started here; undefined if it can. */
  whyMissing(): string | undefined;
  start(): Promise<BenchServer>;
}

export const PEER_SERVERS: Readonly<Record<PeerKind, Peer>> = {
  redis: { whyMissing: () => missing("redis-server"), start: startRedis },
  upstash: { whyMissing: () => missing("redis-server"), start: startUpstash },
  postgres: { whyMissing: whyNoPostgres, start: startPostgres },
  // Load generators are killed, their calls with them. etcd 3.4 keeps what some of those queued for, and then wakes nobody
  // any more who waits for any lock.
  etcd: { isBrief: true, whyMissing: () => missing("etcd"), start: startEtcd },
  zookeeper: {
    whyMissing: () => (existsSync(ZOOKEEPER) ? missing("java") : `no ZooKeeper ${SETUP}`),
    start: startZookeeper,
  },
};

const SETUP = "on this machine: npm run bench:setup";
const ZOOKEEPER = "/usr/share/java/zookeeper.jar";
/** Without it ZooKeeper logs nothing, not even that it is ready. */
const LOGGER = "/usr/share/java/slf4j-simple.jar";

async function startRedis(): Promise<BenchServer> {
  const port = await freePort();
  const settings = { bind: "127.0.0.1", port: `${port}`, save: "", appendonly: "no", maxclients: "10000" };
  return startServer({
    command: [
      programOf("redis-server") ?? "",
      ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    ],
    folder: temporaryFolder(),
    ready: /Ready to accept connections/,
    url: `redis://127.0.0.1:${port}`,
  });
}

/** A stand-in: the REST interface is ours, and runs in a process of its own in front of a real Redis. */
async function startUpstash(): Promise<BenchServer> {
  const redis = await startRedis();
  const token = "bench";
  try {
    const front = await startServer({
      command: [inRepository("node_modules/.bin/node"), inRepository("bench/servers/upstash.ts"), redis.url],
      env: { UPSTASH_TOKEN: token },
      folder: temporaryFolder(),
      ready: /http:\/\/127\.0\.0\.1:\d+/,
    });
    return {
      url: front.url.replace("//", `//:${token}@`),
      pid: front.pid,
      helperPids: redis.pid === undefined ? [] : [redis.pid],
      stop: async () => {
        await front.stop();
        await redis.stop();
      },
    };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

async function startEtcd(): Promise<BenchServer> {
  const folder = temporaryFolder();
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const settings = {
    "data-dir": join(folder, "data"),
    "listen-client-urls": url,
    "advertise-client-urls": url,
    "listen-peer-urls": peerUrl,
    "initial-advertise-peer-urls": peerUrl,
    "initial-cluster": `default=${peerUrl}`,
  };
  const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  return startServer({
    command: [programOf("etcd") ?? "", ...options],
    folder,
    ready: /serving insecure client requests|ready to serve client requests/,
    url,
  });
}

async function startZookeeper(): Promise<BenchServer> {
  const folder = temporaryFolder();
  const port = await freePort();
  const settings = {
    tickTime: 2000,
    dataDir: join(folder, "data"),
    clientPort: port,
    clientPortAddress: "127.0.0.1",
    maxClientCnxns: 0,
    "admin.enableServer": false,
  };
  const file = join(folder, "zoo.cfg");
  writeFileSync(
    file,
    Object.entries(settings)
      .map((pair) => `${pair.join("=")}\n`)
      .join(""),
  );
  return startServer({
    command: [
      programOf("java") ?? "",
      "-cp",
      `${ZOOKEEPER}:${LOGGER}`,
      "org.apache.zookeeper.server.ZooKeeperServerMain",
      file,
    ],
    folder,
    ready: /binding to port/,
    url: `zookeeper://127.0.0.1:${port}`,
  });
}

async function startPostgres(): Promise<BenchServer> {
  const port = await freePort();
  const user = isRoot() ? postgresUser() : undefined;
  const folder = temporaryFolder(user);
  const programs = postgresFolder() ?? "";
  const data = join(folder, "data");
  execFileSync(join(programs, "initdb"), ["-D", data, "-A", "trust", "-U", "bench"], {
    cwd: folder,
    stdio: "ignore",
    ...user,
  });
  const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: folder, max_connections: "200" };
  return startServer({
    command: [
      join(programs, "postgres"),
      "-D",
      data,
      "-p",
      `${port}`,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    folder,
    ready: /ready to accept connections/,
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    user,
  });
}

function missing(program: string): string | undefined {
  return programOf(program) === undefined ? `no ${program} ${SETUP}` : undefined;
}

function programOf(name: string): string | undefined {
  return ["/usr/bin", "/usr/local/bin"].map((folder) => join(folder, name)).find((path) => existsSync(path));
}

function whyNoPostgres(): string | undefined {
  if (postgresFolder() === undefined) return `no postgres ${SETUP}`;
  if (isRoot() && postgresUser() === undefined) return "postgres refuses to run as root, and there is no user postgres";
  return undefined;
}

function postgresFolder(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const folders = readdirSync(root).map((version) => join(root, version, "bin"));
  return folders.find((folder) => existsSync(join(folder, "postgres")));
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function postgresUser(): User | undefined {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((candidate) => candidate.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}
