import { createScreening } from '../../../core/screening/screening.ts';
import { describe, expect, it } from 'vitest';
import type { FileState, ScopeKey, ScopeState } from '../../../core/contracts/records.ts';
import type { Changes } from '../../../core/contracts/storage.ts';
import type { Caller } from '../../../core/contracts/tool.ts';
import { checkContent } from '../../../core/files/content.ts';
import {
  deletion,
  Draft,
  NO_TOOL_CALL,
  revertTo,
  versionConflict,
  type Writing,
} from '../../../core/files/draft.ts';
import { toPhysicalPath } from '../../../core/files/paths.ts';
import { chainHeadOf, hashRow, linkHash } from '../../../core/history/chain.ts';
import { createIdSource, createScopeIds } from '../../../core/ids/ids.ts';
import { toIdMs } from '../../../core/ids/id-time.ts';
import { noTrace } from '../../../core/telemetry/tracer.ts';
import { emptyScope } from '../../support/empty-scope.ts';

const NOW = Date.UTC(2026, 0, 2);
const alice = { scope: 'u:alice', path: 'a.md' } as const;

/** The rows of a memory, to which one draft after the other is applied. */
class Memory {
  readonly scopes = new Map<ScopeKey, ScopeState>();
  readonly files = new Map<string, FileState>();
  readonly maxFilesPerUser: number;
  now = NOW;

  constructor(maxFilesPerUser = 100) {
    this.maxFilesPerUser = maxFilesPerUser;
  }

  draft({ triggersDream, ...caller }: Partial<Who> = {}): Draft {
    const current = {
      scope: (scope: ScopeKey) => this.scope(scope),
      file: (key: typeof alice) => this.files.get(toPhysicalPath(key)) ?? null,
      space: () => null,
      overlaps: () => [],
    };
    return new Draft(current, {
      now: this.now,
      ids: createIdSource(() => this.now),
      caller: { ...NO_TOOL_CALL, actor: 'tester', trace: noTrace(null), ...caller },
      toPath: toPhysicalPath,
      triggersDream,
      maxFilesPerUser: this.maxFilesPerUser,
      screening: createScreening({ screen: { secrets: 'off', personal: 'off', patterns: null } }),
    });
  }

  scope(scope: ScopeKey): ScopeState {
    return this.scopes.get(scope) ?? emptyScope(scope);
  }

  /** The rows of a draft, after they became those of the memory. */
  apply(draft: Draft): Changes {
    const changes = draft.changes({});
    for (const scope of changes.scopes ?? []) this.scopes.set(scope.scope, scope);
    for (const file of changes.files ?? []) this.files.set(toPhysicalPath(file), file);
    return changes;
  }

  /** Makes one change, and gives its revision. */
  put(content: string | null, { key = alice, ...who }: Partial<Who> & PutOf = {}) {
    const draft = this.draft(who);
    draft.put(key, content === null ? deletion('delete', null) : writing(content));
    const [revision] = this.apply(draft).revisions ?? [];
    return revision;
  }
}

type Who = Caller & Pick<Writing, 'triggersDream'>;

interface PutOf {
  key?: { scope: ScopeKey; path: string };
}

function writing(content: string) {
  const facts = checkContent(content, Number.MAX_SAFE_INTEGER);
  return { content, facts, action: 'write', reason: null } as const;
}

/** How a revision stores the content before it. */
const stepOf = (revision: ReturnType<Memory['put']>) => {
  const { delta = null, keyframe = null } = revision ?? {};
  if (keyframe !== null) return delta === null ? 'text' : 'both';
  return delta === null ? 'nothing' : 'delta';
};

