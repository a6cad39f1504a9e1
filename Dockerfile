# Installed first, since it takes longest: only these files decide what. Nothing is compiled, because Node 24 uses the version of
# better-sqlite3 that comes compiled (src/store/sqlite/library.ts).
FROM node:24-bookworm AS installed
WORKDIR /app
COPY package.json package-lock.json ./
COPY tools/api-types/package.json tools/api-types/
RUN npm ci --ignore-scripts

# Without the sources of SQLite, and without what Node 20 or other systems would use.
FROM installed AS production
RUN npm prune --omit=dev --ignore-scripts && cd node_modules && rm -r better-sqlite3 better-sqlite3-node-api/deps \
  && find better-sqlite3-node-api/prebuilds -type f ! -name 'linux-*' -delete

FROM installed AS build
COPY tsconfig.json tsconfig.build.json studies.yaml ./
COPY bin bin
COPY src src
COPY events events
COPY projections projections
COPY tools tools
COPY verifier verifier
COPY docs/emergency.md docs/
COPY deploy deploy
# For `urn --version`: the context has no .git. Git's own name of it, or that with -dirty.
ARG COMMIT
# A checkout may be its owner's alone.
RUN URN_COMMIT="$COMMIT" npm run build && chmod -R a+rX bin deploy dist docs package.json studies.yaml verifier

FROM node:24-bookworm-slim
ENV NODE_ENV=production URN_HOST=0.0.0.0 URN_DATA=/data URN_STUDIES=/config/studies.yaml URN_AWAIT_STUDIES=1
WORKDIR /app
COPY --from=production /app/node_modules node_modules
COPY --from=build /app/package.json ./
COPY --from=build /app/dist/program dist/program
COPY --from=build /app/dist/pages dist/pages
COPY --from=build /app/dist/commit.json dist/
COPY --from=build /app/bin bin
COPY --from=build /app/verifier verifier
COPY --from=build /app/docs/emergency.md docs/
COPY --from=build /app/deploy/eventstoredb.mjs /app/deploy/backup.sh /app/deploy/restore.sh deploy/
COPY --from=build /app/studies.yaml /config/studies.yaml
RUN ln -s /app/bin/urn.js /usr/local/bin/urn && mkdir -m 0700 /data /key && chown node:node /data /key
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=2s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["urn"]
CMD ["serve"]
