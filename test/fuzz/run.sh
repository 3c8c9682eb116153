#!/bin/sh
# Fuzzes every target for a while, one after the other: FUZZTIME (30s) each, ONLY a regular expression over "package target". An input
# that breaks a target is kept under testdata/fuzz of its package, where every ordinary test run tries it again.
set -eu
cd "$(dirname "$0")/../.."
time=${FUZZTIME:-30s}
only=${ONLY:-.}
failed=0
count=0
for dir in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u); do
	for target in $(go test -list '^Fuzz' "./$dir" | grep '^Fuzz'); do
		echo "$dir $target" | grep -Eq "$only" || continue
		count=$((count + 1))
		echo "== $dir $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel "${PARALLEL:-2}" "./$dir" || failed=$((failed + 1))
	done
done
echo "$count targets, $time each, $failed with findings"
test "$count" -gt 0 && test "$failed" -eq 0
