import { describe, expect, it } from 'vitest';
import { DREAM_KINDS, parseEdits } from '../../../core/edits/operations.ts';
import { parseVerdicts } from '../../../core/edits/verify.ts';
import { findJson, parseReply, withoutFirstThoughts } from '../../../core/encoding/json-reply.ts';
import { parseLines, parseSearches } from '../../../core/subagents/context/prompt.ts';

const SCHEMA = { type: 'object', required: ['drink'] };
const TEA = '{"drink":"tea"}';

describe('the JSON of a reply', () => {
  it.each([
    ['a code fence', `\`\`\`json\n${TEA}\n\`\`\``],
    ['words before a fence', `Here is the JSON:\n\n\`\`\`json\n${TEA}\n\`\`\``],
    ['words after a fence', `\`\`\`\n${TEA}\n\`\`\`\nI hope that helps. {Ask} me again!`],
    ['words around it', `Sure! ${TEA} That's all.`],
    ['several fences', `\`\`\`json\n{"drink":"?"}\n\`\`\`\nNo:\n\`\`\`json\n${TEA}\n\`\`\``],
    ['another object behind it', `${TEA}\n{"confidence":0.9}`],
    ['a schema before it', `By {"type":"object"}: ${TEA}`],
    ['a fence in a fence', `\`\`\`\n\`\`\`json\n${TEA}\n\`\`\`\n\`\`\``],
    ['thoughts', `<think>{"drink":"?"}</think>\n${TEA}`],
    ['thoughts without a begin', `She said {"drink":"?"}.\n</think>\n${TEA}`],
    ['thoughts of Magistral', `[THINK]{"drink":"?"}[/THINK]${TEA}`],
    ['thoughts of Kimi', `◁think▷{"drink":"?"}◁/think▷${TEA}`],
    [
      'the channels of gpt-oss',
      `<|channel|>analysis<|message|>{"drink":"?"}<|end|><|start|>assistant<|channel|>final<|message|>${TEA}<|return|>`,
    ],
    ['thoughts, words and a fence', `<think>hm</think>So:\n\`\`\`json\n${TEA}\n\`\`\``],
    ['a byte order mark', `\uFEFF${TEA}`],
    ['quotes in the words', `"She" said "it": ${TEA}`],
    ['blanks', `\n ${TEA} \n`],
  ])('is freed from %s', (_what, reply) => {
    expect(findJson(reply, SCHEMA)).toBe(TEA);
  });

  it('may have the marks of thoughts and fences in its texts', () => {
    const json = JSON.stringify({ drink: 'a</think>b ```json {"drink":1} ```' });
    expect(findJson(json, SCHEMA)).toBe(json);
    expect(findJson(`Here:\n${json}`, SCHEMA)).toBe(json);
  });

  it('is what there is of it, where the reply was cut off', () => {
    const begun = '{"drink":"te';
    expect(findJson(begun, SCHEMA)).toBe(begun);
    expect(findJson(`\`\`\`json\n${begun}`, SCHEMA)).toBe(begun);
    expect(findJson(`So:\n\`\`\`json\n${begun}`, SCHEMA)).toBe(begun);
    expect(findJson(`So: ${begun}`, SCHEMA)).toBe(begun);
  });

  it('is never taken from thoughts that did not end', () => {
    expect(findJson(`<think>maybe ${TEA} or`, SCHEMA)).toBe('');
  });

  it('is of the type that the schema wants', () => {
    expect(findJson('As of [1]: {"drink":"tea"}', SCHEMA)).toBe(TEA);
    expect(findJson('The list: ["tea"] {"a":1}', { type: 'array' })).toBe('["tea"]');
  });

  it('is the reply as it is, where it has none', () => {
    expect(findJson('She drinks tea.', SCHEMA)).toBe('She drinks tea.');
  });

  it('is not looked for without an end in a reply of brackets', () => {
    const brackets = '{'.repeat(200_000);
    expect(parseReply(findJson(brackets, SCHEMA))).toBeUndefined();
  });

  it('is not parsed where it is nested too deeply', () => {
    expect(parseReply(`${'['.repeat(33)}${']'.repeat(33)}`)).toBeUndefined();
    expect(parseReply(`${'['.repeat(32)}${']'.repeat(32)}`)).toBeDefined();
  });

  it('is read by whoever asks a model, whichever provider it is of', () => {
    const around = (value: unknown) =>
      `<think>{"x":1}</think>Sure:\n\`\`\`json\n${JSON.stringify(value)}\n\`\`\`\nDone.`;
    expect(parseSearches(around({ searches: ['tea'] }))).toEqual(['tea']);
    const line = { path: 'user/a.md', line: 1 };
    expect(parseLines(around({ lines: [line] }))).toEqual([line]);
    const verdict = { operation: 1, verdict: 'keeps', lost: [], added: [] };
    expect(parseVerdicts(around({ verdicts: [verdict] }), [])).toEqual(new Map([[1, 'keeps']]));
    const edits = around({ operations: [{ kind: 'duplicate', remove: [] }] });
    expect(parseEdits(edits, DREAM_KINDS)).not.toBeNull();
  });
});

describe('a reply of words', () => {
  it('is without the thoughts before it', () => {
    expect(withoutFirstThoughts('<think>hm</think>\n\nTea.')).toBe('Tea.');
    expect(withoutFirstThoughts('It has a </think> mark.')).toBe('It has a </think> mark.');
    expect(withoutFirstThoughts('<think>hm')).toBe('');
  });
});
