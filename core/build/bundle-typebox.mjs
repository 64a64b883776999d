// Run by prepare.cjs on what the compiler has written. TypeBox comes as 700 modules, and to load
// them took longer than most commands work: the build has them as one file. In the sources, and in
// the types that are published, it stays the package.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const [folder = ''] = process.argv.slice(2);
const OUTPUT = path.join(folder, 'core', 'typebox.js');
const ENTRY = 'typebox-entry';
const IMPORT = /^(import .* from )'typebox(?:\/value)?';$/gm;

const importers = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.js'))
  .map((name) => path.join(folder, name))
  .filter((file) => readFileSync(file, 'utf8').match(IMPORT));

if (importers.length > 0) {
  await bundle();
  for (const file of importers) {
    const relative = path.relative(path.dirname(file), OUTPUT).replaceAll(path.sep, '/');
    const specifier = relative.startsWith('.') ? relative : `./${relative}`;
    writeFileSync(file, readFileSync(file, 'utf8').replace(IMPORT, `$1'${specifier}';`));
  }
}

async function bundle() {
  const { build } = await import('vite');
  await build({
    configFile: false,
    logLevel: 'warn',
    plugins: [
      {
        name: ENTRY,
        resolveId: (id) => (id === ENTRY ? path.resolve(`${ENTRY}.js`) : null),
        load: (id) =>
          id === path.resolve(`${ENTRY}.js`)
            ? "export { default } from 'typebox'; export { Check } from 'typebox/value';"
            : null,
      },
    ],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node20',
      outDir: path.dirname(OUTPUT),
      emptyOutDir: false,
      copyPublicDir: false,
      minify: true,
      rolldownOptions: {
        input: { typebox: ENTRY },
        output: {
          entryFileNames: path.basename(OUTPUT),
        },
      },
    },
  });
  const license = readFileSync('node_modules/typebox/license', 'utf8').trim();
  writeFileSync(OUTPUT, `/*!\n${license}\n*/\n${readFileSync(OUTPUT, 'utf8')}`);
}
