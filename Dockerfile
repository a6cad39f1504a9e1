FROM node:24-bookworm AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json tsconfig.build.json ./
COPY bin bin
COPY src src
COPY events events
COPY projections projections
# What builds it. The workspace in it belongs to the lock file.
COPY tools tools
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production URN_HOST=0.0.0.0 URN_DATA=/data URN_STUDIES=/config/studies.yaml
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist/program dist/program
COPY --from=build /app/dist/pages dist/pages
COPY --from=build /app/dist/commit.json dist/
COPY --from=build /app/bin bin
COPY verifier verifier
COPY docs/emergency.md docs/
COPY deploy/eventstoredb.mjs deploy/
COPY studies.yaml /config/studies.yaml
RUN ln -s /app/bin/urn.js /usr/local/bin/urn && mkdir -m 0700 /data /key && chown node:node /data /key
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["urn"]
CMD ["serve"]
