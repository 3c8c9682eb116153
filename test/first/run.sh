#!/bin/sh
# How long it takes from a clean clone to a first useful result, with a warm module cache: a call, a batch, the demo. One line of JSON each.
# FIRST_COLD=1: with an empty build cache as well. FIRST_TASKS: of the demo.
set -eu
GO=${GO:-go}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
server=
cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

now() { date +%s.%N; }

# timed NAME COMMAND...: runs it, and prints how long it took, what it used of the processors, and how long all took so far.
total=0
timed() {
	name=$1
	shift
	times >"$work/before"
	from=$(now)
	if ! "$@" >"$work/out" 2>"$work/err"; then
		cat "$work/err" "$work/out" >&2
		printf '{"step":"%s","ok":false}\n' "$name"
		exit 1
	fi
	to=$(now)
	times >"$work/after"
	total=$(awk -v t="$total" -v a="$from" -v b="$to" 'BEGIN { print t + b - a }')
	awk -v n="$name" -v a="$from" -v b="$to" -v t="$total" '
		FNR == 2 { gsub(/[ms]/, " "); used = $1 * 60 + $2 + $3 * 60 + $4 - used }
		END { printf "{\"step\":\"%s\",\"ok\":true,\"seconds\":%.1f,\"cpu_seconds\":%.1f,\"total\":%.1f}\n", n, b - a, used, t }
	' "$work/before" "$work/after"
}

timed clone git clone -q "$here" "$work/outlast"
cd "$work/outlast"
export XDG_DATA_HOME="$work/data"
if [ -n "${FIRST_COLD:-}" ]; then
	export GOCACHE="$work/cache"
fi

# A server to call: it is no part of what is measured.
$GO build -o "$work/echo" ./test/first
"$work/echo" >"$work/address" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -s "$work/address" ] && break
	sleep 0.2
done
address=$(cat "$work/address")
printf 'question\nwhy\nwhat\nwho\n' >"$work/rows.csv"

timed call $GO run ./cmd/outlast call --wait "$address/hello"
timed batch_run $GO run ./cmd/outlast batch run --rows "$work/rows.csv" --url "$address/ask" --body '{"q": {{.question}}}' --out "$work/results.jsonl"
[ "$(wc -l <"$work/results.jsonl")" -eq 3 ]
timed demo $GO run ./cmd/outlast demo --json --tasks "${FIRST_TASKS:-2000}" --kills 5
