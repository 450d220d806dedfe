#!/usr/bin/env bash
# The servers that peers need, from Debian's or Ubuntu's packages. Nothing is started: the benchmark does that itself.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
as_root=()
if ((EUID != 0)); then as_root=(sudo --preserve-env=DEBIAN_FRONTEND); fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -qq -y --no-install-recommends redis-server postgresql
