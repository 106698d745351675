# brimful in one command: docker build -t brimful . && docker run --rm brimful search -m sim:soft-knee,seed=7
# Runs are kept in /work: --user "$(id -u)" -v "$PWD:/work". Labs need namespaces: --privileged --user root.
FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN python3 -m venv /venv && /venv/bin/pip wheel --no-deps --wheel-dir /wheels /src

FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends iproute2 util-linux && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[report,parquet,discards]"
# Whichever user it is run as may keep runs here.
RUN useradd --create-home brimful && install --directory --mode=1777 /work
USER brimful
WORKDIR /work
ENTRYPOINT ["brimful"]
