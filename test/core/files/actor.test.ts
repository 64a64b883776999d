import { describe, expect, it } from 'vitest';

import { MemoryError } from '../../../core/errors.ts';
import { parseActor } from '../../../core/files/actor.ts';

describe('parseActor', () => {
  it('is agent unless the caller names one', () => {
    expect(parseActor(undefined)).toBe('agent');
  });

  it.each([
    ...['agent', 'Agent', 'a', 'support bot', 'crew/researcher', 'admin2', 'administrator'],
    ...[
      'admin-agent',
      'my admin',
      'dream',
      'dreamagent',
      'importer',
      'play ground',
      'エージェント',
    ],
    ...['x'.repeat(64), 'é'.repeat(64), '😀'.repeat(64)],
  ])('takes %j as it is', (actor) => {
    expect(parseActor(actor)).toBe(actor);
  });

  it.each(['admin', 'dream-agent', 'filing-agent', 'folder', 'import', 'playground'])(
    'refuses %s in any case and in wide and styled forms',
    (name) => {
      const forms = [
        name,
        name.toUpperCase(),
        `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        toWide(name),
        toWide(name.toUpperCase()),
        toBold(name),
        name.charAt(0) + toWide(name.slice(1)),
        name.replace('i', 'ⅰ'),
        ...['‐', '‑', '–', '—', '−', '－', '﹣', '⁃'].map((dash) => name.replace('-', dash)),
      ];
      for (const form of forms) expectRefused(form);
    },
  );

  it.each([
    ['nothing', ''],
    ['65 characters', 'x'.repeat(65)],
    ['65 characters of two code units', '😀'.repeat(65)],
    ['1 MB', 'x'.repeat(1 << 20)],
    ['a leading space', ' agent'],
    ['a trailing space', 'agent '],
    ['a trailing no-break space', 'agent\u00a0'],
    ['a NUL', 'agent\0'],
    ['a line feed', 'agent\nadmin'],
    ['a line end', 'agent\r\n'],
    ['a zero-width space', 'ad\u200bmin'],
    ['a soft hyphen', 'ad\u00admin'],
    ['a right-to-left override', '\u202enimda'],
    ['a variation selector', 'admin\ufe0f'],
    ['half of a surrogate pair', 'agent\ud83d'],
  ])('refuses %s', (_, actor) => {
    expectRefused(actor);
  });

  it.each<[string, unknown]>([
    ['a number', 7],
    ['null', null],
    ['an object', {}],
    ['an array', ['agent']],
    ['a boxed text', Object('agent')],
  ])('is text: %s is refused', (_, actor) => {
    expectRefused(actor as string);
  });
});

function expectRefused(actor: string): void {
  let refused: unknown = null;
  try {
    parseActor(actor);
  } catch (error) {
    refused = error;
  }
  expect([actor, refused]).toEqual([actor, expect.any(MemoryError)]);
  expect(refused).toMatchObject({
    code: 'INVALID_REQUEST',
    details: { issues: [{ path: '/context/actor', message: expect.any(String) }] },
  });
}

function toWide(text: string): string {
  return text.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0));
}

function toBold(text: string): string {
  return text.replace(/[a-z]/g, (char) => String.fromCodePoint(char.charCodeAt(0) - 97 + 0x1d41a));
}
