#!/bin/sh
# Sees to it that what the tests start is on this machine: PostgreSQL, pgbouncer, Redis with Sentinel, curl, Python, Chromium. Silent if they
# are. On Debian and Ubuntu, as root, it installs what is missing, after saying so; elsewhere it says what to do, and fails.
# OUTLAST_TEST_POSTGRES and OUTLAST_TEST_REDIS name servers to use instead. Tests that kill and restart a server spare those: without the
# programs such a test fails, and says so.
set -eu

missing=

# need PACKAGE PROGRAM...: the package is missing if none of the programs is there.
need() {
	package=$1
	shift
	for program; do
		# A pattern such as /usr/lib/postgresql/*/bin/postgres comes here expanded, or as it is if nothing matches.
		if command -v "$program" >/dev/null 2>&1; then
			return
		fi
	done
	missing="$missing $package"
}

PATH=$PATH:/usr/sbin:/usr/local/sbin
need curl curl       # for the transcripts of docs/endpoints.md, and the worker in shell
need python3 python3 # for the worker in Python
need chromium chromium # for the dashboard, in test/web
if [ -z "${OUTLAST_TEST_POSTGRES:-}" ]; then
	need postgresql postgres /usr/lib/postgresql/*/bin/postgres
	need pgbouncer pgbouncer
fi
if [ -z "${OUTLAST_TEST_REDIS:-}" ]; then
	need redis-server redis-server
	need redis-sentinel redis-sentinel
fi
if [ -z "$missing" ]; then
	exit 0
fi

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	echo "make test: installing$missing with apt-get, for the tests"
	export DEBIAN_FRONTEND=noninteractive
	# Words of $missing are packages, and meant to be split.
	# shellcheck disable=SC2086
	apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 || {
		apt-get update -qq
		# shellcheck disable=SC2086
		apt-get install -qq -y --no-install-recommends $missing >/dev/null
	}
	exit 0
fi

echo "make test: these are missing:$missing. Install them (Debian, Ubuntu: sudo apt-get install$missing)," \
	"or name servers to use: OUTLAST_TEST_POSTGRES=postgres://… OUTLAST_TEST_REDIS=redis://…" >&2
exit 1
