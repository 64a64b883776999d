import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import ui from '@nuxt/ui/vite';
import vue from '@vitejs/plugin-vue';
import { defineConfig, type Plugin } from 'vite';

/**
 * The console's build. The service inserts its base path and its nonce into the page, so that one build
 * works at any address.
 */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // Inlined fonts or images would need data: in the content security policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    manifest: 'manifest.json',
    // One file in place of a dozen: each request takes a browser longer than its few kilobytes.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'initial', tags: ['$initial'] }] } },
    },
  },
  plugins: [
    withoutPlugins(),
    ownIcons(),
    compressedFiles(),
    vue(),
    ui({
      // No automatic imports: src/ui/ imports each component that it wraps.
      autoImport: false,
      components: false,
      colorMode: false,
      dts: false,
      experimental: { componentDetection: true },
      // Also bundles icons named in modules, so that none is loaded from a remote server.
      icon: { clientBundle: { scan: { globInclude: ['src/**/*.{vue,ts}'] }, sizeLimitKb: 64 } },
    }),
  ],
  // For `npx vite console` with a running service.
  server: { proxy: { '/v1': 'http://127.0.0.1:8787' } },
});

/**
 * Leaves out three plugins of the library. One writes its palette into a `<style>` element: the content
 * security policy requires a nonce for it, so src/colours.css has the palette. Another manages the
 * page's `<head>`, which only the first one changes. The third one loads icons: see {@link ownIcons}.
 */
function withoutPlugins(): Plugin {
  return {
    name: 'without-plugins',
    enforce: 'pre',
    load(id) {
      if (
        !/@nuxt\/ui\/dist\/runtime\/(?:plugins\/colors|vue\/plugins\/(?:head|icons))(?:\.js)?$/.test(
          id,
        )
      ) {
        return null;
      }
      return 'export default { install() {} };';
    },
  };
}

/**
 * Draws the icons of the library with the console's component. The library's own can fetch icons from
 * a server, which takes as much code as the router, and makes three components of each icon.
 */
function ownIcons(): Plugin {
  return {
    name: 'own-icons',
    enforce: 'pre',
    resolveId(id, importer) {
      const isOfLibrary = /@nuxt\/ui\/dist\/runtime\/components\//.test(importer ?? '');
      return isOfLibrary && id === './Icon.vue'
        ? join(import.meta.dirname, 'src/ui/ConsoleIcon.vue')
        : null;
    },
  };
}

/**
 * Writes a `.gz` in place of each script and style below assets/, so that the service compresses nothing at
 * run time. It unpacks them for a client that does not take them.
 */
function compressedFiles(): Plugin {
  return {
    name: 'compressed-files',
    apply: 'build',
    writeBundle({ dir }) {
      const assets = join(dir ?? '', 'assets');
      for (const name of readdirSync(assets)) {
        if (!/\.(?:js|css)$/.test(name)) continue;
        const file = join(assets, name);
        const content = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
        rmSync(file);
      }
    },
  };
}
