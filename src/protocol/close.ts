/** Why a socket was closed, as WebSocket close codes. 44xx follow the HTTP status they resemble. */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  draining: 1012,
  overloaded: 1013,
  badFrame: 4400,
  unauthenticated: 4401,
  forbidden: 4403,
  helloTimeout: 4408,
  takenOver: 4409,
  sessionEnded: 4410,
  frameTooBig: 4413,
  protocolVersion: 4426,
  tooMany: 4429,
  internal: 4500,
} as const;

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];

/**
 * Codes after which a client must not connect again by itself: the same hello would meet the same answer.
 * 4410 is not among them: the client connects again without resuming.
 */
export const FATAL_CLOSE_CODES: ReadonlySet<number> = new Set([
  // A frame far past the limit: the runtime stops reading and closes by itself, in the words of RFC 6455.
  1009,
  CLOSE.badFrame,
  CLOSE.unauthenticated,
  CLOSE.forbidden,
  CLOSE.takenOver,
  CLOSE.frameTooBig,
  CLOSE.protocolVersion,
]);
