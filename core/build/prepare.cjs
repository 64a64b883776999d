'use strict';
// Runs before anything is installed or built: plain JavaScript, Node's own modules alone, and a
// syntax that an old Node still parses, so that it can say that it is too old.

const { spawn } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { isBuiltin } = require('node:module');
const path = require('node:path');

const root = path.resolve(__dirname, '..', '..');

/** A failure whose message is the whole answer: printed as one line, without a stack. */
class PrepareError extends Error {}

/** What is compiled, from where, to where. */
const BUILDS = [
  {
    name: 'service',
    sources: [
      ...['core', 'plugins', 'adapters', 'tsconfig.base.json', 'tsconfig.build.json'],
      'node_modules/typebox/package.json',
    ],
    output: 'dist/core/cli/main.js',
    usually: '20 to 40 seconds',
    run: buildService,
  },
  {
    name: 'console',
    sources: [
      ...['console', 'core/errors.ts', 'core/encoding/take-text.ts', 'core/encoding/percent.ts'],
      'core/files/service-actors.ts',
    ],
    output: 'dist/console/index.html',
    usually: '10 to 20 seconds',
    run: buildConsole,
  },
];

/** Throws when this Node is older than package.json's `engines` asks for. */
function checkNode() {
  const wanted = readJson('package.json').engines.node.replace(/^\D+/, '').split('.');
  const actual = process.versions.node.split('.');
  const [major, minor] = [Number(actual[0]), Number(actual[1])];
  const [wantedMajor, wantedMinor] = [Number(wanted[0]), Number(wanted[1] || 0)];
  const isOlder = major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
  if (isOlder) {
    throw new PrepareError(
      'memory-service needs Node ' +
        wanted.join('.') +
        ' or newer; this is ' +
        process.version +
        '.',
    );
  }
}

/**
 * Installs what package-lock.json names and node_modules lacks, and says so on standard error.
 * Does nothing, in a few milliseconds, when all of it is there.
 */
async function ensureInstalled() {
  const missing = findMissingPackages();
  const compiler = findMissingCompilers();
  const lacksDriver = !hasSqliteDriver();
  if (missing.length === 0 && !(lacksDriver && compiler.length === 0)) {
    if (lacksDriver) warnAboutDriver(compiler);
    return;
  }
  checkWritable(root);
  say(
    missing.length === 0
      ? 'The SQLite driver is missing: installing again.'
      : 'The first start installs ' +
          missing.length +
          ' packages (usually 1 to 2 minutes; 2 more if the SQLite driver has to be compiled), builds ' +
          '(usually 1 minute) and serves. Later starts take a few seconds.',
  );
  let result = await runNpm(['ci', '--include=dev', '--include=optional']);
  if (result.code !== 0 && compiler.length > 0 && /gyp|prebuild|node-gyp/i.test(result.output)) {
    // Without a compiler everything but the native drivers works, MySQL too.
    say('A native module could not be compiled: installing without it.');
    result = await runNpm(['ci', '--include=dev', '--include=optional', '--ignore-scripts']);
  }
  if (result.code !== 0) throw new PrepareError(explainInstallFailure(result.output));
  if (!hasSqliteDriver()) warnAboutDriver(findMissingCompilers());
}

/**
 * Installs what a folder with packages of its own lacks, such as `test/bench`, and says so.
 *
 * @param {string} folder from the root
 * @param {string} about what the packages are, as a part of a sentence
 */
async function ensureInstalledIn(folder, about) {
  const missing = findMissingPackages(folder);
  if (missing.length === 0) return;
  say('Installing ' + about + ': ' + missing.length + ' packages.');
  const result = await runNpm(['ci', '--prefix', folder]);
  if (result.code === 0) return;
  process.stderr.write(result.output);
  throw new PrepareError('npm ci failed in ' + folder + '; what it said stands above.');
}

/** Builds what is older than its sources, and says so on standard error. */
async function ensureBuilt() {
  for (const build of BUILDS) {
    if (!build.sources.some((source) => fs.existsSync(path.join(root, source)))) continue;
    const stamp = hashSources(build.sources);
    const stampFile = path.join(root, 'dist', '.' + build.name + '.stamp');
    const isFresh = readText(stampFile) === stamp && fs.existsSync(path.join(root, build.output));
    if (isFresh) continue;
    checkWritable(root);
    const started = Date.now();
    say('Building the ' + build.name + ' (usually ' + build.usually + ').');
    await build.run();
    fs.writeFileSync(stampFile, stamp);
    say('Built in ' + ((Date.now() - started) / 1000).toFixed(1) + ' s.');
  }
}

