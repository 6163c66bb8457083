# Keepsake in a container: docker compose up -d
FROM python:3.11-slim AS build
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY bot bot
COPY memory memory
COPY adapters adapters
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir '.[mcp,turso]'

FROM python:3.11-slim
# The same user id in every build, since it owns the files in the volume.
RUN useradd --system --uid 999 --create-home --home-dir /data keepsake
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 DATA_DIR=/data
USER keepsake
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import http.client as h, os, sys; c = h.HTTPConnection('127.0.0.1', int(os.getenv('PORT') or 8080), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["keepsake"]
CMD ["run"]
