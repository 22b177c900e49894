# Spillway. `make demo` shows the main job, `make test` passes all tests.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.SHELLFLAGS := -eu -c

GO      ?= go
BIN     := bin/spillway
TOOL    := $(GO) tool -modfile=go.tools.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)

# The time that any one package may take, real servers included, and one that starts none.
SLOW_TIME  := 40m
QUICK      := ./bridge ./bridge/ledger/... ./bridge/store/... ./bridge/engine/... ./bridge/enrol/... ./bridge/desk/... ./bridge/config/... ./bridge/sim/... \
	./policies/... ./bridge/report/... ./bot/card ./bot/say ./bot/words
QUICK_TIME := 10m
RACE       := ./bridge/engine/... ./bridge/store/... ./bridge/desk/... ./bridge/sim/crash ./bridge/sim/slurmctl ./bot
FUZZTIME   ?= 20s
# Each suite of seeds has its own bound within this, in minutes; whatever is played then ends soon after.
SOAK_TIME  ?= 110

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# With cgo where a C compiler is, so that accounts come from the site's own directory service too.
.PHONY: build
build: ## build bin/spillway
	@$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./bridge/cmd/spillway

.PHONY: demo
demo: ## a real Slurm queue overflows into rented machines, and drains (AUTO=1 decides by itself; OUTPUT=json; SCHEDULER=sim needs no root)
	@$(if $(filter sim,$(SCHEDULER)),true,deploy/setup/packages.sh demo)
	@$(MAKE) --no-print-directory build >&2
	@$(BIN) demo $(if $(AUTO),--auto) $(if $(filter json,$(OUTPUT)),--output json) $(if $(SLURM),--slurm $(SLURM)) \
		$(if $(SCHEDULER),--scheduler $(SCHEDULER)) $(if $(SEED),--seed $(SEED))

.PHONY: test
test: ## all tests: real Slurm, real kill -9, the demo itself (root or sudo; Debian)
	@deploy/setup/packages.sh test
	@$(MAKE) --no-print-directory build
	@$(TOOL) gotestsum --format pkgname-and-test-fails -- -p 2 -timeout $(SLOW_TIME) ./...
	@$(TOOL) gotestsum --format pkgname-and-test-fails -- -race -short -p 2 -timeout $(SLOW_TIME) $(RACE)

.PHONY: quick
quick: ## under a minute: what needs no root and no server
	@$(TOOL) gotestsum --format pkgname-and-test-fails -- -short -timeout $(QUICK_TIME) $(QUICK)

.PHONY: lint
lint: ## golangci-lint at its pinned version, go vet and gofmt
	@test -z "$$(gofmt -l bridge slurm policies bot)" || { gofmt -l bridge slurm policies bot; exit 1; }
	@$(GO) vet ./...
	@$(GO) run -modfile=go.lint.mod github.com/golangci/golangci-lint/v2/cmd/golangci-lint run ./...

.PHONY: page
page: ## build the page of the local Slack again (bot/slackd/web/dist)
	@deploy/setup/packages.sh test
	@$(GO) test -count 1 -run '^TestPageIsBuiltFromItsSource$$' ./bot/slackd/honest -update

.PHONY: pictures
pictures: ## draw every Slack card and the weekly report again and keep the pictures (then look at them)
	@deploy/setup/packages.sh test
	@$(GO) test -count 1 -timeout $(SLOW_TIME) -run '^TestPicturesOf(EveryCard|TheReport)$$' ./bot/slackd/honest -update

.PHONY: bench
bench: ## every figure of the project in one table (BENCH=Decide for some, COUNT=6 for more runs)
	@deploy/setup/packages.sh test
	@$(GO) test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),3) -timeout 40m ./... | tee bench.txt | grep -v '^\(ok\|PASS\|?\)' && $(TOOL) benchstat bench.txt

.PHONY: fuzz
fuzz: ## every fuzzer of the tree for FUZZTIME, one after the other
	@$(GO) test -list '^Fuzz' ./... >fuzz.txt || { cat fuzz.txt; rm fuzz.txt; exit 1; }
	@awk '/^Fuzz/ {f[n++] = $$1} /^ok/ {for (i = 0; i < n; i++) print $$2, f[i]; n = 0}' fuzz.txt | while read -r package name; do \
		echo "$$name of $$package" && $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" || exit 1; done
	@rm fuzz.txt

.PHONY: mutants
mutants: ## remove each guard of the protocol and see which test notices
	@$(GO) test -count 1 -v -timeout 90m -run '^TestMutants' ./bridge/sim/mutant -mutants '$(or $(MUTANTS),.)'

# What soak found out, by suite: each says how many runs that were. None that failed
# in N means below 3/N at 95 %.
.PHONY: soak
soak: ## at most two hours (SOAK_TIME=110 minutes) of seeds, crashes, kills, faults and mutants, and how many they were
	@deploy/setup/packages.sh test
	@SPILLWAY_SOAK=1 SPILLWAY_SOAK_END=$$(($$(date +%s) + 60 * $(SOAK_TIME))) \
		$(GO) test -count 1 -v -p 2 -timeout 2h ./bridge/sim ./bridge/sim/... ./bridge/... ./slurm/... ./policies/... ./bot/... >soak.txt 2>&1; code=$$?; \
		grep -E '^(FAIL|ok|panic)|[0-9]+ of [0-9]+ (seeds|caught)|[0-9]+ (runs|seeds|schedules|deaths|kills|points)' soak.txt; \
		awk '/^ *--- PASS/ {pass++} /^ *--- FAIL/ {fail++} END {printf "%d runs, %d failures", pass + fail, fail; if (pass && !fail) printf ": below %.3f %% each at 95 %%", 300 / pass; print ""}' soak.txt; exit $$code

.PHONY: clean
clean: ## remove what was built; images in the cache stay
	@rm -rf bin bench.txt fuzz.txt soak.txt