// Compiled beside dist and moved in whole: a failed build leaves the last good one.
async function buildService() {
  const temporary = '.dist-' + process.pid;
  const target = path.join(root, temporary);
  try {
    const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const args = [
      compiler,
      '-p',
      'tsconfig.build.json',
      '--outDir',
      temporary,
      '--pretty',
      'false',
    ];
    await build(args);
    await build([path.join(__dirname, 'bundle.mjs'), target]);
    fs.mkdirSync(path.join(root, 'dist'), { recursive: true });
    for (const name of ['core', 'plugins', 'adapters']) {
      const folder = path.join(root, 'dist', name);
      fs.rmSync(folder, { recursive: true, force: true });
      if (fs.existsSync(path.join(target, name))) fs.renameSync(path.join(target, name), folder);
    }
  } finally {
    fs.rmSync(target, { recursive: true, force: true });
  }
}

/** @param {string[]} args */
async function build(args) {
  const result = await run(process.execPath, args, 'still building');
  if (result.code === 0) return;
  process.stderr.write(result.output);
  throw new PrepareError('The build failed: mend the errors above, then try again.');
}

async function buildConsole() {
  const temporary = path.join(root, '.dist-' + process.pid);
  try {
    const bundler = path.join(root, 'node_modules', 'vite', 'bin', 'vite.js');
    const args = [bundler, 'build', 'console', '--outDir', temporary, '--logLevel', 'warn'];
    await build(args);
    const target = path.join(root, 'dist', 'console');
    fs.mkdirSync(path.join(root, 'dist'), { recursive: true });
    fs.rmSync(target, { recursive: true, force: true });
    fs.renameSync(temporary, target);
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

// npm keeps the tree that it installed in node_modules/.package-lock.json: compared with the lock
// file, it tells what is missing whoever ran npm.
function findMissingPackages(folder = '.') {
  const wanted = readJson(folder + '/package-lock.json').packages;
  const installed =
    (readJsonOrNull(folder + '/node_modules/.package-lock.json') || {}).packages || {};
  return Object.keys(wanted).filter((name) => {
    if (name === '' || wanted[name].optional || wanted[name].link) return false;
    return !installed[name] || installed[name].version !== wanted[name].version;
  });
}

function hasSqliteDriver() {
  const release = path.join(root, 'node_modules', 'sqlite3', 'build', 'Release');
  return fs.existsSync(path.join(release, 'node_sqlite3.node'));
}

function findMissingCompilers() {
  /** @type {Record<string, string[]>} */
  const needed = {
    python3: ['python3', 'python'],
    make: ['make'],
    'g++': ['g++', 'c++', 'clang++'],
  };
  const folders = (process.env.PATH || '').split(path.delimiter);
  const isFound = (/** @type {string} */ name) =>
    folders.some((folder) => fs.existsSync(path.join(folder, name)));
  return Object.keys(needed).filter((name) => !needed[name]?.some(isFound));
}

/** @param {string[]} missing */
function warnAboutDriver(missing) {
  const instead = isBuiltin('node:sqlite')
    ? 'The SQLite of this Node is used instead, if it is 3.51.3 or newer.'
    : 'Node 24 and a mysql:// database work without it.';
  say(
    missing.length > 0
      ? 'The SQLite driver is not there: it is compiled, and ' +
          missing.join(', ') +
          ' is missing. On Debian or Ubuntu: apt-get install -y python3 make g++, then start again. ' +
          instead
      : 'The SQLite driver did not compile; npm rebuild sqlite3 shows why. ' + instead,
  );
}

/** @param {string} output */
function explainInstallFailure(output) {
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ECONNRESET/.test(output)) {
    return 'npm cannot reach its registry: check the network or npm config get registry, then start again.';
  }
  if (/EACCES|EPERM|EROFS/.test(output)) {
    return 'npm cannot write to ' + root + ': give this user the right to, then start again.';
  }
  if (/ENOSPC/.test(output)) return 'The disk is full: free some space, then start again.';
  const missing = findMissingCompilers();
  if (missing.length > 0 && /gyp|prebuild/i.test(output)) {
    return (
      'A native module has to be compiled, and ' +
      missing.join(', ') +
      ' is missing. ' +
      'On Debian or Ubuntu: apt-get install -y python3 make g++, then start again.'
    );
  }
  process.stderr.write(output);
  return 'npm ci failed; what it said stands above.';
}

/** @param {string} folder */
function checkWritable(folder) {
  try {
    fs.accessSync(folder, fs.constants.W_OK);
  } catch {
    throw new PrepareError(
      folder + ' cannot be written by this user: give it the right to, or clone somewhere else.',
    );
  }
}

/** @param {string[]} sources */
function hashSources(sources) {
  const hash = createHash('sha256');
  for (const source of sources) addToHash(hash, source);
  return hash.digest('hex');
}

/**
 * By content, not by time: a checkout that changes nothing builds nothing.
 *
 * @param {import('node:crypto').Hash} hash
 * @param {string} relative
 */
function addToHash(hash, relative) {
  const full = path.join(root, relative);
  const stat = fs.statSync(full, { throwIfNoEntry: false });
  if (!stat) return;
  if (stat.isDirectory()) {
    // The console's bundler keeps its cache in a node_modules of its own.
    if (path.basename(relative) === 'node_modules') return;
    for (const name of fs.readdirSync(full).sort()) addToHash(hash, relative + '/' + name);
    return;
  }
  if (!/\.(ts|cts|mjs|json|vue|css|html|svg)$/.test(relative)) return;
  hash.update(relative + '\0');
  hash.update(fs.readFileSync(full));
}

/** @param {string[]} args */
function runNpm(args) {
  const quiet = args.concat(['--no-audit', '--no-fund', '--loglevel=error']);
  const script = process.env.npm_execpath;
  // npm's own file when npm started us: there may be several npm on the path.
  return script && /\.c?js$/.test(script)
    ? run(process.execPath, [script].concat(quiet), 'still installing')
    : run(process.platform === 'win32' ? 'npm.cmd' : 'npm', quiet, 'still installing');
}

/**
 * The environment in which npm compiles: most installations of Node bring its headers along, and
 * node-gyp would still download them, which fails without a way to nodejs.org.
 */
function compileEnvironment() {
  const prefix = path.resolve(process.execPath, '..', '..');
  const header = readText(path.join(prefix, 'include', 'node', 'node_version.h')) || '';
  const version = ['MAJOR', 'MINOR', 'PATCH'].map((part) => {
    const found = new RegExp('#define NODE_' + part + '_VERSION (\\d+)').exec(header);
    return found && found[1];
  });
  return version.join('.') === process.versions.node
    ? Object.assign({ npm_package_config_node_gyp_nodedir: prefix }, process.env)
    : process.env;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} progress said every ten seconds
 * @returns {Promise<{ code: number, output: string }>}
 */
function run(command, args, progress) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const child = spawn(command, args, {
      cwd: root,
      env: compileEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: command.endsWith('.cmd'),
    });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    const timer = setInterval(() => {
      say('  ' + progress + ' (' + Math.round((Date.now() - started) / 1000) + ' s)');
    }, 10_000);
    child.on('error', (error) => {
      clearInterval(timer);
      reject(new PrepareError(command + ' cannot be run: ' + error.message));
    });
    child.on('close', (code) => {
      clearInterval(timer);
      resolve({ code: code === null ? 1 : code, output });
    });
  });
}

/**
 * On standard error: standard output belongs to the line that names the address.
 *
 * @param {string} line
 */
function say(line) {
  process.stderr.write(line + '\n');
}

/** @param {string} file */
function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** @param {string} relative */
function readJson(relative) {
  return JSON.parse(fs.readFileSync(path.join(root, relative), 'utf8'));
}

/** @param {string} relative */
function readJsonOrNull(relative) {
  const text = readText(path.join(root, relative));
  return text === null ? null : JSON.parse(text);
}

/**
 * Runs `work`; a `PrepareError` becomes one line and exit code 1.
 *
 * @param {() => Promise<void>} work
 */
async function orExplain(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    say(error.message);
    process.exit(1);
  }
}

module.exports = {
  PrepareError,
  checkNode,
  compileEnvironment,
  ensureBuilt,
  ensureInstalled,
  ensureInstalledIn,
  orExplain,
  root,
  run,
  say,
};

if (require.main === module) {
  orExplain(async () => {
    checkNode();
    await ensureInstalled();
    await ensureBuilt();
  });
}
