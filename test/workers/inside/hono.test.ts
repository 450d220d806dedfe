// The middleware's own tests, within workerd.
import "../../hono/answers.test.ts";
import "../../hono/envelope.test.ts";
import "../../hono/fenced.test.ts";
import "../../hono/fingerprint.test.ts";
import "../../hono/idempotency.test.ts";
import "../../hono/key.test.ts";
