# What a developer runs. .ci/run takes the same steps, so that what passes here
# passes there.

# The product is built without cgo, and so are the checks: one build cache. Only
# the race detector needs a C compiler.
export CGO_ENABLED = 0

RACE      = -race
TIMEOUT   = 20m
TESTFLAGS =
PACKAGES  = ./...
WEB       = worker/api/web

# The line that builds the image's binary, read from the Dockerfile.
BUILD = $(shell sed -n 's/^RUN \(CGO_ENABLED=0 go build .*\)$$/\1/p' Dockerfile)

.DEFAULT_GOAL := help

.PHONY: help
help: ## tell what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./headstart as the image has it
	@test -n '$(BUILD)' || { echo 'the Dockerfile has no line "RUN CGO_ENABLED=0 go build …"'; exit 1; }
	$(BUILD)

# Tests find or build a LiveKit server by themselves; the first run on a machine
# takes some minutes more for it. So it is with PostgreSQL, for root on a Linux
# with mmdebstrap; elsewhere HEADSTART_TEST_POSTGRES names one by its URL, with
# pgvector and pg_textsearch, or what needs it skips. What needs the project's shared files skips,
# saying so, unless HEADSTART_SHARED names their folder.
.PHONY: test
test: ## run all tests under the race detector (RACE= without, PACKAGES=./turn/... some)
	@test -z '$(RACE)' || command -v $$(go env CC) >/dev/null || \
		{ echo 'the race detector needs a C compiler: install one, or run make test RACE='; exit 1; }
	@rc=0; $(if $(OTHERS),$(GOTEST) $(OTHERS) || rc=1;) $(if $(LIVE),$(GOTEST) -p 1 $(LIVE) || rc=1;) exit $$rc
# What makes calls in real time goes one after the other, when nothing else runs:
# a caller whose words come late asks another question than the test's.
GOTEST  = CGO_ENABLED=$(if $(RACE),1,0) go test $(RACE) -timeout $(TIMEOUT) $(TESTFLAGS)
CALLING = headstart/cmd/headstart headstart/worker headstart/worker/api headstart/worker/room
TESTED  = $(shell go list $(PACKAGES))
LIVE    = $(filter $(CALLING),$(TESTED))
OTHERS  = $(filter-out $(CALLING),$(TESTED))

.PHONY: bench
bench: ## run each benchmark once (BENCHTIME=1s to measure)
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout $(TIMEOUT) $(PACKAGES)
BENCHTIME = 1x

# A module of its own, so that what rivals depend on reaches no user: the other
# targets do not see it, and this one checks it too.
.PHONY: rivals
rivals: BENCHTIME = 300x
rivals: ## check the rivals' module and measure bleve and chromem-go beside ours, on one core (needs HEADSTART_SHARED)
	cd retrieval/rivals && go mod tidy -diff && go vet ./... && go fix -diff ./... && \
		go test -run '^$$' -bench . -benchtime $(BENCHTIME) -cpu 1 -timeout $(TIMEOUT) ./...

.PHONY: lint
lint: fmt tidy vet fix staticcheck ## run all checks that read and do not run the code

# The nested module under testdata has no Go files, and node_modules may have
# some of others.
.PHONY: fmt
fmt: ## tell which files gofmt would change
	@files=$$(find . -name '*.go' -not -path '*/node_modules/*' -not -path './.*' -print0 | xargs -0 gofmt -l) && \
		test -z "$$files" || { echo "gofmt would change:"; echo "$$files"; exit 1; }

.PHONY: tidy
tidy: ## tell how go mod tidy would change go.mod and go.sum
	go mod tidy -diff

.PHONY: vet
vet: ## run go vet
	go vet $(PACKAGES)

.PHONY: fix
fix: ## tell what go fix would modernise
	go fix -diff $(PACKAGES)

.PHONY: staticcheck
staticcheck: ## run staticcheck, of the version in go.mod
	go tool staticcheck $(PACKAGES)

.PHONY: web
web: ## build the library of the visitor's page, for the next make build
	npm install --no-audit --no-fund --prefix $(WEB)
	npm run --prefix $(WEB) build

.PHONY: demo
demo: build ## make three recorded calls on this machine, without keys
	./headstart demo
