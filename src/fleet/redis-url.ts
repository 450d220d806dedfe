/** Addresses of Redis over TCP, as the package `redis` reads them. */

/** `redis://` or `rediss://`, credentials as URLs have them, and no path but the number of a database. */
export function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\/[^/\s]/.test(text) || !URL.canParse(text)) return false;
  const { username, password, pathname } = new URL(text);
  return isDecodable(username) && isDecodable(password) && /^\/?\d*$/.test(pathname);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
