# Keepsake in a container: docker compose up -d
FROM python:3.11-slim AS build
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY bot bot
COPY memory memory
COPY adapters adapters
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir '.[mcp,turso]'

FROM python:3.11-slim
RUN useradd --system --create-home --home-dir /data keepsake
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 DATA_DIR=/data
USER keepsake
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.getenv(\"PORT\", \"8080\")}/healthz')"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["keepsake"]
CMD ["run"]