describe('the step back of a revision', () => {
  it('is nothing for a new file, and the whole text for a deletion, with the lines that changed', () => {
    const memory = new Memory();
    const lines = (revision: ReturnType<Memory['put']>) => [
      revision?.addedLines,
      revision?.removedLines,
    ];
    expect(lines(memory.put('1\n2\n3'))).toEqual([3, 0]);
    const update = memory.put('1\n2\n4');
    expect([stepOf(update), lines(update)]).toEqual(['delta', [1, 1]]);
    const gone = memory.put(null);
    expect([stepOf(gone), gone?.keyframe, lines(gone)]).toEqual(['text', '1\n2\n4', [0, 3]]);
    const again = memory.put('new\n');
    expect([stepOf(again), again?.version, lines(again)]).toEqual(['nothing', 4, [1, 0]]);
  });

  it('is a delta with the older text beside it at every 64th', () => {
    const memory = new Memory();
    const text = (nth: number) => `${'the same line\n'.repeat(40)}${nth}\n`;
    memory.put(text(0));
    const steps = Array.from({ length: 130 }, (_, nth) => stepOf(memory.put(text(nth + 1))));
    expect(steps.flatMap((step, nth) => (step === 'both' ? [nth + 1] : []))).toEqual([64, 128]);
    expect(steps.filter((step) => step === 'delta')).toHaveLength(128);
  });

  it('has the older text beside it where the deltas since the last one outgrow the file', () => {
    const memory = new Memory();
    // Each delta holds the line that it replaces: three of them have more than 8,192 bytes.
    const text = (nth: number) => `kept\n${String(nth).repeat(3000)}\n`;
    memory.put(text(0));
    const steps = Array.from({ length: 7 }, (_, nth) => memory.put(text(nth + 1)));
    expect(steps.map(stepOf)).toEqual([
      'delta',
      'delta',
      'both',
      'delta',
      'delta',
      'both',
      'delta',
    ]);
    expect(memory.files.get('users/alice/a.md')).toMatchObject({
      chainRows: 1,
      chainBytes: steps[6]?.delta?.byteLength,
    });
  });

  it('may have twice the bytes of a large file', () => {
    const memory = new Memory();
    const text = (nth: number) => `${'kept\n'.repeat(4000)}${String(nth).repeat(9000)}\n`;
    memory.put(text(0));
    const steps = Array.from({ length: 7 }, (_, nth) => stepOf(memory.put(text(nth + 1))));
    expect(steps.indexOf('both')).toBe(6);
  });

  it('is the older text alone where the delta would be larger', () => {
    const memory = new Memory();
    // Every second line changes: the delta names each place.
    const text = (mark: string) =>
      Array.from({ length: 400 }, (_, line) => (line % 2 === 0 ? '=' : `${mark}`)).join('\n');
    memory.put(text('a'));
    const update = memory.put(text('b'));
    expect([stepOf(update), update?.keyframe]).toEqual(['text', text('a')]);
    expect(memory.files.get('users/alice/a.md')).toMatchObject({ chainRows: 0, chainBytes: 0 });
    expect(stepOf(memory.put(`${text('b')}!`))).toBe('delta');
  });
});

describe('the counts of a scope', () => {
  it('follow what is created, changed, deleted and written again', () => {
    const memory = new Memory();
    const b = { ...alice, path: 'b.md' };
    const counts = () => {
      const { files, bytes, revisions, version, nextFileNo } = memory.scope('u:alice');
      return [files, bytes, revisions, version, nextFileNo];
    };
    memory.put('12345');
    expect(counts()).toEqual([1, 5, 1, 1, 2]);
    memory.put('123', { key: b });
    expect(counts()).toEqual([2, 8, 2, 2, 3]);
    memory.put('1234567');
    expect(counts()).toEqual([2, 10, 3, 3, 3]);
    memory.put(null, { key: b });
    expect(counts()).toEqual([1, 7, 4, 4, 3]);
    memory.put('12', { key: b });
    expect(counts()).toEqual([2, 9, 5, 5, 3]);
    // The same content: the row of the access alone.
    memory.put('12', { key: b });
    expect(counts()).toEqual([2, 9, 5, 6, 3]);
  });

  it('say when the user wrote what dreams read', () => {
    const memory = new Memory();
    const written = (key: NonNullable<PutOf['key']>, caller: Partial<Who> = {}) => {
      memory.now += 1000;
      memory.put(`at ${memory.now}`, { key, ...caller });
      const { lastWriteAt, lastQualifyingAt } = memory.scope(key.scope);
      return [lastWriteAt === memory.now, lastQualifyingAt === memory.now];
    };
    expect(written(alice)).toEqual([true, true]);
    expect(written(alice, { triggersDream: false })).toEqual([true, false]);
    expect(written({ ...alice, path: 'log.md' })).toEqual([true, false]);
    expect(written({ scope: 's', path: 'a.md' })).toEqual([true, false]);
    expect(memory.scope('s').lastQualifyingAt).toBeNull();
  });
});

