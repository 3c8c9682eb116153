# Plain `make` prints the targets. Each needs Go alone, save where its line says otherwise.

GO    ?= go
SEEDS ?= 2000
SEED  ?=
ENGINE ?= sqlite
SECONDS ?= 60
LINT  := $(GO) tool -modfile=tools/go.mod golangci-lint

.DEFAULT_GOAL := help
.PHONY: help build demo test race lint fmt sim exhaust crash calls batches endpoints sagas turns history dashboard prove fuzz bench setup first axe vuln memory fair

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## compile everything; the command goes to bin/outlast
	$(GO) build ./...
	$(GO) build -o bin/outlast ./cmd/outlast

demo: ## kill workers under load and watch nothing get lost
	$(GO) run ./cmd/outlast demo

first: ## how long from a clean clone to a first call, batch and demo, with a warm module cache; FIRST_COLD=1: also without a build cache
	GO=$(GO) test/first/run.sh

test: setup ## vet and all tests on real servers; what a change must pass
	$(GO) vet ./...
	$(GO) test -timeout 15m ./...
	cd bench && CGO_ENABLED=0 $(GO) vet ./... && CGO_ENABLED=0 $(GO) test -timeout 10m .

race: setup ## all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./...

lint: ## golangci-lint with gosec, pinned in tools/go.mod; the first run builds it
	$(LINT) run ./...
	lint=$$($(GO) tool -n -modfile=tools/go.mod golangci-lint) && for module in bench bench/part bench/riversqlite; do (cd $$module && $$lint run ./...) || exit; done

vuln: ## govulncheck: known flaws in what is used; it needs the network, or GOVULNDB=file:///copy of https://vuln.go.dev
	$(if $(GOVULNDB),GOVULNDB=$(GOVULNDB)) $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

fmt: ## format with gofumpt
	$(LINT) fmt ./...

sim: ## simulate the kernel over memory: SEEDS=2000 runs, or SEED=n for that one
	$(GO) run ./test/sim/cmd $(if $(SEED),-seed $(SEED),-seeds $(SEEDS))

exhaust: ## simulate each scenario under every fault and every pair of faults at every store call, about 20 minutes: FAULTS=2 (1: singles alone), WORLDS=all (pairs with every kind of evidence: an hour), SCENARIO='^call', PART=1/13, MINUTES=10
	$(GO) run ./test/sim/cmd -exhaust $(or $(FAULTS),2) $(if $(filter all,$(WORLDS)),-abroad) -scenario '$(SCENARIO)' -part '$(PART)' -minutes $(or $(MINUTES),0)

crash: setup ## real processes, kill -9, SIGSTOP, the server killed, sessions cut, answers lost, the disk full, clocks wrong: ENGINE=sqlite|postgres|pgbouncer|redis SECONDS=60 SEED=1 RATE=140
	$(GO) run ./test/crash/cmd -engine $(ENGINE) -seconds $(SECONDS) -seed $(or $(SEED),1) -rate $(or $(RATE),140)

calls: setup ## kill -9 processes that send requests, at every place, on every engine: CALLS=10000
	CALLS=$(or $(CALLS),10000) $(GO) test -count=1 -v -timeout 30m ./test/calls

history: setup ## clients with faults between them and one store, and an order in which all their answers can be, on each engine: SECONDS=60 SEED=1
	OUTLAST_HISTORY_SECONDS=$(SECONDS) OUTLAST_HISTORY_SEED=$(or $(SEED),1) $(GO) test -count=1 -v -timeout 3h -run Linearizable ./test/history

turns: setup ## kill -9 processes under limits, rates and schedules, on each engine: KILLS=1000
	TURNS_KILLS=$(or $(KILLS),1000) $(GO) test ./test/turns -v -count=1 -timeout 60m

fair: setup ## a tenant with 1,000,000 tasks beside one with ten, on each engine: TASKS=1000000
	TURNS_BACKLOG=$(or $(TASKS),1000000) $(GO) test ./test/turns -run TakeTurns -v -count=1 -timeout 60m

endpoints: setup ## 200 clients, 20,000 requests, kill -9 every 2 s, on every engine or ENGINES='postgres|redis'
	OUTLAST_ENDPOINTS_LONG=1 $(GO) test -count=1 -v -timeout 30m ./test/endpoints -run 'TestEveryAccepted$(if $(ENGINES),/$(ENGINES))'

sagas: setup ## kill -9 processes at every commit of a saga, on each engine, and measure how soon others go on: DEATHS=100
	SAGA_KILLS=all SAGA_TRIALS=$(or $(DEATHS),100) $(GO) test -count=1 -v -timeout 60m -run 'Killed|HowSoon' ./test/sagas

batches: setup ## three processes work on a batch and are killed: ENGINE=sqlite|postgres|redis ROWS=100000 KILLS=10
	BATCH_ENGINE=$(ENGINE) BATCH_ROWS=$(or $(ROWS),100000) BATCH_KILLS=$(or $(KILLS),10) $(GO) test -count=1 -v -timeout 3h -run TestKilledProcesses ./test/batches

memory: setup ## see that memory stays flat: of a daemon under load for TIME=10m on STORE=sqlite|postgres|redis, or with MINUTES=60 of a worker on each engine, told as JSON
ifdef MINUTES
	cd bench && $(GO) run . -memory $(MINUTES)m -out out/memory && cat out/memory/latest.json
else
	OUTLAST_MEMORY=$(or $(TIME),10m) OUTLAST_MEMORY_STORE=$(or $(STORE),sqlite) $(GO) test -count=1 -v -timeout 2h -run TestMemoryStaysFlat ./test/workers
endif

dashboard: setup ## how long each page takes with TASKS=1000000 in the store: ENGINES='sqlite|postgres' (redis as well); pictures: OUTLAST_SCREENSHOTS=folder with go test ./test/web
	OUTLAST_WEB_TASKS=$(or $(TASKS),1000000) $(GO) test -run '^$$' -bench 'BenchmarkPages/($(or $(ENGINES),sqlite|postgres))' -benchtime 40x -timeout 1h ./test/web

axe: setup ## let axe-core, fetched by npm, look at every page of the dashboard (needs npm; make test looks with a check of its own)
	OUTLAST_AXE=$$(test/web/axe.sh) && export OUTLAST_AXE && $(GO) test -count=1 -timeout 20m -run 'TestEveryPage|TestAxeSees' ./test/web

prove: ## plant one bug at a time and show that the suites find each
	$(GO) run ./test/mutant/cmd

fuzz: ## fuzz each decoder, parser and policy: FUZZTIME=30s each, ONLY=regexp; what breaks one is kept under testdata/fuzz of its package
	FUZZTIME=$(or $(FUZZTIME),30s) ONLY='$(or $(ONLY),.)' test/fuzz/run.sh

bench: setup ## measure side by side with other libraries and the bare stores: BENCH=quick (5 minutes), ONLY=regexp, HUGE=1 (10,000,000 finished tasks), ROUNDS=n, WRITE=1 (a full run into BENCHMARKS.md), ADD=1 (a part of one)
	@bench/sidekiq/install.sh
	cd bench && $(GO) run . $(if $(filter quick,$(BENCH)),-quick) $(if $(ONLY),-only '$(ONLY)') $(if $(HUGE),-huge) $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(WRITE),-write) $(if $(ADD),-add)

setup: ## fetch what the tests need: modules, and PostgreSQL, pgbouncer, Redis and an S3 server to start private ones from
	@$(GO) mod download
	@$(GO) tool -n -modfile=tools/s3/go.mod versitygw >/dev/null
	@cd tools/openapi && $(GO) mod download
	@test/servers/install.sh
