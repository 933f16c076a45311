# Everything that people and CI do with this repository. `make` lists it.

GO      ?= go
LEATENV  = $(GO) run ./internal/testenv/leatenv
# For tests: what servers hold is kept in memory, if there is plenty of it.
TESTENV  = $(LEATENV) run -memory
LINT     = GOWORK=off $(GO) tool -modfile=$(CURDIR)/.ci/tools/go.mod golangci-lint
# It is built with what the linters are, so that it runs while a go.mod is wrong.
RELEASE  = GOWORK=off $(GO) run -C internal/proof -modfile=$(CURDIR)/.ci/tools/go.mod ./cmd/release
# Modules beside the root one: those that users can require, and all.
RELEASED := cmd/leat middleware/metrics/promleat outbox/mysqlbinlog outbox/natssink outbox/dynamooutbox inbox/dynamoinbox dedupe/dynamodedupe
MODULES := $(RELEASED) examples benchmarks internal/proof

# LEVELS are those whose tests run (docs/maintaining.md); 2/6 is a sixth of level 2, which COMMIT
# chooses, the number of the commit.
LEVELS  ?= 0,1
COMMIT  ?=
AT       = $(if $(COMMIT),-commit $(COMMIT))
RACED   ?= 0,1/4
# Level 0 needs no servers.
SERVERS := postgres,kafka,redis,rabbitmq,mysql,mariadb,dynamodb
LEVELED  = $(if $(filter-out 0,$(LEVELS)),$(TESTENV) -services $(SERVERS) --)
LEATTEST = $(GO) run ./internal/testlevel/leattest
# RERUN is how many tests may fail in a run and are run once more; see leattest.
RERUN   ?= 0
LEATRUN  = $(LEATTEST) run -rerun $(RERUN)
# RACE=1 turns the race detector on. It looks for races in Go that people wrote: SQLite in
# Go is C that was translated, and runs sixteen times as fast if it is left out.
RACE    ?=
RACING   = -race '-gcflags=modernc.org/...=-race=false'
# FLAGS is passed on to go test, such as FLAGS='-run TestO2 -v -count=1'.
FLAGS   ?=
# Without what a debugger needs, a test links in two thirds of the processor time.
LDFLAGS  = -ldflags='-s -w'
TESTFLAGS = $(LDFLAGS) $(if $(RACE),$(RACING)) -timeout=12m $(FLAGS)

# The PostgreSQL versions of test-pg-versions and the packages that speak to it.
PG_VERSIONS ?= 14 15 16 17 18
PG_PACKAGES := ^(outbox/(pgoutbox|wmforward|internal/.*)|inbox/(pginbox|pgwatermark)|dedupe/(pgdedupe|httpdedupe/.*)|internal/pgmigrate)$$
REDIS_PACKAGES := ^(dedupe/(redisdedupe|dedupetest|httpdedupe)|inbox/rediscache|outbox/redissink)$$

