import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ObjectProperty, parseSync, Visitor } from "oxc-parser";
import { describe, expect, test } from "vitest";
import { OWN_MEMBERS } from "../../scripts/own-members.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const OWN: ReadonlySet<string> = new Set(OWN_MEMBERS);
/** Whose files have the short names. */
const SHORTENED = ["src/client", "src/claim-store", "src/element", "src/react"];
/** What users import of these. */
const ENTRIES = ["client/index", "client/http", "client/idempotency", "element/index", "react/index"];

const DECLARATIONS: ReadonlySet<string> = new Set([
  "ClassDeclaration",
  "TSInterfaceDeclaration",
  "TSTypeAliasDeclaration",
]);

interface Found {
  /** Names of members, wherever they stand. */
  readonly members: Set<string>;
  /** Texts, as far as they could name a member. */
  readonly texts: Set<string>;
}

/** What a source says of members, private ones excepted. */
function found(file: string, text: string = readFileSync(join(ROOT, file), "utf8")): Found {
  const members = new Set<string>();
  const texts = new Set<string>();
  /** Where texts begin that are types, which nothing is looked up by. */
  const types = new Set<number>();
  const key = ({ computed, key: name }: Pick<ObjectProperty, "computed" | "key">): void => {
    if (!computed && name.type === "Identifier") members.add(name.name);
  };
  new Visitor({
    MemberExpression: ({ computed, property }) => {
      if (!computed && property.type === "Identifier") members.add(property.name);
    },
    Property: key,
    PropertyDefinition: key,
    MethodDefinition: key,
    TSPropertySignature: key,
    TSMethodSignature: key,
    TSLiteralType: ({ literal }) => {
      types.add(literal.start);
    },
    Literal: ({ start, value }) => {
      if (typeof value === "string" && !types.has(start)) texts.add(value);
    },
  }).visit(parseSync(file, text).program);
  return { members, texts };
}

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

/** The declarations of what the entries export, and of all types that these name, as they stand in the sources. */
function publicTypes(): string {
  const declared = new Map<string, string>();
  for (const file of SHORTENED.flatMap(sources)) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const statement of parseSync(file, text).program.body) {
      const node = statement.type === "ExportNamedDeclaration" ? (statement.declaration ?? statement) : statement;
      if (!DECLARATIONS.has(node.type) || !("id" in node) || node.id?.type !== "Identifier") continue;
      // Of classes only errors are seen; all else is seen by its interface.
      if (node.type === "ClassDeclaration" && !node.id.name.endsWith("Error")) continue;
      declared.set(node.id.name, text.slice(node.start, node.end));
    }
  }
  const told = new Map<string, string>();
  const tell = (text: string): void => {
    for (const [name] of text.matchAll(/\b[A-Z]\w+\b/g)) {
      const declaration = declared.get(name);
      if (declaration === undefined || told.has(name)) continue;
      told.set(name, declaration);
      tell(declaration);
    }
  };
  for (const entry of ENTRIES) tell(readFileSync(join(ROOT, `src/${entry}.ts`), "utf8"));
  return [...told.values()].join("\n");
}

const own = (names: Iterable<string>): string[] => [...names].filter((name) => OWN.has(name));

describe("a member with a short name", () => {
  test("is there", () => {
    const there = new Set(SHORTENED.flatMap(sources).flatMap((file) => [...found(file).members]));
    expect(OWN_MEMBERS.filter((name) => !there.has(name))).toEqual([]);
    expect(OWN.size).toBe(OWN_MEMBERS.length);
  });

  test("is public nowhere", () => {
    const types = publicTypes();
    expect(types).toContain("class LimitError ");
    expect(types).toContain("interface Client ");
    expect(types).toContain("interface LatchGate ");
    expect(own(found("types.ts", types).members)).toEqual([]);
  });

  test.each(sources("src/protocol"))("does not go over the wire: %s", (file) => {
    expect(own(found(file).members)).toEqual([]);
  });

  test.each(SHORTENED.flatMap(sources))("is not named by a string: %s", (file) => {
    expect(own(found(file).texts)).toEqual([]);
  });

  const others = sources("src").filter((file) => !SHORTENED.some((folder) => file.startsWith(`${folder}/`)));
  const importers = others.filter((file) =>
    /from "[./]+\/(?:client|claim-store|element|react)\//.test(readFileSync(join(ROOT, file), "utf8")),
  );
  test.each(importers)("is not used from elsewhere: %s", (file) => {
    expect(own(found(file).members)).toEqual([]);
  });
});
