/** Addresses to listen on. */

/** Whether only this machine can reach a server that listens there. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || hostname === "[::1]" || isLoopbackV4(hostname);
}

export function urlOf(hostname: string, port: number): string {
  const host = hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
  return `http://${host}:${port}`;
}

function isLoopbackV4(hostname: string): boolean {
  const parts = hostname.split(".");
  return (
    parts.length === 4 && parts[0] === "127" && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)
  );
}
