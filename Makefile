# Everything here is a plain wrapper of commands that README.md shows.

DEADCODE := go run golang.org/x/tools/cmd/deadcode@v0.52.0
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help run packages test recipes adversary nightly lint bench ci cilint citest build web weblint

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: ## run the example cases with their own solutions: no key, no network
	go run ./cmd/assay run testcases/examples --agent oracle

build: ## build the program into bin/assay
	CGO_ENABLED=0 go build -trimpath -o bin/assay ./cmd/assay

packages: ## install what the tests need, from Debian's packages
	.ci/packages gcc libc6-dev python3-numpy python3-pandas python3-matplotlib python3-ipython python3-pytest python3-testpath python3-nbformat python3-websockets python3-plotly python3-pil python3-sympy python3-ipykernel python3-jupyter-client emacs-nox r-base-core r-cran-irkernel git=git chromium node=nodejs npm=npm

test: packages ## run all tests, with the race detector; installs what they need
	.ci/tests | .ci/summarise

recipes: ## run the recipes of docs/agents.md, with the real programs from npm
	.ci/packages node=nodejs npm=npm
	go test ./cmd/assay -run '^TestRecipes_' -count=1 -v

adversary: ## run hostile scripts, of which none may pass its case
	go test ./cmd/assay -run '^TestAdversary$$' -count=1 -v

web: ## build the page, web/dist, from its sources
	.ci/packages node=nodejs npm=npm
	.ci/node .ci/web build

weblint: ## check the page's sources, and that web/dist is what they give
	.ci/packages node=nodejs npm=npm
	.ci/node .ci/web lint

nightly: ## run the tests that are too long for CI and write docs/NIGHTLY.md
	.ci/packages gcc libc6-dev python3-numpy python3-pandas emacs-nox node=nodejs npm=npm
	.ci/nightly

lint: ## run the linters, look for dead code, misspelled words and what the formatters would change
	.ci/packages codespell
	GOGC=400 $(GOLANGCI) run ./...
	cd deploy && $(GOLANGCI) run --config ../.golangci.yml ./...
	$(GOLANGCI) fmt --diff ./...
	GOGC=400 .ci/nothing $(DEADCODE) -test -tags bench ./...
	codespell .

bench: ## measure, side by side, and write docs/BENCHMARKS.md
	.ci/packages python3-numpy python3-pandas python3-ipykernel python3-jupyter-client python3-jupyter-server emacs-nox chromium node=nodejs npm=npm
	.ci/node .ci/web packages
	go test -tags bench ./bench -run '^TestBench$$' -timeout 60m -v -args -out "$(CURDIR)/docs/BENCHMARKS.md"

ci: packages ## what CI runs: the linters, and all tests with the longest ones shortened or left to nightly
	.ci/node .ci/web packages
	$(MAKE) build
	$(MAKE) -j 2 cilint citest

cilint: # uses the time in which the tests wait
	nice $(MAKE) weblint lint

citest:
	.ci/tests -short | .ci/summarise
