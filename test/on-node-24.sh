#!/usr/bin/env bash
# Runs the whole suite on Node 24, the active LTS, in a copy of this tree: the npm package "node" carries a whole Node
# with its headers, so nothing but the registry is needed. Arguments go to vitest.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/node" "$work/project"
printf '{"private":true,"allowScripts":{"node":true}}' >"$work/node/package.json"
(cd "$work/node" && npm install --no-audit --no-fund node@24)
# The package for this machine's architecture, with bin/ and include/.
home=$(find "$work/node" -path '*/include/node/node_api.h' | head -1)
home=${home%/include/node/node_api.h}
export PATH="$home/bin:$PATH"
node --version

cd "$here"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work/project"
cd "$work/project"
npm_config_nodedir="$home" npm ci
npx vitest run "$@"
