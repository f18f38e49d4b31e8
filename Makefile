# assay: contract-first conformance tests. `make` prints this help.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
export CGO_ENABLED ?= 0

BIN      := bin/assay
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
CONTRACT ?= seer
STORE    ?= sqlite
FUZZTIME ?= 5s
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help build cross demo test test-race test-plain test-browser peers mutants lint docs fuzz bench clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

build: ## Build bin/assay, a static binary
	@go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/assay

cross: ## Build for Linux, macOS and Windows on amd64 and arm64 into dist/
	@for p in $(PLATFORMS); do \
	  ext=; [[ $$p == windows/* ]] && ext=.exe; \
	  echo "dist/assay-$${p/\//-}$$ext"; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -ldflags '$(LDFLAGS)' -o dist/assay-$${p/\//-}$$ext ./cmd/assay; \
	done

demo: build ## Serve a reference and judge it (CONTRACT=seer|notes STORE=sqlite|memory)
	@$(BIN) demo --contract $(CONTRACT) --store $(STORE)

test: ## All tests; with the race detector where a C compiler is there
	@if command -v $${CC:-gcc} >/dev/null 2>&1 || command -v clang >/dev/null 2>&1; then \
	  $(MAKE) --no-print-directory test-race; \
	else \
	  echo "======================================================================"; \
	  echo "NO C COMPILER: the tests run WITHOUT the race detector on this machine."; \
	  echo "======================================================================"; \
	  $(MAKE) --no-print-directory test-plain; \
	fi

test-race: ## All tests with the race detector (needs a C compiler)
	@go vet ./...
	@CGO_ENABLED=1 go test -race -timeout 15m ./...
	@go test -timeout 5m ./reference/store/... ./conformance/hostile/... # the heavy loops, which the race detector slows down many times, and the bounds of memory, which it breaks

test-plain: ## All tests without the race detector
	@go vet ./...
	@go test -timeout 15m ./...

test-browser: ## The HTML report in a headless browser, with axe-core (gets both where they are missing)
	@command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; }
	@[[ -f bin/axe/node_modules/axe-core/axe.min.js ]] || npm install --silent --no-save --prefix bin/axe axe-core@4
	@go vet -tags browser ./conformance/report/html
	@AXE_CORE=$(CURDIR)/bin/axe/node_modules/axe-core/axe.min.js go test -tags browser -count 1 -timeout 5m ./conformance/report/html

peers: ## The official MCP client, suite and servers against ours, and ours against them (needs npm)
	@command -v npm >/dev/null 2>&1 || { echo "make peers needs npm, which brings the peers: install Node.js with npm and run it again" >&2; exit 1; }
	@mkdir -p bin/peers && cp cmd/assay/testdata/peers/{package.json,package-lock.json,.npmrc,*.mjs} bin/peers/
	@{ [[ -x bin/peers/node_modules/.bin/node ]] && cmp -s bin/peers/package-lock.json bin/peers/installed; } || { cd bin/peers && npm ci --loglevel error && cp package-lock.json installed; } || \
	  { echo "make peers: npm could not install what cmd/assay/testdata/peers/package.json names; nothing was compared" >&2; exit 1; }
	@go vet -tags peers ./cmd/assay
	@ASSAY_PEERS=$(CURDIR)/bin/peers go test -tags peers -count 1 -timeout 10m -v -run '^TestPeers' ./cmd/assay

mutants: build ## Prove the suite: every broken server must be caught, the correct one never
	@$(BIN) mutants

lint: build ## gofmt, vet, the contracts, and golangci-lint where it is installed
	@out=$$(gofmt -l .); if [[ -n $$out ]]; then echo "gofmt would change: $$out"; exit 1; fi
	@go vet ./...
	@for c in spec/contracts/*/; do echo "$$c"; $(BIN) lint --contract $$c; done
	@if command -v golangci-lint >/dev/null 2>&1; then golangci-lint run ./...; else echo "golangci-lint is not installed: skipped"; fi

docs: build ## Write again what is generated under docs/: the manual, and the reports of one failing run
	@$(BIN) man docs/man
	@work=$$(mktemp -d); mkdir -p docs/examples; \
	$(BIN) serve --contract notes --mutant race-record-overwritten --write-profile $$work/profile.yaml >/dev/null & server=$$!; \
	trap 'kill $$server; rm -rf $$work' EXIT; \
	for _ in $$(seq 100); do [[ -s $$work/profile.yaml ]] && break; sleep 0.1; done; \
	(cd $$work && $(CURDIR)/$(BIN) check --profile profile.yaml --only idempotency.twins@createNotebook,idempotency.race@createNotebook --seed 1 \
	  --report $(CURDIR)/docs/examples/report.json >/dev/null) || [[ $$? == 1 ]] # there, so that no path of this machine is in it
	@$(BIN) report docs/examples/report.json --format text --out docs/examples/report.txt
	@$(BIN) report docs/examples/report.json --format junit --out docs/examples/junit.xml
	@$(BIN) report docs/examples/report.json --format markdown --out docs/examples/summary.md
	@$(BIN) report docs/examples/report.json --format html --out docs/examples/report.html

fuzz: ## Run every fuzz target for FUZZTIME each
	@for pkg in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

bench: build ## Benchmarks; the last line tells what the proof of the suite costs
	@go test -run '^$$' -bench . ./conformance/... ./reference/... ./spec/... ./cmd/... | grep -E '^(Benchmark|cpu:|FAIL|---)'
	@$(BIN) mutants | tail -n 1

clean: ## Remove what was built
	@rm -rf bin dist
