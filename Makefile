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
SLOW_TIME  := 20m
QUICK      := ./bridge ./bridge/ledger/... ./bridge/store/... ./bridge/engine/... ./bridge/enrol/... ./bridge/desk/... ./bridge/config/... ./bridge/sim/... \
	./policies/... ./bridge/report/... ./bot/card ./bot/say ./bot/words
QUICK_TIME := 10m
RACE       := ./bridge/engine/... ./bridge/store/... ./bridge/desk/... ./bot

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
	@$(TOOL) gotestsum --format pkgname-and-test-fails -- -race -short -p 2 -timeout $(QUICK_TIME) $(RACE)

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

.PHONY: soak
soak: ## long runs: more seeds, 50 kills, Slurm 26.05
	@deploy/setup/packages.sh test
	@SPILLWAY_SOAK=1 $(GO) test -count 1 -p 1 -timeout 6h ./...

.PHONY: clean
clean: ## remove what was built; images in the cache stay
	@rm -rf bin bench.txt
