/**
 * The address of one endpoint of a server. `url` is the server's, `http(s)://` or `ws(s)://`, with or without the path of
 * the session. Throws a TypeError when it is no URL. A query stays; a fragment would be a mistake to a WebSocket.
 */
export function addressOf(url: string, scheme: "ws" | "http", path: string): URL {
  const address = new URL(url);
  address.protocol = address.protocol.replace(/^(ws|http)/, scheme);
  address.hash = "";
  address.pathname = address.pathname.replace(/(\/v1\/session)?\/*$/, "") + path;
  return address;
}
