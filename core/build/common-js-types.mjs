import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/**
 * Writes `<name>.d.cts` beside the types of each module that package.json exports. Node lets callers in CommonJS
 * require these modules, and TypeScript asks for types of their own format (else TS1479).
 *
 * @param {string} folder an absolute path
 * @param {readonly string[]} names of the modules in it, without their endings
 */
export function writeCommonJsTypes(folder, names) {
  const modules = names.map((name) => path.join(folder, name));
  const program = ts.createProgram({
    rootNames: modules.map((module) => `${module}.d.ts`),
    options: {
      noLib: true,
      types: [],
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      module: ts.ModuleKind.NodeNext,
    },
    host: createOwnHost(),
  });
  for (const module of modules) writeFileSync(`${module}.d.cts`, toCommonJs(program, module));
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
 * @param {import('typescript').Program} program
 * @param {string} module
 */
function toCommonJs(program, module) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(`${module}.d.ts`);
  const symbol = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${module} has no types.`);
  const exported = new Map(checker.getExportsOfModule(symbol).map((one) => [one.name, one]));
  const own = `'./${path.basename(module)}.js' with { 'resolution-mode': 'import' }`;
  const lines = [`import type * as own from ${own};`, `export type * from ${own};`];
  for (const name of listValues(`${module}.js`)) {
    lines.push(`export declare const ${name}: typeof own.${name};`);
    if (isType(checker, exported.get(name))) lines.push(`export type ${name} = own.${name};`);
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
 * @param {import('typescript').TypeChecker} checker
 * @param {import('typescript').Symbol | undefined} symbol
 */
function isType(checker, symbol) {
  if (symbol === undefined) return false;
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
  const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
  return (target.flags & ts.SymbolFlags.Type) !== 0;
}