# ARGS is passed on to the demo, such as ARGS='-events 2000'. ON is the database that it is
# about: postgres, mysql, mariadb or sqlite. A build tag links the driver: SQLite's takes a
# minute to compile.
ARGS    ?=
ON      ?= postgres
DEMOTAG  = $(if $(filter-out postgres,$(ON)),-tags=demo_$(patsubst mariadb,mysql,$(ON)))
# SEEDS is how many schedules `make proof` simulates of each scenario, FAULTS how many
# faults must have had an effect on real servers, SOAK what is passed on to the soak.
SEEDS   ?= 5000
FAULTS  ?= 300
SOAK    ?= -for 1h
# STORE is what all stands on in proof-faults and soak: postgres, mysql, mariadb, sqlite or dynamodb.
# The drivers of the SQL ones are those of internal/proof/sqltest; DynamoDB has no acts.
STORE   ?= postgres
# RELAY=daemon has the daemon of cmd/leat relay in proof-faults and soak.
RELAY   ?=
# TAIL=1 has the relays there follow PostgreSQL's change log.
TAIL    ?=
# CONTENT=1 has the events there in Avro by a schema registry, and sealed; without acts.
CONTENT ?=
# ACTS are the acts of proof-faults, separated by commas, or none. Defaults to all.
ACTS    ?=
# CONTROLS= leaves out the runs with rules broken on purpose.
CONTROLS ?= -controls
# PLATFORMS are those of cross, beside the one that tests run on.
PLATFORMS ?= linux/arm64 darwin/arm64 windows/amd64
# NARROW are the engines and machines.
NARROW := ^(outbox|outbox/(relay|memoutbox|internal/heldqueue)|inbox|inbox/(meminbox|twotier)|middleware|dedupe|dedupe/memdedupe|internal/(ids|keyhash))$$
# FUZZTIME is how long each decoder is fuzzed.
FUZZTIME ?= 10s
PROOF    = $(GO) run -C internal/proof
CHAOS    = $(if $(RELAY),$(if $(filter daemon,$(RELAY)),,$(error RELAY=$(RELAY): must be daemon or nothing))$(PROOF) ./cmd/soakdaemon,$(if \
	$(filter postgres dynamodb,$(STORE)),$(PROOF) ./cmd/soak,$(GO) run -C internal/proof/sqltest ./cmd/soak)) -store $(STORE)$(if $(TAIL), -tail)$(if $(CONTENT), -content)