describe('the quota of files', () => {
  it('refuses a new file and names the limit, and allows updates and deletions', () => {
    const memory = new Memory(1);
    memory.put('one');
    const other = { ...alice, path: 'b.md' };
    expect(() => memory.put('two', { key: other })).toThrow(
      expect.objectContaining({
        code: 'QUOTA_EXCEEDED',
        message: 'The memory has 1 files; at most 1 are allowed.',
        details: { limit: 'maxFilesPerUser', max: 1 },
      }),
    );
    expect(memory.put('one more')).toMatchObject({ version: 2 });
    expect(memory.put(null, { key: other })).toMatchObject({ existedBefore: false });
    for (const path of ['a.md', 'b.md']) memory.put('x', { key: { scope: 's', path } });
    expect(memory.scope('s').files).toBe(2);
  });
});

describe('the rows of a write', () => {
  it('have ids of one clock, and the caller', () => {
    const memory = new Memory();
    const caller = {
      userId: 'bob',
      actor: 'agent',
      tool: 'memory_write',
      toolCallId: 'call',
      traceId: 'trace',
      runId: 'run',
    };
    const { traceId, ...who } = caller;
    const draft = memory.draft({ ...who, trace: noTrace(traceId) });
    draft.put({ scope: 's', path: 'a.md' }, { ...writing('x'), reason: 'because' });
    const { access = [], revisions = [], scopes = [] } = memory.apply(draft);
    const { userId, ...ofRevision } = caller;
    expect(revisions).toEqual([
      expect.objectContaining({ ...ofRevision, reason: 'because', action: 'create', at: NOW }),
    ]);
    expect(access).toEqual([
      {
        ...caller,
        key: null,
        id: access[0]?.id,
        scope: 's',
        path: 'a.md',
        fileNo: 1,
        version: 1,
        at: NOW,
        action: 'write',
        revisionId: revisions[0]?.id,
        lines: '',
        rank: null,
        outcome: 'ok',
      },
    ]);
    const ids = [revisions[0]?.id ?? '', access[0]?.id ?? ''];
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.map(toIdMs)).toEqual([NOW, NOW]);
    expect(scopes).toMatchObject([{ scope: 's', lastMs: NOW, idCounter: 2 }]);
  });

  it('of a user’s memory name its owner, whoever writes', () => {
    const memory = new Memory();
    const draft = memory.draft({ userId: 'bob' });
    draft.put(alice, writing('x'));
    expect(memory.apply(draft).access).toMatchObject([{ userId: 'alice' }]);
  });

  it('hang on the chain of their scope, one after the other', () => {
    const memory = new Memory();
    const draft = memory.draft();
    const before = chainHeadOf(memory.scope('u:alice'));
    draft.put(alice, writing('one'));
    draft.put(alice, writing('two'));
    draft.put({ scope: 's', path: 'a.md' }, writing('three'));
    const [one, two, three] = memory.apply(draft).revisions ?? [];
    if (one === undefined || two === undefined || three === undefined) throw new Error('No rows.');
    expect(one).toMatchObject({ previousHash: before, chainHash: linkHash(before, hashRow(one)) });
    expect(two.previousHash).toBe(one.chainHash);
    expect(three.previousHash).toBe(chainHeadOf(new Memory().scope('s')));
    expect(memory.scope('u:alice').chainHead).toBe(two.chainHash);
    expect(memory.scope('s').chainHead).toBe(three.chainHash);
  });

  it('name each other where they are a pair, and no other', () => {
    const memory = new Memory();
    const draft = memory.draft();
    const ids = ['a.md', 'b.md', 'c.md'].map(
      (path) => draft.put({ ...alice, path }, writing(path)).revisionId,
    );
    draft.pair(ids[0] ?? '', ids[2] ?? '');
    expect(draft.revisionCount).toBe(3);
    expect(memory.apply(draft).revisions?.map(({ peerId }) => peerId)).toEqual([
      ids[2],
      null,
      ids[0],
    ]);
  });
});

