// One by one for the client, whose bundle has no room for names that it does not use.
export const CLOSE_NORMAL = 1000;
export const CLOSE_OVERLOADED = 1013;
export const CLOSE_SESSION_ENDED = 4410;
export const CLOSE_TOO_MANY = 4429;
export const CLOSE_INTERNAL = 4500;
const BAD_FRAME = 4400;
const UNAUTHENTICATED = 4401;
const FORBIDDEN = 4403;
const TAKEN_OVER = 4409;
const FRAME_TOO_BIG = 4413;
const VERSION = 4426;

/** Why a socket was closed, as WebSocket close codes. 44xx follow the HTTP status they resemble. */
export const CLOSE = {
  normal: CLOSE_NORMAL,
  goingAway: 1001,
  draining: 1012,
  overloaded: CLOSE_OVERLOADED,
  badFrame: BAD_FRAME,
  unauthenticated: UNAUTHENTICATED,
  forbidden: FORBIDDEN,
  helloTimeout: 4408,
  takenOver: TAKEN_OVER,
  sessionEnded: CLOSE_SESSION_ENDED,
  frameTooBig: FRAME_TOO_BIG,
  protocolVersion: VERSION,
  tooMany: CLOSE_TOO_MANY,
  internal: CLOSE_INTERNAL,
} as const;

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];

/**
 * Codes after which a client must not connect again by itself: the same hello would meet the same answer.
 * 4410 is not among them: the client connects again without resuming.
 */
export const FATAL_CLOSE_CODES: ReadonlySet<number> = new Set([
  // A frame far past the limit: the runtime stops reading and closes by itself, in the words of RFC 6455.
  1009,
  BAD_FRAME,
  UNAUTHENTICATED,
  FORBIDDEN,
  TAKEN_OVER,
  FRAME_TOO_BIG,
  VERSION,
]);
