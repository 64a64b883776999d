import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createBench, type Suite } from './bench.ts';
import { killAll } from './party.ts';
import { createReport } from './report.ts';

const FOLDER = path.resolve(import.meta.dirname, '..');

const OPTIONS = {
  rounds: { type: 'string', default: '5', about: 'turns of each in a row (default 5)' },
  seconds: { type: 'string', default: '2', about: 'seconds of a turn (default 2)' },
  quick: { type: 'boolean', default: false, about: 'once and shortly: does everything run?' },
  json: { type: 'string', about: 'write what was measured to this file as JSON' },
  'no-build': { type: 'boolean', default: false, about: 'measure what dist/ holds' },
  help: { type: 'boolean', short: 'h', default: false, about: 'this text' },
} as const;

/**
 * Runs the suites that `args` name, or the core ones. Resolves with the exit code. `prepare` is
 * called once it is clear that there is something to measure.
 */
export async function main(
  args: string[],
  {
    prepare,
  }: { prepare(options: { isBuildWanted: boolean; arePeersWanted: boolean }): Promise<void> },
): Promise<number> {
  const suites = await loadSuites();
  const own = [...suites.values()].flatMap(({ options }) => Object.keys(options ?? {}));
  const switches = [...suites.values()].flatMap((suite) => Object.keys(suite.switches ?? {}));
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        ...OPTIONS,
        ...Object.fromEntries(own.map((name) => [name, { type: 'string' as const }])),
        ...Object.fromEntries(switches.map((name) => [name, { type: 'boolean' as const }])),
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), suites);
  }
  const { quick, help, 'no-build': noBuild, ...values } = parsed.values;
  const options = Object.fromEntries(
    Object.entries(values as Record<string, unknown>).map(([name, value]) => [
      name,
      value === true ? 'yes' : value,
    ]),
  ) as Record<string, string | undefined>;
  if (help) {
    process.stdout.write(toHelp(suites));
    return 0;
  }
  const unknown = parsed.positionals.find((name) => !suites.has(name));
  if (unknown !== undefined) return refuse(`There is no suite ${unknown}.`, suites);
  const rounds = quick ? 1 : Number(options['rounds']);
  const seconds = quick ? 1 : Number(options['seconds']);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) {
    return refuse('--rounds takes a whole number from 1 to 100.', suites);
  }
  if (!(seconds >= 0.1 && seconds <= 60)) {
    return refuse('--seconds takes a number from 0.1 to 60.', suites);
  }
  const chosen = [...suites].filter(([name, { isCore }]) =>
    parsed.positionals.length === 0 ? isCore === true : parsed.positionals.includes(name),
  );
  const arePeersWanted = chosen.some(([, { isAlone }]) => isAlone !== true);
  await prepare({ isBuildWanted: !noBuild, arePeersWanted });
  return runSuites(chosen, { options, rounds, seconds, isQuick: quick });
}

async function runSuites(
  suites: readonly [string, Suite][],
  settings: {
    options: Record<string, string | undefined>;
    rounds: number;
    seconds: number;
    isQuick: boolean;
  },
): Promise<number> {
  const directory = await mkdtemp(path.join(tmpdir(), 'memory-service-bench-'));
  const cleanUp = (): void => {
    killAll();
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      cleanUp();
      process.exit(130);
    });
  }
  const startedAt = performance.now();
  const report = createReport({ isQuick: settings.isQuick });
  if (settings.isQuick) report.warn('A quick run: too small and too short to judge anything by.');
  for (const [name, suite] of suites) {
    report.section(`${name}: ${suite.about}`);
    const bench = createBench({ ...settings, report, directory: path.join(directory, name) });
    try {
      await suite.run(bench);
    } catch (error) {
      report.problem(`${name}: ${error instanceof Error ? (error.stack ?? '') : String(error)}`);
    } finally {
      await bench.close();
    }
  }
  report.summary();
  const { json } = settings.options;
  if (json !== undefined) {
    await writeFile(json, `${JSON.stringify(report.toJson(), null, 2)}\n`);
    process.stdout.write(`  Written to ${json}.\n`);
  }
  process.stdout.write(`  ${((performance.now() - startedAt) / 1_000).toFixed(0)} s in all.\n`);
  await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  return report.problems.length === 0 ? 0 : 1;
}

/** Every `.ts` and `.mjs` file right under `test/bench/`, but the entry. */
async function loadSuites(): Promise<Map<string, Suite>> {
  const names = (await readdir(FOLDER)).filter((name) => /\.(?:ts|mjs)$/.test(name)).sort();
  const suites = new Map<string, Suite>();
  for (const name of names) {
    if (name === 'run.mjs') continue;
    const module = (await import(pathToFileURL(path.join(FOLDER, name)).href)) as {
      suite?: Suite;
    };
    if (module.suite === undefined) throw new Error(`test/bench/${name} exports no suite.`);
    suites.set(name.replace(/\.\w+$/, ''), module.suite);
  }
  return suites;
}

function refuse(problem: string, suites: ReadonlyMap<string, Suite>): number {
  process.stderr.write(`${problem}\n\n${toHelp(suites)}`);
  return 2;
}

function toHelp(suites: ReadonlyMap<string, Suite>): string {
  const width = 12;
  const lines = [...suites].flatMap(([name, { about, isCore, options, switches }]) => [
    `  ${name.padEnd(width)} ${about}${isCore ? ' (core)' : ''}`,
    ...Object.entries(options ?? {}).map(
      ([option, text]) => `  ${''.padEnd(width)}   --${option} <value>  ${text}`,
    ),
    ...Object.entries(switches ?? {}).map(
      ([option, text]) => `  ${''.padEnd(width)}   --${option}  ${text}`,
    ),
  ]);
  return [
    'Measures the service beside the limits of its parts and beside what one would use instead.',
    '',
    '  npm run bench                      the core suites, under eight minutes',
    '  npm run bench -- <suite> …         those suites',
    '',
    'Suites:',
    ...lines,
    '',
    'Options:',
    ...Object.entries(OPTIONS).map(
      ([name, { type, about }]) =>
        `  --${`${name}${type === 'string' ? ' <value>' : ''}`.padEnd(width + 5)} ${about}`,
    ),
    '',
  ].join('\n');
}
