/**
 * The demo as its server sees it: four files and a document. The page's script is bundled when it is first asked for, so that
 * nobody has to build anything before `npm start`.
 */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { FormDocument } from "./document.ts";

/** Nothing but what comes from here, and nobody may frame it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/demo": ["index.html", "text/html; charset=utf-8"],
  "/demo/style.css": ["style.css", "text/css; charset=utf-8"],
  "/demo/icon.svg": ["icon.svg", "image/svg+xml"],
};
const SCRIPT = "/demo/page.js";
const DOCUMENT = "/demo/document";

/** Answers whatever is under `/demo`; undefined for all else. */
export function createDemo(): (request: Request) => Promise<Response> | undefined {
  const form = new FormDocument();
  let script: Promise<string> | undefined;
  return (request) => {
    const { pathname } = new URL(request.url);
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (pathname === DOCUMENT && request.method === "GET") return Promise.resolve(form.follow(request.signal));
    if (pathname.startsWith(`${DOCUMENT}/`) && request.method === "PUT") {
      return form.write(pathname.slice(DOCUMENT.length + 1), request);
    }
    if (!isRead) return undefined;
    if (pathname === SCRIPT) {
      script ??= bundle();
      return script.then((text) => respond(text, "text/javascript; charset=utf-8"), notBuilt);
    }
    const [file, type] = FILES[pathname] ?? [];
    if (file === undefined || type === undefined) return undefined;
    return readFile(new URL(`page/${file}`, import.meta.url)).then((bytes) => respond(bytes, type));
  };
}

/** `latchkey/…` in the page means the sources of this repository. */
async function bundle(): Promise<string> {
  const { build } = await import("esbuild");
  const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page/main.ts", import.meta.url))],
    alias: { "latchkey/client": source("client/index.ts") },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

function respond(body: string | Uint8Array<ArrayBuffer>, type: string): Response {
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
    },
  });
}

function notBuilt(error: unknown): Response {
  console.error("the page of the demo cannot be bundled (npm ci brings esbuild):", error);
  return new Response("", { status: 503 });
}
