import type { Readable, Writable } from 'node:stream';
import { loadConfig } from '../config/index.ts';
import { ConfigError } from '../config/error.ts';
import { importPlugin } from '../config/factories.ts';
import { nearest } from '../values/nearest.ts';
import type { ToolRunner } from '../contracts/tool.ts';
import { describeError } from '../describe-error.ts';
import { parseSpaceLine } from '../access/spaces.ts';
import type { NamedSpace } from '../schemas/tools.ts';
import { parseActor } from '../files/actor.ts';
import { parseUserId } from '../files/paths.ts';
import { checkToolPrefix } from '../schemas/tool-prefix.ts';
import { attach } from './attach.ts';
import { EXIT_FAILED } from './failure.ts';
import { createLog } from './log.ts';
import type { Command, CommandContext } from './command.ts';
import { surviveStrayErrors } from './start.ts';
import { restartWithPrivateStreams, signalOfParent, takeStreams } from './streams.ts';

/** The plugin's exports beside its factory. It is imported by name, like every plugin. */
interface McpModule {
  serveStdio(
    tools: ToolRunner,
    options: {
      userId: string;
      spaces?: readonly NamedSpace[];
      actor?: string;
      tools?: readonly string[];
      toolPrefix?: string;
      readOnly: boolean;
      input: Readable;
      output: Writable;
      signal: AbortSignal;
      onError: (error: Error) => void;
    },
  ): Promise<void>;
}

/**
 * `memory-service mcp`: MCP over standard input and output, for a client that starts it. Ends when
 * its input ends. Standard output carries only messages; logs go to standard error.
 */
export const mcp: Command = {
  summary: 'Serve one user’s memory over MCP on standard input and output.',
  flags: {
    user: { value: 'id', summary: 'Whose memory it is. Required.' },
    spaces: {
      value: 'spaces',
      summary: 'Spaces that the client may use, as in acme:write,docs:read; default none.',
    },
    actor: { value: 'name', summary: 'Who reads and writes, in the access log; default agent.' },
    tools: { value: 'names', summary: 'Offer only these tools, with commas; default all usable.' },
    'tool-prefix': {
      value: 'prefix',
      summary: 'Put this before the names of the tools, for an agent with two memories.',
    },
    'read-only': { value: null, summary: 'Offer only the tools that change nothing.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const served = parseServed(context.flags);
  await restartWithPrivateStreams();
  const { input, output } = takeStreams();
  // A client may close standard error, and go on.
  process.stderr.on('error', () => undefined);
  const loaded = await loadConfig(context);
  const log = createLog(loaded.values.logLevel);
  for (const warning of loaded.warnings) log.warn({}, warning);
  surviveStrayErrors(log);
  process.umask(0o077);

  const lookup = { directory: loaded.cwd, origin: 'memory-service mcp' };
  const { serveStdio } = (await importPlugin('mcp', lookup)) as unknown as McpModule;
  const end = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (end.signal.aborted) process.exit(EXIT_FAILED);
      end.abort();
    });
  }
  const memory = await attach(loaded, log);
  try {
    await refuseUnknownTools(memory.tools, served.tools ?? []);
    await serveStdio(memory.tools, {
      ...served,
      input,
      output,
      signal: AbortSignal.any([end.signal, signalOfParent()]),
      onError: (error) => log.warn({ error: describeError(error) }, 'a message went wrong'),
    });
  } finally {
    await memory.close();
  }
  // Ends pending work such as a plugin's timers, which nobody waits for.
  process.exit(0);
}

/** What the flags say: for whom, and which tools. */
interface Served {
  userId: string;
  spaces?: readonly NamedSpace[];
  actor?: string;
  tools?: readonly string[];
  toolPrefix?: string;
  readOnly: boolean;
}

function parseServed(flags: ReadonlyMap<string, string>): Served {
  const user = flags.get('user');
  if (user === undefined) {
    throw new ConfigError(null, 'mcp needs --user=<id>: it serves the memory of one user.');
  }
  const spaces = flags.get('spaces');
  const actor = flags.get('actor');
  const tools = flags.get('tools');
  const toolPrefix = flags.get('tool-prefix');
  if (toolPrefix !== undefined) orRefuse('tool-prefix', () => checkToolPrefix(toolPrefix));
  return {
    userId: orRefuse('user', () => parseUserId(user)),
    ...(spaces === undefined ? {} : { spaces: orRefuse('spaces', () => parseSpaceLine(spaces)) }),
    ...(actor === undefined ? {} : { actor: orRefuse('actor', () => parseActor(actor)) }),
    ...(tools === undefined ? {} : { tools: tools.split(',').map((name) => name.trim()) }),
    ...(toolPrefix === undefined ? {} : { toolPrefix }),
    readOnly: flags.has('read-only'),
  };
}

/** Otherwise the client would just see an empty list after a typing mistake. */
async function refuseUnknownTools(runner: ToolRunner, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const known = (await runner.listTools()).map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const hint = meant === null ? `There are ${known.join(', ')}.` : `Did you mean ${meant}?`;
  throw new ConfigError(null, `--tools is not valid: there is no tool ${unknown}. ${hint}`);
}

function orRefuse<T>(flag: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const reason = (error as Error).message.replace(/^(?:context\.actor|toolPrefix) /, 'it ');
    throw new ConfigError(null, `--${flag} is not valid: ${reason}`, { cause: error });
  }
}
