# Of this stage only the program is left in the image.
FROM golang:1.26.8-trixie AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -o /out/assay ./cmd/assay

FROM python:3.13.11-slim-trixie

# The kernel needs none of these; people who work with data expect them.
RUN pip install --no-cache-dir --only-binary=:all: --root-user-action=ignore \
    ipython==8.35.0 matplotlib==3.10.1 numpy==2.2.4 pandas==2.2.3

# A volume that is mounted at a folder of the image for the first time takes over
# its owner. /tmp is the home, so that nothing an agent drops there stays.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin assay \
    && install --directory --owner=assay --group=assay --mode=0700 /data /sandboxes

COPY --from=build /out/assay /usr/local/bin/assay

ENV LATCH_SANDBOX_ROOT=/sandboxes
WORKDIR /data
USER 10001:10001
EXPOSE 8765
STOPSIGNAL SIGTERM
ENTRYPOINT ["assay"]
CMD ["-h"]
