# One static binary in an image without a shell.

# The page that a visitor talks on: its library is embedded into the binary.
FROM node:20-slim AS page
WORKDIR /page
COPY worker/api/web ./
RUN npm install --no-audit --no-fund && npm run build

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=page /page/dist worker/api/web/dist
# What `headstart --version` says: docker build --build-arg VERSION=…
ARG VERSION=dev
# Make and CI read the next line from here. No -trimpath: the build cache that
# tests and this line share would be made twice.
RUN CGO_ENABLED=0 go build -ldflags="-s -w -X main.version=${VERSION:-dev}" -o headstart ./cmd/headstart

# Not scratch: a worker dials LiveKit and model APIs over TLS, so it needs
# certificates, and a home that its user may write: calls are spooled there until
# the store has them. Mount a volume at /home/nonroot to keep, when a container
# dies, what was not delivered.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/headstart /headstart
# The base's own working directory and user, in numbers: Kubernetes' runAsNonRoot
# cannot judge a name.
WORKDIR /home/nonroot
USER 65532:65532
# Health and metrics.
EXPOSE 8081
# SIGTERM drains: the worker takes no new calls and finishes those it has, for up
# to an hour by default. Give it as long as a call may last before a SIGKILL.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/headstart"]
CMD ["start"]
