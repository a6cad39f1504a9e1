#!/usr/bin/env bash
# Copies the log and its signing key while the service runs, verifies the copy, and only then gives it its name. The copy is
# unblinding material, as the log is.
#
# usage: backup.sh FOLDER     as the user of the service; makes FOLDER/<time>
#        backup.sh -          writes it to standard output instead, as a tar archive: out of a container
# Environment: URN_DATA (the data folder), URN_TRUST (the log's verifier key, or a file with it, from elsewhere), URN_BACKUP_METRIC (a file
# for the textfile collector of node_exporter, which gets the time of this success)
set -euo pipefail
umask 077
to=${1:?usage: backup.sh FOLDER, or - for standard output}
data=${URN_DATA:-/var/lib/urn}
app=$(dirname "$(readlink -f "$0")")/..
urn=$app/bin/urn.js
database=$(realpath "$data")/urn.sqlite
fail() { echo "backup.sh: $1" >&2; exit 1; }

name=$(date --utc +%Y-%m-%dT%H%M%SZ)
into=$(if [ "$to" = - ]; then echo "$data"; else echo "$to"; fi)
mkdir -p "$into"
part=$(mktemp --directory "$(realpath "$into")/.part-XXXXXX")
trap 'rm -rf "$part"' EXIT
[ ! -e "$to/$name" ] || fail "$to/$name is there already"
# By SQLite's user_version: merely opening the database would leave files beside it.
[ "$(od -An -tu1 -j63 -N1 "$database")" -ne 1 ] || fail "$database was written before 1.0.0; nothing was changed"

# What was signed before the copy must be in it.
cp "$data/signing-key" "$data/last-checkpoints" "$part"
# SQLite's own backup, of one moment: the read transaction is held, or a writer would make it begin anew. Never cp.
(cd "$app" && node -e '
  const Database = require(process.versions.napi >= 10 ? "better-sqlite3-node-api" : "better-sqlite3");
  const [, from, to] = process.argv;
  const database = new Database(from, { readonly: true, fileMustExist: true });
  database.exec("BEGIN");
  database.prepare("SELECT count(*) FROM sqlite_schema").get();
  database.backup(to);
' "$database" "$part/urn.sqlite")
cmp --silent "$data/signing-key" "$part/signing-key" ||
  fail 'the signing key was rotated meanwhile, so the pair does not belong together: run it again'

# Its own file is in the place of last-checkpoints, which a restore takes from the present.
mv "$part/last-checkpoints" "$part/signed-before"
"$urn" verify --data "$part" --checkpoint "$part/signed-before" >"$part/verified.txt" ||
  { tail -n 20 "$part/verified.txt" >&2; fail 'the copy does not verify: it was not kept (see urn verify on the log itself)'; }
if [ "$to" = - ]; then
  tar --create --directory "$part" .
  exit
fi
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
