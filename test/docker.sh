#!/usr/bin/env bash
# Builds the image from a checkout and uses it with docker-compose.yml, as docs/operations.md says: up, a key, a participant, stop,
# kill -9, verify, files out and in, backup and restore. Needs an engine with the images node:24-bookworm and node:24-bookworm-slim, a
# client with compose, and curl. Leaves nothing behind but what the engine keeps of builds.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD 2>/dev/null || true)
export COMPOSE_PROJECT_NAME=urn-test-$$ URN_PORT=0 COMMIT=$commit
compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }
say() { printf 'docker.sh [%3d s] %s\n' "$SECONDS" "$*"; }
fail() { say "FAILED: $*" >&2; compose logs --tail 40 >&2; exit 1; }
has() { case $1 in *"$2"*) ;; *) fail "expected \"$2\" in: $1" ;; esac; }
until_so() { for _ in $(seq 300); do if "$@" 2>/dev/null; then return; fi; sleep 0.2; done; fail "not so within a minute: $*"; }

# A checkout of somebody whose umask is 077, under another name than the user's own image.
work=$(mktemp -d)
trap 'compose down --volumes >/dev/null 2>&1 || true; docker rmi "urn:test-$$" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
(umask 077 && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work")
cd "$work"
sed -i "s/image: urn:.*/image: urn:test-$$/" docker-compose.yml

compose build urn >build.log 2>&1 || { tail -30 build.log; fail 'the image cannot be built'; }
say "built, $(($(docker image inspect --format '{{.Size}}' "urn:test-$$") / 1000000)) MB"
has "$(docker run --rm "urn:test-$$" --version)" "${commit:-not known}"

is_ready() { [ "$(docker inspect --format '{{.State.Health.Status}}' "$id")" = healthy ]; }
says() { docker logs "$id" 2>&1 | grep -qF "$1"; }
up() { compose up --detach urn >/dev/null 2>&1; id=$(compose ps --quiet urn); }
ask() { curl --silent --show-error -G "http://$(compose port urn 8080)/study_participants" -H "X-API-Key: $key" --data-urlencode 'study=CHS JCOIN' "$@"; }
answers() { ask | grep -qF "$1"; }
enrol() { has "$(ask -X POST --data-urlencode "id=$1" --data-urlencode 'sex=Female' --data-urlencode 'local_site=30-Dupage County')" '"status":200'; }
urn() { compose exec -T urn urn "$@"; }

up
until_so says 'user 1000 may not'
chmod -R a+rX config
until_so is_ready
say 'a studies file that the container may not read is read once it may'
until_so says 'no key yet: urn keys add NAME'
key=$(urn keys add edc 2>/dev/null)
enrol 001

for moment in 0 0.1 0.3 0.6 1; do
  docker stop "$id" >/dev/null
  docker start "$id" >/dev/null
  sleep "$moment"
  docker stop "$id" >/dev/null
  # 143: it was killed before the program had begun. Later it ends by itself; 137 is a kill after half a minute.
  code=$(docker inspect --format '{{.State.ExitCode}}' "$id")
  case $code in 0 | 143) ;; *) fail "stopped $moment s after the start, it exited with $code" ;; esac
done
say 'stopped at once, five times'

docker start "$id" >/dev/null
until_so is_ready
enrol 002
docker exec "$id" sh -c 'kill -9 -1' || true
until_so answers '"id":"002"'
urn verify >verified.txt || fail "$(cat verified.txt)"
say 'killed, restarted and verified'

# As an editor does: a new file in the place of the old one.
{ cat config/studies.yaml && echo 'Another: {mode: test, treatments: [A, B], factors: {sex: [F, M]}}'; } >config/new
chmod a+r config/new && mv config/new config/studies.yaml
has "$(urn studies register 2>/dev/null)" 'Another: registered'
urn bundle --study 'CHS JCOIN' --content blinded --out - >study.zip 2>bundle.log || fail "$(cat bundle.log)"
compose exec -T urn sh -c 'cat >/tmp/study.zip && urn verify --bundle /tmp/study.zip' <study.zip >verified.txt || fail "$(cat verified.txt)"
has "$(urn report --study 'CHS JCOIN' 2>&1 || true)" '--out -'
say 'a study came in, a bundle went out'

compose exec -T urn /app/deploy/backup.sh - >backup.tar || fail 'no backup was made'
before=$(ask)
compose down --volumes >/dev/null 2>&1
compose run --rm -T --entrypoint /app/deploy/restore.sh urn - /data/restored <backup.tar >restored.txt 2>&1 || fail "$(cat restored.txt)"
sed -i 's|URN_DATA: /data$|URN_DATA: /data/restored|' docker-compose.yml
up
until_so is_ready
[ "$(ask)" = "$before" ] || fail "after the restore: $(ask), before: $before"
say 'backed up, and restored into a new volume: passed'
