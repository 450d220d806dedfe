#!/usr/bin/env bash
# The servers that peers need, from Debian's or Ubuntu's packages. The benchmark starts its own, on ports and in folders of
# its own; those that a package may start at its installation, under systemd, are none of its business.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
as_root=()
if ((EUID != 0)); then as_root=(sudo --preserve-env=DEBIAN_FRONTEND); fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -qq -y --no-install-recommends redis-server postgresql etcd-server zookeeper default-jre-headless
