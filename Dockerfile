# A container with nothing in it but the binary and the certificates it needs to reach a target over TLS.
#   docker build --build-arg VERSION=$(git describe --tags --always) -t assay .
#   docker run --rm -e SEER_ACCESS_TOKEN -v "$PWD:/work:ro" -w /work assay check --profile staging.yaml
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=devel
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/assay ./cmd/assay
RUN mkdir -p /out/tmp

FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title="assay" \
      org.opencontainers.image.description="Conformance tests for what an API promises beyond its schemas" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/assay /assay
COPY --from=build --chown=65532:65532 /out/tmp /tmp
# 65532 is what distroless images call nonroot; a number, since there is no /etc/passwd to look it up in.
USER 65532:65532
ENTRYPOINT ["/assay"]
CMD ["--help"]
