/**
 * etcd's own lock service over gRPC: one HTTP/2 connection and one lease a client. Spoken by hand: its JSON gateway is
 * one more hop inside the server, and the npm client has no call for the lock service, only a lock of its own that fails
 * when somebody else holds it.
 */

import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { type Driver, type Held, nothing } from "./driver.ts";

/** Longer than any row takes: nothing renews it. A client that is cut keeps its locks for as long, so `drop` is no drop. */
const LEASE_S = 3_600;

/** Where 1 024 ask at once a busy machine makes it answer that requests have timed out. */
const CLIENTS_MAX = 128;

export const etcd: Driver = {
  name: "etcd",
  can: { shared: false, limit: false, drop: false, keys: true, quiet: true, ordered: false, clientsMax: CLIENTS_MAX },
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const session = connect(url);
      let isOver = false;
      session.on("error", broken);
      session.on("close", () => {
        if (!isOver) broken(new Error("etcd closed the connection"));
      });
      await once(session, "connect");
      const granted = await call(session, "etcdserverpb.Lease/LeaseGrant", [LEASE_S]);
      const lease = granted.get(2) as bigint;
      return {
        acquire: async (key): Promise<Held> => {
          const answer = await call(session, "v3lockpb.Lock/Lock", [key, lease]);
          const held = answer.get(2) as Buffer;
          // The revision at which the lock was granted: releasing makes the next one.
          const fence = Number(fieldsOf(answer.get(1) as Buffer).get(3));
          return { fence, release: async () => void (await call(session, "v3lockpb.Lock/Unlock", [held])) };
        },
        drop: () => undefined,
        close: async () => {
          isOver = true;
          const closed = once(session, "close");
          session.close();
          await closed;
        },
      };
    },
    close: nothing,
  }),
};

type Field = bigint | Buffer;

/** A call with its message's fields, numbered from 1. Resolves with those of the answer, by number. */
function call(
  session: ClientHttp2Session,
  path: string,
  fields: readonly (string | Buffer | number | bigint)[],
): Promise<ReadonlyMap<number, Field>> {
  const message = Buffer.concat(fields.map((value, index) => encode(index + 1, value)));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const stream = session.request({
    ":method": "POST",
    ":path": `/${path}`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const status = (headers: { readonly "grpc-status"?: string; readonly "grpc-message"?: string }): void => {
      const { "grpc-status": code = "0", "grpc-message": why = "" } = headers;
      if (code !== "0") reject(new Error(`${path}: ${code} ${why}`));
    };
    stream.on("response", status);
    stream.on("trailers", status);
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve(fieldsOf(Buffer.concat(chunks).subarray(5))));
    stream.on("error", reject);
    stream.end(Buffer.concat([head, message]));
  });
}

/** Of Protocol Buffers what these messages use: numbers, and bytes with their length. */
function encode(field: number, value: string | Buffer | number | bigint): Buffer {
  if (typeof value === "number" || typeof value === "bigint") {
    return Buffer.from([field << 3, ...varint(BigInt(value))]);
  }
  const bytes = Buffer.from(value as Buffer);
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(BigInt(bytes.length))]), bytes]);
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

function fieldsOf(message: Buffer): ReadonlyMap<number, Field> {
  const fields = new Map<number, Field>();
  let at = 0;
  const next = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(next());
    const value = next();
    if ((tag & 7) === 2) fields.set(tag >> 3, message.subarray(at, (at += Number(value))));
    else fields.set(tag >> 3, value);
  }
  return fields;
}
