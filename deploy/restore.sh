#!/usr/bin/env bash
# Makes a data folder from a backup, with what the log that is in use says it signed last, and says whether anything is missing. It
# changes neither the backup nor the present data folder; docs/operations.md, "Restoring a backup", says how to go on.
#
# usage: restore.sh BACKUP NEW-FOLDER [--checkpoint FILE …]     as the user of the service, which must be stopped
# BACKUP is what backup.sh has made: a folder, or - for its archive on standard input. The checkpoints are receipts and other notes that were kept elsewhere. Environment: URN_DATA, URN_TRUST, as for backup.sh
# Exit codes: 0 nothing is missing, 1 something is, 2 it could not be done
set -euo pipefail
umask 077
backup=${1:?usage: restore.sh BACKUP NEW-FOLDER [--checkpoint FILE …]}
new=${2:?usage: restore.sh BACKUP NEW-FOLDER [--checkpoint FILE …]}
shift 2
data=${URN_DATA:-/var/lib/urn}
urn=$(dirname "$(readlink -f "$0")")/../bin/urn.js
fail() { echo "restore.sh: $1" >&2; exit 2; }

[ ! -e "$new" ] || fail "$new is there already: name a new folder"
mkdir "$new" || fail "$new could not be made"
# The two belong together.
if [ "$backup" = - ]; then
  tar --extract --directory "$new" --no-same-owner ./urn.sqlite ./signing-key || fail 'this is no archive of backup.sh'
else
  cp "$backup/urn.sqlite" "$backup/signing-key" "$new"
fi
# These are of the present, never from a backup: what was signed last, and code-breaks that the log has not taken yet.
for file in last-checkpoints reveals.pending reveals.pending.old session-key; do
  if [ -e "$data/$file" ]; then cp --preserve=mode,timestamps "$data/$file" "$new"; fi
done
[ -e "$new/last-checkpoints" ] ||
  echo "restore.sh: $data has no last-checkpoints, so nothing here says what the backup lacks: give receipts with --checkpoint" >&2

status=0
"$urn" verify --data "$new" "$@" || status=$?
[ "$status" -lt 2 ] || fail "$new could not be verified"
if [ "$status" -eq 0 ]; then
  echo
  echo "$new is sound, and nothing is missing in it that is known to have been signed. Compare the list of participants with the sites' before you serve it."
  exit 0
fi
echo
echo "What a recovery would declare:"
"$urn" recover --data "$new" --dry-run --reason "restore of $backup" "$@" || true
echo
echo "$new lacks records, or they were changed. This is an incident of the trial: docs/operations.md, \"Restoring a backup\", from step 4 on."
exit 1
