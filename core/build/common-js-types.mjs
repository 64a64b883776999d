// Run by prepare.cjs after the build: writes types for callers in CommonJS beside those of each entry. Node
// lets them require these modules, and TypeScript asks for types of their own format (else TS1479).

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const [folder = ''] = process.argv.slice(2);

const entries = readEntries().filter(({ types }) => existsSync(types));
const program = ts.createProgram({
  rootNames: entries.map(({ types }) => types),
  options: {
    noLib: true,
    types: [],
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    module: ts.ModuleKind.NodeNext,
  },
  host: createOwnHost(),
});
const checker = program.getTypeChecker();
for (const { types, script } of entries) {
  writeFileSync(types.replace(/\.d\.ts$/, '.d.cts'), toCommonJs(types, script));
}

/** The types and scripts of the modules that package.json exports. */
function readEntries() {
  /** @type {{ exports?: Record<string, { types?: string, default?: string }> }} */
  const { exports = {} } = JSON.parse(readFileSync('package.json', 'utf8'));
  const inFolder = (/** @type {string} */ file) =>
    path.resolve(folder, file.replace('./dist/', ''));
  return Object.values(exports).flatMap(({ types, default: script }) =>
    types === undefined || script === undefined
      ? []
      : { types: inFolder(types), script: inFolder(script) },
  );
}

/** Reads our own types alone: those of packages are not needed to know what a module exports. */
function createOwnHost() {
  const host = ts.createCompilerHost({});
  host.resolveModuleNameLiterals = (literals, from) =>
    literals.map(({ text }) => {
      if (!text.startsWith('.')) return { resolvedModule: undefined };
      const resolvedFileName = path.resolve(
        path.dirname(from),
        text.replace(/\.(?:js|ts)$/, '.d.ts'),
      );
      return { resolvedModule: { resolvedFileName, extension: ts.Extension.Dts } };
    });
  return host;
}

/**
 * @param {string} types
 * @param {string} script
 */
function toCommonJs(types, script) {
  const source = program.getSourceFile(types);
  const symbol = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${types} exports nothing.`);
  const exported = new Map(checker.getExportsOfModule(symbol).map((one) => [one.name, one]));
  const own = `'./${path.basename(script)}' with { 'resolution-mode': 'import' }`;
  const lines = [`import type * as own from ${own};`, `export type * from ${own};`];
  for (const name of listValues(script)) {
    lines.push(`export declare const ${name}: typeof own.${name};`);
    if (isType(exported.get(name))) lines.push(`export type ${name} = own.${name};`);
  }
  return `${lines.join('\n')}\n`;
}

/**
 * The names of what a script exports, which has them all in one list.
 *
 * @param {string} script
 */
function listValues(script) {
  const { statements } = ts.createSourceFile(
    script,
    readFileSync(script, 'utf8'),
    ts.ScriptTarget.Latest,
  );
  return statements
    .flatMap((one) => (ts.isExportDeclaration(one) ? (one.exportClause ?? []) : []))
    .flatMap((clause) => (ts.isNamedExports(clause) ? [...clause.elements] : []))
    .map(({ name }) => name.text)
    .sort();
}

/**
 * Whether a name is a type as well: that of a class, or of a schema.
 *
 * @param {import('typescript').Symbol | undefined} symbol
 */
function isType(symbol) {
  if (symbol === undefined) return false;
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
  const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
  return (target.flags & ts.SymbolFlags.Type) !== 0;
}
