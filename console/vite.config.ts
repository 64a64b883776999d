import ui from '@nuxt/ui/vite';
import vue from '@vitejs/plugin-vue';
import { defineConfig, type Plugin } from 'vite';

/**
 * The console's build. The service writes its own base path into the page and its nonce into the
 * places marked here, so that one build serves at any address.
 */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // An inlined font or image would need data: in the policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    manifest: 'manifest.json',
  },
  plugins: [
    coloursAsFile(),
    vue(),
    ui({
      // Nothing is imported by magic: src/ui/ names each component that it wraps.
      autoImport: false,
      components: false,
      colorMode: false,
      dts: false,
      experimental: { componentDetection: true },
      // Icons named in modules too: what is not bundled would be asked of a server elsewhere.
      icon: { clientBundle: { scan: { globInclude: ['src/**/*.{vue,ts}'] }, sizeLimitKb: 64 } },
    }),
  ],
  // For `npx vite console`, beside a service that runs.
  server: { proxy: { '/v1': 'http://127.0.0.1:8787' } },
});

/**
 * Leaves out the library's plugin that writes its palette into a `<style>` element: the policy
 * refuses one without a nonce, and src/colours.css says the same in a file.
 */
function coloursAsFile(): Plugin {
  return {
    name: 'colours-as-file',
    enforce: 'pre',
    load(id) {
      if (!/@nuxt\/ui\/dist\/runtime\/plugins\/colors(?:\.js)?$/.test(id)) return null;
      return 'export default { install() {} };';
    },
  };
}
