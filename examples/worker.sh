#!/bin/sh
# A worker for Outlast in shell: it needs curl, sed and nothing else. Edit handle, and run it.
# It claims tasks from the daemon at OUTLAST_URL (with OUTLAST_TOKEN, if it wants one), one at a time.
URL=${OUTLAST_URL:-http://127.0.0.1:7070}
QUEUE=${OUTLAST_QUEUE:-default}
KIND=${OUTLAST_KIND:-lines}
BEAT=${OUTLAST_BEAT:-2} DEAD_AFTER=${OUTLAST_DEAD_AFTER:-15}

# handle runs a task: its record is in $1, the result is what it prints, as JSON. Another exit code than 0 is tried again.
handle() {
	sleep "$(field sleep "$1" | grep . || echo 0)"
	printf '{"bytes":%s}' "${#1}"
}

# post sends JSON and prints the answer, with the status on a line of its own before it. A daemon that is away is asked again.
post() {
	while :; do
		answer=$(curl -s -m 90 -w '\n%{http_code}' "$URL$1" -H 'Content-Type: application/json' \
			${OUTLAST_TOKEN:+-H "Authorization: Bearer $OUTLAST_TOKEN"} -d "$2")
		case ${answer##*
} in
		000 | 429 | 503) sleep 1 ;;
		*) break ;;
		esac
		# A claim whose answer was lost may have been made: ask for what it holds.
		case $2 in *'"nonce"'*'"repeat"'*) ;; *'"nonce"'*) set -- "$1" "${2%\}},\"repeat\":true}" ;; esac
	done
	printf '%s\n%s\n' "${answer##*
}" "${answer%
*}"
}

# field prints a field of JSON that is a text or a number; the first of that name.
field() { printf '%s' "$2" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | head -1; }

# first prints a field that comes at the beginning of the first task.
first() { printf '%s' "$2" | sed -n "s/^{\"tasks\":\[{\"$1\":\"\([^\"]*\)\".*/\1/p"; }

worker='' beats=''
trap 'stopping=1; [ -n "$beats" ] || leave' TERM
trap '[ -z "$beats" ] || kill "$beats" 2>/dev/null' EXIT
leave() {
	[ -z "$worker" ] || post "/v1/workers/$worker/leave" '{}' >/dev/null
	exit 0
}

while [ -z "$stopping" ]; do
	if [ -z "$worker" ]; then
		joined=$(post /v1/workers "{\"name\":\"shell\",\"kinds\":[\"$KIND\"],\"queues\":{\"$QUEUE\":1},\"beat\":$BEAT,\"deadAfter\":$DEAD_AFTER}")
		worker=$(field worker "$joined")
		[ -n "$worker" ] || { echo "cannot join: $joined" >&2; exit 1; }
	fi
	nonce=$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)
	claimed=$(post "/v1/workers/$worker/claim" "{\"queues\":{\"$QUEUE\":1},\"kinds\":[\"$KIND\"],\"wait\":20,\"nonce\":\"$nonce\"}")
	status=${claimed%%
*}
	task=${claimed#*
}
	[ "$status" != 409 ] || { worker=; continue; } # it was silent for too long: it goes on as another worker
	id=$(first id "$task") fence=$(field fence "$task")
	[ -n "$id" ] || continue

	# While the handler runs somebody has to say that the worker lives: as long as it does.
	(while sleep "$BEAT" && kill -0 $$; do post "/v1/workers/$worker/beat" '{"running":1}' >/dev/null; done) &
	beats=$!
	if result=$(handle "$task"); then
		verdict="{\"fence\":\"$fence\",\"verdict\":\"done\",\"result\":$result}"
	else
		verdict="{\"fence\":\"$fence\",\"verdict\":\"error\",\"message\":\"exit code $?\"}"
	fi
	kill "$beats" 2>/dev/null
	beats=''
	answer=$(post "/v1/tasks/$id/complete" "$verdict")
	case ${answer%%
*} in 200) echo "$id done 200" ;; *) echo "$id refused ${answer%%
*}" ;; esac
done
leave
