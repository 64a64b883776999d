// Counts how many concepts the code has: `npm run counts`, or `npm run counts -- <folder>` for another
// clone. All of it is read from the sources with the TypeScript compiler.

import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)));
const LONG = 100;

const sources = ['core', 'plugins', 'adapters'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.c?ts$/.test(name))
    .map((name) => parse(join(root, folder, name))),
);

const COUNTS = [
  {
    count: 'members that a storage author implements',
    toReach: 35,
    found: ['SqlDatabase', 'Dialect'].flatMap(listMembers),
  },
  { count: 'members of Host', toReach: 12, found: listMembers('Host') },
  {
    count: 'stores that write outside mutate, log and index aside',
    toReach: 0,
    found: listOtherWriters(),
  },
  { count: `functions over ${LONG} lines`, toReach: 5, found: listLongFunctions() },
  { count: 'loose files in core/', toReach: 6, found: listLooseFiles() },
  { count: 'types for who calls', toReach: 2, found: listCallerTypes() },
];

for (const { count, toReach, found } of COUNTS) {
  console.log(`${count}: ${found.length} (to reach: ${toReach} or less)`);
  console.log(`  ${found.join(', ') || 'none'}`);
}

/** @param {string} path */
function parse(path) {
  return ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
}

/** @param {ts.SourceFile} source */
function nameOf(source) {
  return relative(root, source.fileName);
}

/**
 * The members of the interface of this name, wherever it is exported.
 *
 * @param {string} name
 */
function listMembers(name) {
  const found = sources
    .flatMap((source) => [...source.statements])
    .filter(ts.isInterfaceDeclaration)
    .find((node) => node.name.text === name);
  if (found === undefined) throw new Error(`There is no interface ${name}.`);
  return found.members.map((member) => `${name}.${member.name?.getText() ?? '?'}`);
}

/**
 * Files of the stores that run a write transaction of their own, by `database.write` or `writeAll`.
 * The log and the index stay outside `mutate` on purpose: they would wait for every user's writes.
 */
function listOtherWriters() {
  return sources
    .filter((source) => nameOf(source).startsWith('core/storage/'))
    .filter(
      (source) =>
        !/\/(index\/|write\/(log|mutation|mutate)|read\/observations)/.test(nameOf(source)),
    )
    .filter((source) => /\bdatabase\s*\.write(All)?\(/.test(source.text))
    .map(nameOf);
}

function listLongFunctions() {
  /** @type {string[]} */
  const found = [];
  for (const source of sources) {
    /** @param {ts.Node} node */
    const visit = (node) => {
      if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
        const line = source.getLineAndCharacterOfPosition(node.getStart()).line;
        const lines = source.getLineAndCharacterOfPosition(node.end).line - line + 1;
        if (lines > LONG) {
          const name = node.name?.getText() ?? 'a function without a name';
          found.push(`${name} in ${nameOf(source)}:${line + 1} (${lines} lines)`);
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

function listLooseFiles() {
  return sources.map(nameOf).filter((name) => /^core\/[^/]+$/.test(name));
}

/** Exported types that are named for who calls or writes. */
function listCallerTypes() {
  return sources.flatMap((source) =>
    source.statements
      .filter((node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
      .filter((node) => node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
      .map((node) => node.name.text)
      .filter((name) => /(Caller|Author|Actor|Who)$/.test(name)),
  );
}
