#!/bin/sh
# Fuzzes every target for a while, one after the other: FUZZTIME (30s) each, ONLY a regular expression over "package target". An input
# that breaks a target is kept under testdata/fuzz of its package, where every ordinary test run tries it again.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cache=$(go env GOCACHE)/fuzz/outlast
failed=0
count=0
for dir in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u); do
	targets=$(cat "$dir"/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p')
	wanted=$(for t in $targets; do echo "$dir $t"; done | grep -E "${ONLY:-.}" | sed 's/.* //' || true)
	test -n "$wanted" || continue
	go test -c -fuzz=Fuzz -o "$made/fuzz.test" "./$dir"
	for target in $wanted; do
		count=$((count + 1))
		echo "== $dir $target"
		(cd "$dir" && "$made/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${FUZZTIME:-30s}" -test.fuzzminimizetime 2s \
			-test.parallel "${PARALLEL:-2}" -test.fuzzcachedir "$cache/$dir") || failed=$((failed + 1))
	done
done
cd "$root"
echo "$count targets, ${FUZZTIME:-30s} each, $failed with findings"
test "$count" -gt 0 && test "$failed" -eq 0