describe('a restored history', () => {
  /** The rows of a file with two revisions, as an archive has them. */
  function archived(content: string | null = 'two') {
    const elsewhere = new Memory();
    elsewhere.now = NOW - 5000;
    const older = elsewhere.put('one');
    elsewhere.now += 1000;
    const newer = elsewhere.put(content);
    const file = elsewhere.files.get('users/alice/a.md');
    if (older === undefined || newer === undefined || file === undefined)
      throw new Error('No rows.');
    return { file, older, newer, head: elsewhere.scope('u:alice').chainHead };
  }

  it('keeps its ids and times, is counted, and is followed by later ids', () => {
    const { file, older, newer } = archived();
    const memory = new Memory();
    memory.put('first', { key: { ...alice, path: 'b.md' } });
    memory.now = NOW - 60_000;
    const draft = memory.draft();
    draft.restore(file, [newer]);
    const { revisions, access, files, pruned } = memory.apply(draft);
    expect(pruned).toBeUndefined();
    expect(revisions).toEqual([{ ...newer, fileNo: 2 }]);
    expect(files).toEqual([{ ...file, fileNo: 2, revisions: 1 }]);
    expect(access).toMatchObject([
      { ...alice, fileNo: 2, version: 2, revisionId: newer.id, action: 'write', at: NOW },
    ]);
    expect(memory.scope('u:alice')).toMatchObject({
      files: 2,
      bytes: 8,
      revisions: 2,
      nextFileNo: 3,
      lastWriteAt: NOW,
    });
    const more = memory.draft();
    more.restoreOlder(memory.files.get('users/alice/a.md') as FileState, [older]);
    expect(memory.apply(more)).toMatchObject({
      revisions: [{ ...older, fileNo: 2 }],
      files: [{ revisions: 2, version: 2 }],
      access: [{ fileNo: 2, version: 1, revisionId: older.id }],
    });
    expect(memory.scope('u:alice')).toMatchObject({ files: 2, bytes: 8, revisions: 3 });
  });

  it('that is newer than the clock moves the clock on', () => {
    const { file, newer } = archived();
    const memory = new Memory();
    memory.now = toIdMs(newer.id) - 60_000;
    const draft = memory.draft();
    draft.restore(file, [newer]);
    const { access = [], scopes } = memory.apply(draft);
    expect(access.map(({ at, id }) => [at, id > newer.id])).toEqual([[toIdMs(newer.id) + 1, true]]);
    expect(scopes).toMatchObject([
      { lastMs: toIdMs(newer.id) + 1, idCounter: 1, lastWriteAt: file.updatedAt },
    ]);
  });

  it('of the very millisecond of the clock moves it on, too', () => {
    const { file, newer } = archived();
    const memory = new Memory();
    memory.now = toIdMs(newer.id);
    const draft = memory.draft();
    draft.restore(file, [newer]);
    expect(memory.apply(draft).scopes).toMatchObject([{ lastMs: memory.now + 1 }]);
  });

  it('of a deleted file counts no file, and no quota', () => {
    const { file, newer } = archived(null);
    const memory = new Memory(0);
    const draft = memory.draft();
    draft.restore(file, [newer]);
    memory.apply(draft);
    expect(memory.scope('u:alice')).toMatchObject({ files: 0, bytes: 0, revisions: 1 });
    expect(() => memory.draft().restore(archived().file, [])).toThrow(
      expect.objectContaining({ code: 'QUOTA_EXCEEDED' }),
    );
  });

  it('hangs on the chain that its scope took over, and on no other', () => {
    const { file, newer, head } = archived();
    const memory = new Memory();
    const chain = { head, after: null, newest: newer.id };
    const draft = memory.draft();
    expect(draft.adoptChain('u:alice', chain)).toBe(true);
    // Nothing hangs on it yet: another archive may still come first.
    expect(draft.adoptChain('u:alice', chain)).toBe(false);
    draft.restore(file, [newer]);
    expect(draft.adoptChain('u:alice', chain)).toBe(true);
    expect(draft.adoptChain('u:alice', { ...chain, head: 'f'.repeat(64) })).toBe(false);
    expect(draft.adoptChain('u:alice', { ...chain, after: newer.id })).toBe(false);
    const { revisions } = memory.apply(draft);
    expect(revisions).toEqual([{ ...newer, fileNo: 1 }]);
    expect(memory.scope('u:alice')).toMatchObject({ chainHead: head, chainAfter: null });
    expect(memory.put('three', { key: { ...alice, path: 'b.md' } })?.previousHash).toBe(head);
  });

  it('adopts the chain of an archive with unchained revisions, and makes later ids', () => {
    const memory = new Memory();
    memory.now = NOW - 60_000;
    const newest = createScopeIds(memory.scope('s'), NOW, { lastMs: 0, idCounter: 0 }).next();
    const draft = memory.draft();
    expect(draft.adoptChain('s', { head: null, after: newest, newest })).toBe(true);
    memory.apply(draft);
    expect(memory.scope('s')).toMatchObject({ chainHead: null, chainAfter: newest });
    expect(memory.scope('s').lastMs).toBe(NOW + 1);
    const other = memory.draft();
    expect(other.adoptChain('s', { head: null, after: null, newest: null })).toBe(false);
    expect(other.adoptChain('u:alice', { head: null, after: null, newest: null })).toBe(true);
    memory.apply(other);
    expect(memory.scope('u:alice').lastMs).toBe(NOW - 60_000);
  });

  it('does not adopt a chain if the scope has unchained revisions', () => {
    const memory = new Memory();
    memory.put('one');
    memory.scopes.set('u:alice', { ...memory.scope('u:alice'), chainHead: null });
    const chain = { head: 'f'.repeat(64), after: null, newest: null };
    expect(memory.draft().adoptChain('u:alice', chain)).toBe(false);
  });

  it('brings what is pruned of it', () => {
    const memory = new Memory();
    const draft = memory.draft();
    const { newer } = archived();
    const hashes = {
      rowHash: 'a',
      chainHash: 'b',
      contentHash: null,
      contentSalt: null,
      shown: null,
    };
    const pruned = { id: newer.id, fileNo: 1, version: 1, ...hashes };
    draft.addPruned('u:alice', [pruned]);
    expect(memory.apply(draft)).toMatchObject({
      pruned: [{ ...pruned, scope: 'u:alice' }],
      scopes: [{ scope: 'u:alice', version: 1 }],
    });
  });
});

describe('a change', () => {
  it('reverts to a content above the size limit; to revert to null is to delete', () => {
    const text = 'x'.repeat(300_000);
    expect(revertTo(text, 'why')).toMatchObject({
      content: text,
      facts: { size: 300_000, lines: 1 },
      action: 'revert',
      reason: 'why',
    });
    expect(revertTo(null, 'why')).toMatchObject({
      content: null,
      facts: { size: 0, lines: 0 },
      action: 'revert',
      reason: 'why',
    });
  });

  it('that expected another version is told both', () => {
    const message = (expected: number, actual: number) =>
      versionConflict('user/a.md', { expected, actual }).message;
    expect(message(3, 2)).toBe('user/a.md is at version 2, not 3.');
    expect(message(3, 0)).toBe('user/a.md does not exist, not 3.');
    expect(message(0, 2)).toBe('user/a.md is at version 2, it must not exist.');
    expect(versionConflict('user/a.md', { expected: 3, actual: 2 })).toMatchObject({
      code: 'VERSION_CONFLICT',
      details: { path: 'user/a.md', expected: 3, actual: 2 },
    });
  });
});
