# brimful in one command: docker build -t brimful . && docker run --rm brimful search -m sim:soft-knee,seed=7
# Labs need namespaces of their own: docker run --privileged. Runs are kept in /work: -v "$PWD:/work".
FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN python3 -m venv /venv && /venv/bin/pip wheel --no-deps --wheel-dir /wheels /src

FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends iproute2 util-linux && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[report,delay,parquet,discards]"
WORKDIR /work
ENTRYPOINT ["brimful"]
