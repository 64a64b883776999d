import { ConfigError } from '../config/error.ts';
import { describeDatabase, loadConfig, type LoadedConfig } from '../config/index.ts';
import { withDeadline } from '../time/deadline.ts';
import { useProxies } from '../network/proxy.ts';
import type { Command, CommandContext } from './command.ts';
import { checkAllowedHosts } from './doctor/allowed-hosts.ts';
import { checkConfiguration } from './doctor/configuration.ts';
import { checkDatabase } from './doctor/database.ts';
import { checkDisk } from './doctor/disk.ts';
import { checkEmbedder } from './doctor/embedder.ts';
import { checkExporters } from './doctor/exporter.ts';
import { type Finding, problem, toProblem } from './doctor/finding.ts';
import { examineModels } from './doctor/exam.ts';
import { checkModel, checkVerifier } from './doctor/models.ts';
import { checkMcpSdk, checkMcpServer, checkPackages } from './doctor/packages.ts';
import { checkSecrets } from './doctor/secrets.ts';
import { EXIT_FAILED } from './failure.ts';
import { writeOutput } from './streams.ts';

/** What a check may take. An embedder may have to download its model, and shows how far it is. */
const LIMIT_MS = 45_000;
const EMBEDDER_LIMIT_MS = 3_600_000;

/**
 * `memory-service doctor`: checks everything that the service depends on, also while a server runs on
 * the same database, and writes nothing. Exits with code 1 if something that is configured does not
 * work. With `--model` it examines the models instead, and keeps the result.
 */
export const doctor: Command = {
  summary: 'Check configuration, database, disk, secrets, models, embedder and the rest.',
  flags: {
    json: { value: null, summary: 'Print the findings as JSON.' },
    model: {
      value: null,
      summary: 'Examine the models instead: can they file facts and judge edits? Costs tokens.',
    },
  },
  exitCodes: '0: all that is configured works. 1: something does not.',
  run,
};

type Check = readonly [name: string, finding: Promise<Finding>];

async function run(context: CommandContext): Promise<void> {
  const isJson = context.flags.has('json');
  if (context.flags.has('model')) return await examineModels(context, isJson);
  const findings: ({ check: string } & Finding)[] = [];
  for (const [check, pending] of await startChecks(context)) {
    const finding = await pending;
    findings.push({ check, ...finding });
    if (!isJson) writeOutput(toText(check, finding));
  }
  const isFailed = findings.some(({ state }) => state === 'problem');
  if (isJson) writeOutput(`${JSON.stringify({ ok: !isFailed, findings }, null, 2)}\n`);
  if (isFailed) process.exitCode = EXIT_FAILED;
}

/** Starts all checks at once; each ends within its limit. */
async function startChecks(context: CommandContext): Promise<readonly Check[]> {
  let loaded: LoadedConfig;
  try {
    loaded = await loadConfig(context);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [['configuration', Promise.resolve(problem(error.message))]];
  }
  useProxies(loaded.proxies);
  const described = describeDatabase(loaded);
  const database = checkDatabase(loaded, described);
  const start = (name: string, work: Promise<Finding> | Finding, limitMs = LIMIT_MS): Check => {
    const late = () => new Error('late');
    const limited = withDeadline(Promise.resolve(work), limitMs, late).catch((error: unknown) =>
      (error as Error).message === 'late'
        ? problem(`no answer in ${limitMs / 1_000} s`)
        : toProblem(error),
    );
    return [name, limited];
  };
  return [
    start('configuration', checkConfiguration(loaded)),
    start(
      'database',
      database.then((found) => found.database),
    ),
    start('disk', checkDisk(loaded, described)),
    start('secrets', checkSecrets(loaded, described)),
    start('allowed hosts', checkAllowedHosts(loaded)),
    start(
      'clock',
      database.then((found) => found.clock),
    ),
    start('model', checkModel(loaded)),
    start('verifier', checkVerifier(loaded)),
    start('exporter', checkExporters(loaded)),
    start('MCP SDK', checkMcpSdk()),
    start('MCP 2026-07-28', checkMcpServer()),
    start('packages', checkPackages(loaded)),
    start('embedder', checkEmbedder(loaded), EMBEDDER_LIMIT_MS),
  ];
}

function toText(check: string, { state, text, details = [] }: Finding): string {
  const mark = state === 'off' ? '-' : state;
  const lines = [`${mark.padEnd(8)} ${check.padEnd(14)} ${text}`, ...details];
  return `${lines.join('\n')}\n`;
}
