/** Sizes and ranges of the wire, the same on every way in. Bytes are of UTF-8, times in ms. */

export const KEY_BYTES_MAX = 255;
export const SPACE_CHARS_MAX = 64;
export const REQUEST_CHARS_MAX = 255;
export const META_BYTES_MAX = 1024;
export const MESSAGE_BYTES_MAX = 1024;
export const TOKEN_CHARS_MAX = 128;
export const SESSION_CHARS_MAX = 256;
export const FRAME_BYTES_MAX = 2 * 1024 * 1024;
/** Frames in one message. */
export const BATCH_FRAMES_MAX = 256;
export const BODY_BYTES_MAX = 64 * 1024;
/** A socket that has this much unsent is a slow reader, and dropped. */
export const BUFFERED_BYTES_MAX = 1024 * 1024;
/** Besides: what was asked for and may be long, as results, lists and first states of watches. */
export const ASKED_BUFFERED_BYTES_MAX = 16 * 1024 * 1024;
export const CLOSE_REASON_BYTES_MAX = 123;

/** Who is behind a session. */
export const USER_BYTES_MAX = 255;

/** Watches of one session. */
export const WATCHES_MAX = 100;
/** Between two states of one watch there is at least this time: what changed meanwhile is told together. */
export const WATCH_INTERVAL_MS = 50;
/** A prefix with more live keys than this cannot be watched. */
export const WATCHED_KEYS_MAX = 1000;
/** Keys in one `state` frame. */
export const STATE_KEYS_MAX = 100;
/** Streams of server-sent events of one host. */
export const STREAMS_MAX_DEFAULT = 10_000;

export const TTL_MIN_MS = 100;
export const TTL_MAX_MS = 24 * 60 * 60 * 1000;
export const TTL_DEFAULT_MS = 30_000;

/** Waits: HTTP callers at most ten minutes, sessions at most a day (or, without a timeout, as long as they live). */
export const HTTP_TIMEOUT_DEFAULT_MS = 10_000;
export const HTTP_TIMEOUT_MAX_MS = 600_000;
export const SESSION_TIMEOUT_MAX_MS = 24 * 60 * 60 * 1000;

/** Idempotent work. */
export const FINGERPRINT_BYTES_MAX = 4096;
export const RESULT_BYTES_MAX = 1024 * 1024;
/** Of a body that has a result as JSON: written with white space and escapes it is longer than it is stored. */
export const RESULT_BODY_BYTES_MAX = 2 * 1024 * 1024;
export const CONTENT_TYPE_CHARS_MAX = 255;

export const SEMAPHORE_LIMIT_MAX = 100_000;
export const LIST_COUNT_MAX = 1000;
export const LIST_COUNT_DEFAULT = 100;

/** A connection that has not said hello after this long is closed with 4408. */
export const HELLO_TIMEOUT_MS = 5_000;
export const PING_DEFAULT_MS = 5_000;
export const DEADLINE_DEFAULT_MS = 15_000;
export const GRACE_MAX_DEFAULT_MS = 60_000;

export const PROTOCOL_VERSION = 1;
export const SUBPROTOCOL = "latchkey.v1";
/** Followed by the base64url text of an API key; offered beside `latchkey.v1`, never echoed. */
export const BEARER_SUBPROTOCOL_PREFIX = "latchkey.bearer.";
