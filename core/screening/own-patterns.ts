import { readFileSync } from 'node:fs';
import { ConfigError } from '../config/error.ts';
import type { Detector } from './detect.ts';
import { toLinearPattern } from './linear-pattern.ts';
import { PatternError } from './pattern-tree.ts';

/** `employee number: EMP-\d{6}`; with `personal.` in front it counts as personal data. */
const LINE = /^(personal\.)?([A-Za-z][A-Za-z0-9 _-]{0,39}):[ \t]+(\S.*)$/;
const DELIMITED = /^\/(.+)\/(i?)$/;
const MOST_PATTERNS = 100;

/**
 * Reads a file of own patterns, one on a line: a name, a colon and a regular expression, as in
 * `employee number: EMP-\d{6}` or `room: /room \d+/i`. Blank lines and those that begin with `#` say
 * nothing. Throws a `ConfigError` that lists every mistake with its line.
 */
export function readOwnPatterns(path: string): Detector[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(
      'screen.patterns',
      `SERVICE_SCREEN_PATTERNS: ${path} cannot be read: ${(error as Error).message}`,
      { cause: error },
    );
  }
  const mistakes: string[] = [];
  const detectors: Detector[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    try {
      detectors.push(parseLine(line));
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      mistakes.push(`${path}:${index + 1}: ${error.message}`);
    }
  }
  if (detectors.length > MOST_PATTERNS) {
    mistakes.push(`${path} has ${detectors.length} patterns; at most ${MOST_PATTERNS} are used.`);
  }
  if (mistakes.length === 0) return detectors;
  throw new ConfigError('screen.patterns', `SERVICE_SCREEN_PATTERNS:\n${mistakes.join('\n')}`);
}

function parseLine(line: string): Detector {
  const [, personal, name = '', given = ''] = LINE.exec(line.trimEnd()) ?? [];
  if (name === '') {
    throw new PatternError(
      'needs a name, a colon and a pattern, as in employee number: EMP-\\d{6}',
    );
  }
  const [, source = given, flags = ''] = DELIMITED.exec(given) ?? [];
  let pattern: ReturnType<typeof toLinearPattern>;
  try {
    pattern = toLinearPattern(source, { ignoreCase: flags === 'i' });
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new PatternError(`the pattern of ${name} ${error.message}`);
  }
  const policy = personal === undefined ? 'secrets' : 'personal';
  const kind = name.toLowerCase().replaceAll(/[ -]/g, '_');
  return {
    policy,
    find: (text) =>
      pattern
        .find(text)
        .map((place) => ({ kind, name: `a text of the pattern ${name}`, policy, ...place })),
  };
}
