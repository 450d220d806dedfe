/** The words of which the description of the API is made. */

import { REQUEST_CHARS_MAX } from "../protocol/limits.ts";

export const text = { type: "string" } as const;
export const flag = { type: "boolean" } as const;
export const whole = { type: "integer" } as const;
export const requestId = { type: "string", minLength: 1, maxLength: REQUEST_CHARS_MAX } as const;

export function body(properties: object, required: readonly string[] = []): object {
  return { type: "object", properties, required };
}

export function answer(properties: object, required: readonly string[] = Object.keys(properties)): object {
  return { type: "object", properties, required };
}

export function constant(value: string): object {
  return { type: "string", const: value };
}

export function reference(schema: string): object {
  return { $ref: `#/components/schemas/${schema}` };
}

export function parameter(name: string, place: "path" | "query" | "header", schema: object): object {
  return { name, in: place, required: place === "path", schema };
}

export function content(schema: string, type = "application/json"): object {
  return { [type]: { schema: reference(schema) } };
}

export interface CallDescription {
  readonly summary: string;
  readonly responses: object;
  readonly parameters: readonly object[];
  readonly requestBody?: object;
}

export function call(
  summary: string,
  answered: string,
  asked?: string,
  parameters: readonly object[] = [],
  status: string = "200",
): CallDescription {
  return {
    summary,
    parameters,
    ...(asked === undefined ? undefined : { requestBody: { content: content(asked) } }),
    responses: {
      [status]: { description: answered, content: content(answered) },
      default: { description: "What went wrong", content: content("Problem", "application/problem+json") },
    },
  };
}

/** A stream of server-sent events, each with a key as its data. */
export function events(summary: string): object {
  return {
    summary,
    responses: {
      "200": { description: "Events: `state`, with a Key as data", content: { "text/event-stream": { schema: text } } },
      default: { description: "What went wrong", content: content("Problem", "application/problem+json") },
    },
  };
}

export function plain(summary: string, status = "200"): object {
  return { summary, responses: { [status]: { description: summary } } };
}
