#!/usr/bin/env bash
# Runs a command under a lock, so that two deployments never overlap: whoever starts second waits for the first.
# It needs curl and jq, and a server:
#
#   npm start &
#   examples/deploy.sh kubectl apply -f app.yaml
#
# LATCHKEY_URL says where the server is, LATCHKEY_KEY is its API key if it has one.
set -euo pipefail

lock=${LATCHKEY_URL:-http://127.0.0.1:8787}/v1/latch/deploy%2Fproduction

call() {
  curl --silent --show-error --fail-with-body ${LATCHKEY_KEY:+--oauth2-bearer "$LATCHKEY_KEY"} --json "$2" "$lock/$1"
}

# Five minutes to wait, and five minutes to deploy: after those the lock is free again, even if this machine has died.
# Whoever interrupts the wait leaves the queue with it.
echo "waiting for the lock"
acquired=$(call acquire '{"ttl":300000,"timeout":300000}')
token=$(jq --raw-output .token <<<"$acquired")
trap 'call release "{\"token\":\"$token\"}" >/dev/null' EXIT

echo "deploying, fence $(jq .fence <<<"$acquired")"
"$@"
echo "done"
