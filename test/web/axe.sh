#!/bin/sh
# Fetches axe-core, of one version and one sum, by npm from wherever npm fetches, and prints where its file is. It is no part of what is built, and
# stays in the cache of whoever runs this.
set -eu

version=4.14.0
sum=2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af
folder=${XDG_CACHE_HOME:-$HOME/.cache}/outlast/axe-core-$version

if [ ! -f "$folder/axe.min.js" ]; then
	if ! command -v npm >/dev/null 2>&1; then
		echo "make axe: needs npm (Debian, Ubuntu: apt-get install npm). make test does without: it has a check of its own." >&2
		exit 1
	fi
	new=$(mktemp -d)
	trap 'rm -rf "$new"' EXIT
	(cd "$new" && npm pack --silent "axe-core@$version" >/dev/null)
	echo "$sum  $new/axe-core-$version.tgz" | sha256sum -c --quiet >&2
	tar -xzf "$new/axe-core-$version.tgz" -C "$new" package/axe.min.js
	mkdir -p "$folder"
	mv "$new/package/axe.min.js" "$folder/axe.min.js"
fi
echo "$folder/axe.min.js"