# BENCH selects benchmarks, SCALE says how much they do (full, quick or ci), BENCHFLAGS is
# passed on to cmd/bench. The page is written only of all benchmarks at full scale.
BENCH      ?= .
SCALE      ?= full
BENCHFLAGS ?=
FROM       ?= benchmarks/samples
TO         ?= docs/benchmarks/trace
# COUNTED are the packages that count what a message costs. The race detector allocates itself,
# so that these counts need a run without it.
COUNTED     = ./outbox/relay ./outbox/kafkasink ./outbox/pgoutbox ./inbox/pginbox
# TESTFILES has go list print each test's file: only packages that have benchmarks are linked.
TESTFILES   = {{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}
BENCHES     = $(LEATENV) run -- $(GO) run -C benchmarks ./cmd/bench

.DEFAULT_GOAL := help
.PHONY: help hello demo watch test test-root test-modules test-short test-race test-pg-versions test-valkey \
	lint vulncheck fmt bench bench-trace bench-again bench-quick bench-micro bench-page bench-sql bench-sinks counts \
	proof proof-models proof-simulation proof-faults soak mutants fuzz docs recording services-up services-down kafka tidy release release-rehearsal api cross test-narrow ci

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-18s %s\n", $$1, $$2 }'

hello: ## see in a second, without servers, what leat does
	@$(GO) run -C examples ./hello

demo: ## carry events from a transaction to an effect, with crashes; ON=mysql, ARGS='-events N', SABOTAGE=…
	@$(GO) run -C examples $(DEMOTAG) ./quickstart -on $(ON) $(ARGS)

watch: ## show load, metrics in Prometheus, alert rules and the dashboard until Ctrl-C; ARGS='-for 90s'
	@$(LEATENV) run -services postgres -- $(GO) run ./internal/proof/cmd/watch $(ARGS)

test: ## run levels 0 and 1, in minutes, on servers that it starts; LEVELS=0, RACE=1, FLAGS='-run TestO5 -count=1'
	@$(LEVELED) $(LEATRUN) -levels $(LEVELS) $(AT) -- $(TESTFLAGS)

test-all: ## run every configuration, driver, isolation level and version; most of an hour
	@$(MAKE) --no-print-directory test LEVELS=0,1,2,4
	@$(MAKE) --no-print-directory test-pg-versions test-valkey

# A slice is a third of level 2 and of level 4: a row of commits runs all of both.
SLICE   := 2/3,4/3

test-slice: ## run the part of levels 2 and 4 that CI runs at this commit; COMMIT=N
	@$(MAKE) --no-print-directory test LEVELS=$(SLICE)

test-list: ## list the tests of LEVELS, such as LEVELS=2/3,4/3: what CI runs at this commit; COMMIT=N
	@$(LEATTEST) list -levels $(LEVELS) $(AT)

# Without the workspace: at the versions of dependencies that the root's own go.mod names.
test-race: ## run level 0 of the root module, and a quarter of its level 1, under the race detector; RACED=0,1 for all
	@GOWORK=off $(TESTENV) -services $(SERVERS) -- $(LEATRUN) -module . -levels $(RACED) $(AT) -- $(TESTFLAGS) $(RACING)

test-pg-versions: ## run level 1 of the PostgreSQL packages on every supported version; PG_VERSIONS='14 18'
	@set -e; for version in $(PG_VERSIONS); do \
		LEAT_PG_VERSION=$$version $(TESTENV) -services postgres,kafka,redis -- \
			$(LEATRUN) -levels 0,1 -only '$(PG_PACKAGES)' -- $(TESTFLAGS) -count=1; \
	done

# On Redis these run with all the others.
test-valkey: ## the tests that speak to Redis on a Valkey 9 that compares and sets
	@LEAT_REDIS_SERVER=valkey $(TESTENV) -services postgres,redis -- \
		$(LEATRUN) -levels 0,1 -only '$(REDIS_PACKAGES)' -- $(TESTFLAGS) -count=1

lint: ## check style, layers and likely bugs in all modules
	@.ci/lint . $(MODULES:%=./%)

vulncheck: ## look for known vulnerabilities, if their database can be reached
	@.ci/vulncheck . $(MODULES)

fmt: ## format all modules (gofumpt, imports in groups)
	@set -e; for module in . $(MODULES); do \
		(cd $$module && $(LINT) fmt --config=$(CURDIR)/.golangci.yml ./...); \
	done

bench: ## measure leat beside its rivals, and write docs/benchmarks.md and internals/measurements.md; BENCH=regexp, SCALE=…, BENCHFLAGS=…
	@$(BENCHES) -docs $(CURDIR)/docs -bench '$(BENCH)' -scale $(SCALE) $(BENCHFLAGS)

# On an idle machine this takes two to three minutes, servers included.
bench-trace: ## follow single messages, and draw where the slowest hundredth spent its time; TO=directory
	@$(TESTENV) -services postgres,kafka -- $(GO) test -C benchmarks -count=1 -run '^$$' -bench LatencyTrace -benchtime 5x \
		-scale $(SCALE) -traced $(abspath $(TO)) .

bench-again: ## run BENCH=regexp again at full scale, and write the pages with what comes out
	@$(BENCHES) -docs $(CURDIR)/docs -bench '$(BENCH)' -again $(BENCHFLAGS)

bench-quick: ## print the figures of all gates, at smaller sizes, within twelve minutes
	@$(BENCHES) -quick $(BENCHFLAGS)

bench-micro: ## measure what leat does between the servers: time and allocations of each package; FLAGS=…
	@$(GO) test $(LDFLAGS) -short -run '^$$' -bench . -benchmem $(FLAGS) \
		$$(grep -l '^func Benchmark' $$($(GO) list -f '$(TESTFILES)' ./...) | xargs -n1 dirname | sort -u)

counts: ## count what a message costs: allocations, collections, round trips, WAL; a bound that is passed fails
	@$(TESTENV) -services postgres -- $(GO) test $(LDFLAGS) -count=1 -run '^Test(Count|Trickle)_' $(FLAGS) $(COUNTED)

bench-page: ## write the pages of benchmarks again from the samples in FROM, benchmarks/samples
	@$(GO) run -C benchmarks ./cmd/bench -docs $(CURDIR)/docs -from $(abspath $(FROM))

bench-sql: ## measure the stores on MySQL, MariaDB and SQLite, and print their aims; some ten minutes; FLAGS=-rounds=5
	@$(LEATENV) run -services kafka -- $(GO) test -C internal/proof/sqltest ./bench \
		-run '^$$' -bench . -benchtime 1x -timeout 0 $(FLAGS)

bench-sinks: ## measure the sinks beside the brokers' own clients; within two minutes
	@$(GO) test -run '^$$' -bench Send -benchtime 60x ./outbox/httpsink ./outbox/redissink
	@$(GO) test -C internal/proof/brokertest -run '^$$' -bench NATS -benchtime 20x .
	@$(LEATENV) run -services rabbitmq -- $(GO) test -run '^$$' -bench Send -benchtime 30x ./outbox/amqpsink

proof: proof-models proof-simulation proof-faults ## check what leat promises on this machine, in minutes; SEEDS=…, FAULTS=…

proof-models: ## search the protocols exhaustively, and want each forbidden variant to be caught
	@$(PROOF) ./cmd/models

proof-simulation: ## run the engines through seeded schedules in virtual time, and with broken rules
	@$(PROOF) ./cmd/simulate -seeds $(SEEDS)
	@$(PROOF) ./cmd/simulate -controls

proof-faults: ## run producers, relays and consumers on real servers, and harm all of them; STORE=…, RELAY=daemon, TAIL=1, CONTENT=1, ACTS=…
	@$(CHAOS) -faults $(FAULTS) $(CONTROLS) $(if $(ACTS),-acts $(ACTS))

soak: ## the same for as long as SOAK says, with a report in docs/internals/reliability.md; STORE=…, RELAY=daemon
	@$(CHAOS) $(CONTROLS) -report $(CURDIR)/docs/internals $(SOAK)

mutants: ## break our own rules one at a time: the test named for each must fail; ARGS='-short'
	@$(TESTENV) -services postgres,kafka,redis,rabbitmq,mysql,mariadb,dynamodb -- $(PROOF) ./cmd/mutants $(ARGS)

fuzz: ## fuzz every decoder; FUZZTIME=…
	@$(TESTENV) -services postgres -- $(PROOF) ./cmd/fuzzall -for $(FUZZTIME) -dir $(CURDIR)
	@$(PROOF) ./cmd/fuzzall -for $(FUZZTIME) ./history

docs: ## build the site of docs/ into site/, and fail for a link that leads nowhere; VERSION=v0.1.0
	@.ci/docs/build $(VERSION)

recording: ## draw what hello, status and doctor print, into docs/drawings
	@$(TESTENV) -services postgres,redis -- .ci/docs/record.py

services-up: ## start servers that stay until services-down and that all the rest uses
	@$(LEATENV) up

services-down: ## stop them
	@$(LEATENV) down

kafka: ## fetch Apache Kafka and run a broker in the foreground
	@$(LEATENV) kafka

tidy: ## go mod tidy in every module, and the workspace in step
	@$(RELEASE) tidy
	@GOWORK=off $(GO) -C .ci/tools mod tidy

release: ## commit and tag a release of all public modules, and write what is published to dist/; it pushes nothing; VERSION=v0.1.0
	@$(RELEASE) tag '$(VERSION)'

release-rehearsal: ## release a clone, install the command and use each public module as somebody without a clone
	@$(RELEASE) rehearse

api: ## compare the stable packages with the last release; a break needs a word in CHANGELOG.md
	@$(RELEASE) api

cross: ## build and vet the public modules and the command for PLATFORMS
	@.ci/cross $(PLATFORMS) -- . $(RELEASED)
	@GOFLAGS=-tags=no_nats .ci/cross $(PLATFORMS) -- cmd/leat

test-narrow: ## run level 0 of the engines on 386, whose ints have 32 bits
	@CGO_ENABLED=0 GOARCH=386 $(LEATRUN) -levels 0 -only '$(NARROW)' -- $(TESTFLAGS)

ci: ## what CI does
	@.ci/run
