#!/bin/sh
# Sees to it that Sidekiq is there, for the benches beside it. On Debian and Ubuntu, as root, it installs it, after saying so; elsewhere it
# says what to do. It never fails: without Sidekiq its rows say that it is missing.
if command -v sidekiq >/dev/null 2>&1; then
	exit 0
fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	echo "make bench: installing ruby-sidekiq with apt-get, to compare with"
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -qq -y --no-install-recommends ruby-sidekiq >/dev/null 2>&1 ||
		{ apt-get update -qq && apt-get install -qq -y --no-install-recommends ruby-sidekiq >/dev/null; } ||
		echo "make bench: ruby-sidekiq could not be installed; its rows will say so" >&2
	exit 0
fi
echo "make bench: Sidekiq is missing, and its rows will say so. Debian, Ubuntu: sudo apt-get install ruby-sidekiq" >&2
