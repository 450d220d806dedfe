/** The form: what page and document have in common. */

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: "line" | "choice" | "text";
  /** What it says before anybody has written. */
  readonly text: string;
  /** Of a choice. */
  readonly options?: readonly string[];
}

/** A field as the document has it. */
export interface FieldState {
  readonly name: string;
  readonly text: string;
  /** The highest that was seen. */
  readonly fence: number;
  /** Who wrote last. */
  readonly by: string;
}

export const TEXT_CHARS_MAX = 4_000;

export const FIELDS: readonly Field[] = [
  { name: "title", label: "Title", kind: "line", text: "Summer garden party" },
  { name: "status", label: "Status", kind: "choice", text: "Draft", options: ["Draft", "In review", "Final"] },
  { name: "date", label: "Date", kind: "line", text: "Saturday, 12 June" },
  { name: "place", label: "Place", kind: "line", text: "Behind the old library" },
  {
    name: "text",
    label: "Invitation",
    kind: "text",
    text: "We would love to see you in the garden.\nBring a chair, a story and somebody who can sing.",
  },
];
