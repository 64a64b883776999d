// Counts how many concepts the code has: `npm run counts`, or `npm run counts -- <folder>` for another
// clone. All of it is read from the sources with the TypeScript compiler.

import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)));
const LONG = 100;

/** The log and the index stay outside `mutate` on purpose: they would wait for every user's writes. */
const OUTSIDE = [
  'core/storage/index/index-store.ts',
  'core/storage/index/vectors.ts',
  'core/storage/read/observations.ts',
  'core/storage/write/log.ts',
];
/** What begins the transactions of a database: `mutate` itself, the migrations before it, and a copy of all rows. */
const TRANSACTIONS = [
  'core/storage/copy-database.ts',
  'core/storage/open-database.ts',
  'core/storage/schema/prepare-schema.ts',
  'core/storage/schema/schema-lease.ts',
  'core/storage/write/parallel-writes.ts',
  'core/storage/write/serial-writes.ts',
];
/** Members that lend a connection which only reads. */
const READS = ['read', 'snapshot', 'list'];

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
  return findInterface(name).members.map((member) => `${name}.${member.name?.getText() ?? '?'}`);
}

/** @param {string} name */
function findInterface(name) {
  const found = sources
    .flatMap((source) => [...source.statements])
    .filter(ts.isInterfaceDeclaration)
    .find((node) => node.name.text === name);
  if (found === undefined) throw new Error(`There is no interface ${name}.`);
  return found;
}

/**
 * Files of the stores that run a write transaction of their own: they name a member that lends a
 * connection, whatever that member, its owner or the file is called. The interfaces say which members
 * do that.
 */
function listOtherWriters() {
  const lenders = ['LogDatabase', 'SqlDatabase', 'Writes'].flatMap(listLenders);
  const writers = sources
    .filter((source) => nameOf(source).startsWith('core/storage/'))
    .filter((source) => namesMember(source, lenders) || importsRunner(source))
    .map(nameOf);
  for (const name of [...OUTSIDE, ...TRANSACTIONS]) {
    if (!writers.includes(name)) throw new Error(`${name} writes nothing outside mutate.`);
  }
  return writers.filter((name) => ![...OUTSIDE, ...TRANSACTIONS].includes(name));
}

/**
 * The members of an interface that take work on a connection.
 *
 * @param {string} name
 */
function listLenders(name) {
  const found = findInterface(name)
    .members.filter(ts.isMethodSignature)
    .filter(({ parameters: [first] }) =>
      /\(\s*connection: Connection\b/.test(first?.getText() ?? ''),
    )
    .map((member) => member.name.getText())
    .filter((member) => !READS.includes(member));
  if (found.length === 0) throw new Error(`No member of ${name} takes work on a connection.`);
  return found;
}

/**
 * Whether a file names one of these members: `x.member`, or `{ member } = x`.
 *
 * @param {ts.SourceFile} source
 * @param {readonly string[]} members
 */
function namesMember(source, members) {
  /** @param {ts.Node} node @returns {boolean} */
  const isNamed = (node) =>
    (ts.isPropertyAccessExpression(node) && members.includes(node.name.text)) ||
    (ts.isBindingElement(node) && members.includes((node.propertyName ?? node.name).getText())) ||
    (ts.forEachChild(node, (child) => isNamed(child) || undefined) ?? false);
  return isNamed(source);
}

/**
 * Whether a file imports what runs transactions: a value of serial-writes.ts or parallel-writes.ts.
 *
 * @param {ts.SourceFile} source
 */
function importsRunner(source) {
  return source.statements.some(
    (node) =>
      ts.isImportDeclaration(node) &&
      node.importClause?.isTypeOnly !== true &&
      /\/(serial|parallel)-writes\.ts$/.test(node.moduleSpecifier.getText().slice(1, -1)),
  );
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
