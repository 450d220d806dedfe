/** API keys as one line of text: `secret;space=NAME;can=steal+operate;name=NAME;user=USER,secret2,…`. */

import type { ApiKey, Permission } from "../host/settings.ts";
import { isSpace, isUser } from "../protocol/names.ts";
import type { Fail } from "./read.ts";

const KEYS_MAX = 1000;
const SECRET_CHARS_MIN = 8;
const SECRET_CHARS_MAX = 256;
const PERMISSIONS: ReadonlySet<string> = new Set<Permission>(["steal", "operate"]);

/** Errors say which entry is wrong and never repeat any of it: a secret may stand in the wrong place. */
export function parseKeys(text: string, fail: Fail): readonly ApiKey[] | undefined {
  const entries = text.split(",");
  if (entries.length > KEYS_MAX) return fail(`must have at most ${KEYS_MAX} keys`);
  const keys: ApiKey[] = [];
  for (const [i, entry] of entries.entries()) {
    const failEntry: Fail = (expected) => fail(`key ${i + 1} ${expected}`);
    const key = parseKey(entry.trim(), `key${i + 1}`, failEntry);
    if (key === undefined) return undefined;
    if (keys.some(({ secret }) => secret === key.secret)) return failEntry("has the secret of an earlier one");
    keys.push(key);
  }
  return keys;
}

function parseKey(entry: string, nameDefault: string, fail: Fail): ApiKey | undefined {
  const [secret = "", ...options] = entry.split(";").map((part) => part.trim());
  if (secret.length < SECRET_CHARS_MIN || secret.length > SECRET_CHARS_MAX || !/^[!-~]+$/.test(secret)) {
    return fail(
      `must begin with a secret of ${SECRET_CHARS_MIN} to ${SECRET_CHARS_MAX} visible ASCII characters without , and ;`,
    );
  }
  const chosen = new Map<string, string>();
  for (const option of options) {
    const [name, value] = splitOnce(option);
    if (chosen.has(name) || !isOption(name, value)) {
      return fail("may be followed by ;space=NAME, ;can=steal+operate, ;name=NAME and ;user=USER, each once");
    }
    chosen.set(name, value);
  }
  const space = chosen.get("space");
  const user = chosen.get("user");
  return {
    secret,
    name: chosen.get("name") ?? nameDefault,
    ...(space === undefined ? {} : { space }),
    ...(user === undefined ? {} : { user }),
    permissions: (chosen.get("can")?.split("+") ?? []) as Permission[],
  };
}

function isOption(name: string, value: string): boolean {
  switch (name) {
    case "space":
    case "name":
      return isSpace(value);
    case "can":
      return isPermissions(value.split("+"));
    case "user":
      return isUser(value);
    default:
      return false;
  }
}

function isPermissions(words: readonly string[]): boolean {
  return words.every((word, i) => PERMISSIONS.has(word) && words.indexOf(word) === i);
}

function splitOnce(text: string): [before: string, after: string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
