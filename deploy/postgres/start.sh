#!/bin/sh
# Makes a cluster in PGDATA the first time, with a user and a database of the name
# headstart, and runs the server. Arguments are the server's.
set -eu

bin=/usr/lib/postgresql/18/bin
umask 077

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${HEADSTART_DATABASE_PASSWORD:?set HEADSTART_DATABASE_PASSWORD to the password of the user headstart}"
  secret=$(mktemp)
  printf '%s' "$HEADSTART_DATABASE_PASSWORD" >"$secret"
  "$bin/initdb" --pgdata="$PGDATA" --username=headstart --pwfile="$secret" --auth=scram-sha-256 --auth-local=peer \
    --encoding=UTF8 --locale=C.UTF-8 --data-checksums
  rm "$secret"
  echo 'CREATE DATABASE headstart' | "$bin/postgres" --single -D "$PGDATA" postgres >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
unset HEADSTART_DATABASE_PASSWORD

exec "$bin/postgres" -D "$PGDATA" -c listen_addresses='*' -c shared_preload_libraries=pg_textsearch "$@"
