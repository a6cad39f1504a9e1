#!/usr/bin/env bash
# Copies the log and its signing key while the service runs, verifies the copy, and only then gives it its name. The copy is
# unblinding material, as the log is.
#
# usage: backup.sh FOLDER     as the user of the service; makes FOLDER/<time>
# Environment: URN_DATA (the data folder), URN_TRUST (the log's verifier key, or a file with it, from elsewhere), URN_BACKUP_METRIC (a file
# for the textfile collector of node_exporter, which gets the time of this success)
set -euo pipefail
umask 077
to=${1:?usage: backup.sh FOLDER}
data=${URN_DATA:-/var/lib/urn}
urn=$(dirname "$(readlink -f "$0")")/../bin/urn.js
fail() { echo "backup.sh: $1" >&2; exit 1; }

name=$(date --utc +%Y-%m-%dT%H%M%SZ)
mkdir -p "$to"
part=$(mktemp --directory "$to/.part-XXXXXX")
trap 'rm -rf "$part"' EXIT
[ ! -e "$to/$name" ] || fail "$to/$name is there already"

# What was signed before the copy must be in it.
cp "$data/signing-key" "$data/last-checkpoints" "$part"
# SQLite's own backup, of one moment: the read transaction is held, or a writer would make it begin anew. Never cp.
sqlite3 "file:$data/urn.sqlite?mode=ro" 'BEGIN' 'SELECT count(*) FROM sqlite_schema' ".backup '$part/urn.sqlite'" >/dev/null
cmp --silent "$data/signing-key" "$part/signing-key" ||
  fail 'the signing key was rotated meanwhile, so the pair does not belong together: run it again'

# Its own file is in the place of last-checkpoints, which a restore takes from the present.
mv "$part/last-checkpoints" "$part/signed-before"
"$urn" verify --data "$part" --checkpoint "$part/signed-before" >"$part/verified.txt" ||
  { tail -n 20 "$part/verified.txt" >&2; fail 'the copy does not verify: it was not kept (see urn verify on the log itself)'; }
sync "$part"/*
mv --no-target-directory "$part" "$to/$name"
trap - EXIT

if [ -n "${URN_BACKUP_METRIC:-}" ]; then
  { echo '# TYPE urn_backup_last_success_timestamp_seconds gauge'
    echo "urn_backup_last_success_timestamp_seconds $(date +%s)"; } >"$URN_BACKUP_METRIC.part"
  chmod 644 "$URN_BACKUP_METRIC.part"
  mv "$URN_BACKUP_METRIC.part" "$URN_BACKUP_METRIC"
fi
echo "$to/$name"
