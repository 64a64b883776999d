import { expect, it } from 'vitest';
import { takeOwnFlags } from '../../../core/cli/own-flags.ts';

const flags = {
  user: { value: 'id', summary: '' },
  'read-only': { value: null, summary: '' },
};

it('takes a sub-command’s own flags out of the command line, and leaves the others', () => {
  const argv = [
    'mcp',
    '--port=0',
    '--user',
    'a=b',
    '--read-only',
    '--config',
    'x',
    '--',
    '--user=c',
  ];
  const { values, rest } = takeOwnFlags(argv, flags);
  expect([...values]).toEqual([
    ['user', 'a=b'],
    ['read-only', 'true'],
  ]);
  expect(rest).toEqual(['mcp', '--port=0', '--config', 'x', '--', '--user=c']);
  expect([...takeOwnFlags(['--user=a b'], flags).values]).toEqual([['user', 'a b']]);
  expect(takeOwnFlags(['--constructor=1', '--userx=1'], flags).values.size).toBe(0);
});

it.each([
  [['--user'], /--user needs a value/],
  [['--user='], /--user needs a value/],
  [['--user', '--read-only'], /--user needs a value/],
  [['--user=a', '--user=b'], /--user comes twice/],
  [['--read-only=yes'], /--read-only takes no value/],
])('refuses %j', (argv, message) => {
  expect(() => takeOwnFlags(argv, flags)).toThrow(message);
});
