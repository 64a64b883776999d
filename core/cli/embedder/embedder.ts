import type { Command, CommandContext } from '../command.ts';
import { printCommandHelp } from '../help.ts';
import { writeOutput } from '../streams.ts';
import { setUpEmbedder } from './setup.ts';
import { UsageError } from './usage-error.ts';

/** The exit code of a command line that says too little, or something wrong. */
const EXIT_USAGE = 2;

/**
 * `memory-service embedder setup`: makes search by meaning work with a local model, an Ollama that runs
 * or a key of OpenAI. Without `setup` it prints its help.
 */
export const embedder: Command = {
  summary: 'Set up search by meaning (embedder setup): choose a model, test it, embed all memory.',
  argument: 'setup',
  isArgumentOptional: true,
  flags: {
    provider: {
      value: 'local|ollama|openai',
      summary: 'Which embedder; at a terminal it is asked for.',
    },
    model: {
      value: 'name',
      summary: 'The embedding model; default the one there is, or the usual.',
    },
    'base-url': {
      value: 'url',
      summary: 'Of Ollama, or of a server that speaks OpenAI’s API: https://llm.example/v1.',
    },
    'api-key-env': {
      value: 'variable',
      summary: 'The variable that has the key; default OPENAI_API_KEY, for OpenAI alone.',
    },
    dimensions: { value: 'number', summary: 'Length of a vector; default what the model gives.' },
    'dry-run': { value: null, summary: 'Test it and show the settings; change nothing.' },
  },
  exitCodes: '0: it works. 1: the embedder could not be used or set. 2: the flags are wrong.',
  run,
};

async function run(context: CommandContext): Promise<void> {
  if (context.argument === null) return writeOutput(`${printCommandHelp('embedder', embedder)}\n`);
  try {
    if (context.argument !== 'setup') {
      throw new UsageError(
        `embedder ${context.argument} is not known: memory-service embedder setup.`,
      );
    }
    await setUpEmbedder(context);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`memory-service: ${error.message}\n`);
    process.exitCode = EXIT_USAGE;
  }
}
