# The contributor's interface. `make run` and `make test` set up what is missing.
.PHONY: run disk devices test test-all lint bench fuzz docs wheel deb aarch64 lock clean

# The switch and the tester of disks are built after the first search, not before it.
run:
	@tools/setup first
	@tools/main-job
	@tools/setup run

disk:
	@tools/setup run
	@tools/disk-job

devices:
	@tools/setup run
	@tools/devices

test:
	@tools/setup test
	@tools/test quick

test-all:
	@tools/setup test
	@tools/test all

lint:
	@tools/setup test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	.venv/bin/mypy
	.venv/bin/mypy --config-file bench/mypy.ini bench/*.py tools/*.py
	.venv/bin/stubtest brimful._core

bench:
	@tools/setup test
	bench/run

fuzz:
	fuzz/run

docs:
	@tools/setup test
	@mkdir -p build
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet --document-private-items
	.venv/bin/python tools/reference.py > build/command.md && mv build/command.md docs/reference/command.md
	.venv/bin/python tools/record_fields.py > build/fields.md && mv build/fields.md docs/reference/record-fields.md
	.venv/bin/python tools/figures.py
	.venv/bin/zensical build -f mkdocs.yml --strict

# The same bytes under every locale.
wheel deb: export PYTHONUTF8 = 1

wheel:
	@tools/setup test
	.venv/bin/python tools/wheel.py build/dist

deb: wheel
	.venv/bin/python tools/deb.py build/dist

# Not in CI: with the compiler, and in emulation, it takes most of an hour.
aarch64:
	@tools/setup test
	@tools/aarch64 test
	@tools/aarch64 wheel
	@tools/aarch64 deb

lock:
	rm -rf build/lock && python3 -m venv build/lock
	build/lock/bin/pip install --quiet "maturin>=1.9.4,<2" $$(build/lock/bin/python tools/dependencies.py)
	build/lock/bin/pip freeze --exclude-editable > requirements/run.lock
	build/lock/bin/pip install --quiet -r requirements/development.in
	build/lock/bin/pip freeze --exclude-editable > requirements/development.lock
	rm -rf build/lock && python3 -m venv build/lock
	build/lock/bin/pip install --quiet -r requirements/controllers.in
	build/lock/bin/pip freeze > requirements/controllers.lock

clean:
	rm -rf target build .venv .pytest_cache .mypy_cache .ruff_cache
