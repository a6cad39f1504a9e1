/** Builds the pages (tools/build.mjs): hashed names, and beside each file its copies in Brotli and gzip. */
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

function compressed(): Plugin {
  const ways = { br: promisify(brotliCompress), gz: promisify(gzip) };
  return {
    name: 'compressed',
    generateBundle: {
      order: 'post',
      async handler(_, bundle) {
        for (const [fileName, file] of Object.entries(bundle)) {
          const content = Buffer.from(file.type === 'chunk' ? file.code : file.source);
          for (const [ending, compress] of Object.entries(ways))
            this.emitFile({
              type: 'asset',
              fileName: `${fileName}.${ending}`,
              source: await compress(content),
            });
        }
      },
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), compressed()],
  build: {
    // A data: URL would need an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
    // It takes its time to compress, which is no news on a slow machine.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  logLevel: 'warn',
});
