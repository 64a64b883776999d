// Puts what the examples print into their READMEs. The tests compare the two.
//
//   node examples/scripted-model/fill-transcripts.mjs

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folders whose READMEs show what their scripts print. */
export const TOLD = ['langchain', 'vercel-ai', 'openai', 'anthropic'];

const OUTPUT = /^<!-- output of (\S+) -->\n(?:\n```text\n[\s\S]*?\n```\n)?/gm;

/**
 * The scripts of which a README shows the output.
 *
 * @param {string} readme
 */
export function scriptsIn(readme) {
  return [...readme.matchAll(OUTPUT)].map(([, script = '']) => script);
}

/**
 * A README with the output below each marker made anew.
 *
 * @param {string} readme
 * @param {(script: string) => string} outputOf
 */
export function fillTranscripts(readme, outputOf) {
  return readme.replaceAll(OUTPUT, (_, script) => {
    return `<!-- output of ${script} -->\n\n\`\`\`text\n${outputOf(script).trimEnd()}\n\`\`\`\n`;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of TOLD) {
    const directory = fileURLToPath(new URL(`../${folder}/`, import.meta.url));
    const readme = readFileSync(`${directory}README.md`, 'utf8');
    const run = (/** @type {string} */ script) =>
      execFileSync(process.execPath, [directory + script], { encoding: 'utf8' });
    writeFileSync(`${directory}README.md`, fillTranscripts(readme, run));
  }
}
