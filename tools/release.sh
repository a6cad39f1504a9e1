#!/usr/bin/env bash
# Makes what is released from the commit that is checked out, and prints its SHA-256: the package, built, and the verifier. Whoever
# makes it again from that commit, with the same Node and npm, gets the same bytes.
#
# usage: npm run release [-- FOLDER]     default: release/
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "${1:-release}" && cd "${1:-release}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is in the commit, and nothing else.
git clone --quiet . "$work/urn"
cd "$work/urn"
npm ci --no-audit --no-fund --loglevel error
# npm leaves package-lock.json out of a package. Under this name it pins what the package is installed with.
cp package-lock.json npm-shrinkwrap.json
npm pack --silent --ignore-scripts --pack-destination "$out" >/dev/null
cp verifier/verify_bundle.py "$out"

cd "$out"
bin="$work/urn/bin/urn.js"
echo "urn $("$bin" --version), with Node $(node --version) and npm $(npm --version):"
sha256sum -- *-"$(node -p "require('$work/urn/package.json').version")".tgz verify_bundle.py | tee SHA256SUMS
