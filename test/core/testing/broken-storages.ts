import type { AuditRecord, FileState, ScopeKey } from '../../../core/contracts/records.ts';
import type {
  Changes,
  Decision,
  Guard,
  IndexView,
  PageRequest,
  Storage,
} from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';

/** A driver with one bug, as someone might write it: a good storage with something put before it. */
export interface BrokenStorage {
  /** What is wrong with it. */
  bug: string;
  /** The one rule that it breaks. */
  breaks: string;
  /** `counts` is kept beside the storage, as long as the process lives. */
  wrap: (good: Storage, counts: Map<string, number>) => Partial<Storage>;
}

/** Every bug that the conformance suite is known to find, each by one case alone. */
export const brokenStorages: readonly BrokenStorage[] = [
  {
    bug: 'normalises text',
    breaks: 'keeps content byte for byte',
    wrap: (good) => ({
      files: {
        ...good.files,
        async get(key) {
          const file = await good.files.get(key);
          return file && { ...file, content: file.content?.normalize('NFC') ?? null };
        },
      },
    }),
  },
  {
    bug: 'compares paths without regard to accents',
    breaks: 'tells scopes and paths apart byte by byte',
    wrap: (good) => ({
      files: {
        ...good.files,
        async get(key) {
          const path = key.path.normalize('NFD').replace(/\p{Mark}/gu, '');
          const plain = path === key.path ? null : await good.files.get({ ...key, path });
          return plain ?? (await good.files.get(key));
        },
      },
    }),
  },
  {
    bug: 'looks paths up before it checks them',
    breaks: 'refuses paths and user ids that the parsers refuse',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        chain: (key, version) => good.revisions.chain(key, version).catch(() => null),
      },
    }),
  },
  {
    bug: 'cuts long text to the length of its column',
    breaks: 'keeps the longest user id, path and reason that there are',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        async get(id) {
          const revision = await good.revisions.get(id);
          return revision && { ...revision, reason: revision.reason?.slice(0, 255) ?? null };
        },
      },
    }),
  },
  {
    bug: 'looks for a prefix with LIKE',
    breaks: 'lists a scope by path, from after a path, with a prefix',
    wrap: (good) => ({
      files: {
        ...good.files,
        async list(scope, { prefix, after, limit }) {
          const all = await good.files.list(scope, { prefix: '', after, limit: 1e6 });
          return all.filter(({ path }) => isLike(path, prefix)).slice(0, limit);
        },
      },
    }),
  },
  {
    bug: 'reads files that were deleted',
    breaks: 'reads files that exist, and those alone, many at once',
    wrap: (good) => ({
      files: {
        ...good.files,
        async read(key) {
          const file = await good.files.get(key);
          return file && { ...file, content: file.content ?? '' };
        },
      },
    }),
  },
  {
    bug: 'keeps budgets in memory',
    breaks: 'has everything again after a close and another open',
    wrap(good) {
      const used = new Map<string, number>();
      return {
        mutate: (request, decide) =>
          good.mutate(withoutGuards(request, 'budget'), (current) => {
            const decision = decide(current);
            const budgets = (request.guards ?? []).filter(isBudget);
            for (const { name, max } of budgets) {
              if (decision.writes > 0 && (used.get(name) ?? 0) + decision.writes > max) {
                throw new MemoryError('QUOTA_EXCEEDED', undefined, { details: { limit: name } });
              }
            }
            for (const { name } of budgets) {
              used.set(name, (used.get(name) ?? 0) + decision.writes);
            }
            return decision;
          }),
      };
    },
  },
  {
    bug: 'forgets deleted files, so that their versions begin again',
    breaks: 'keeps a deleted file as a row that goes on counting',
    wrap: (good) => ({
      mutate: (request, decide) =>
        good.mutate(request, (current) =>
          decide({
            ...current,
            file(key) {
              const file = current.file(key);
              return file?.content === null ? null : file;
            },
          }),
        ),
    }),
  },
  {
    bug: 'passes on what decide threw, whatever it is',
    breaks: 'rejects what decide throws, writes nothing of it, and costs the others nothing',
    wrap: (good) => ({
      async mutate(request, decide) {
        let thrown: unknown;
        try {
          return await good.mutate(request, (current) => {
            try {
              return decide(current);
            } catch (error) {
              thrown = error;
              throw error;
            }
          });
        } catch (error) {
          throw thrown ?? error;
        }
      },
    }),
  },
  {
    bug: 'commits each file of a mutation by itself',
    breaks: 'writes all files of a mutation or none',
    wrap: (good) => ({
      async mutate(request, decide) {
        let rest: Changes = {};
        const result = await good.mutate(request, (current) => {
          const decision = decide(current);
          const { files = [], revisions = [], ...changes } = decision.changes;
          if (files.length < 2 || request.scopes.length > 1) return decision;
          rest = { files: files.slice(1), revisions: revisions.slice(1) };
          const first = { ...changes, files: files.slice(0, 1), revisions: revisions.slice(0, 1) };
          return { ...decision, changes: first };
        });
        const later = { ...request, guards: [] };
        if (rest.files !== undefined) await good.mutate(later, () => write(rest));
        return result;
      },
    }),
  },
  {
    bug: 'locks the first scope alone',
    breaks: 'locks a user’s scope and the shared one together',
    wrap: (good) => ({
      async mutate(request, decide) {
        const [, second] = request.scopes;
        if (second === undefined || request.files.length < 2) return good.mutate(request, decide);
        const early = new Map<string, FileState | null>();
        const scope = await good.mutate(request, (current) => {
          for (const key of request.files) early.set(`${key.scope} ${key.path}`, current.file(key));
          return { result: current.scope(second), writes: 0, changes: {} };
        });
        return good.mutate(request, (current) =>
          decide({
            ...current,
            scope: (wanted) => (wanted === second ? scope : current.scope(wanted)),
            file: (key) =>
              key.scope === second
                ? (early.get(`${key.scope} ${key.path}`) ?? null)
                : current.file(key),
          }),
        );
      },
    }),
  },
  {
    bug: 'gives a decision null for what the request did not name',
    breaks: 'lets a decision reach no row that the request did not name',
    wrap: (good) => ({
      mutate: (request, decide) =>
        good.mutate(request, (current) =>
          decide({
            ...current,
            file(key) {
              const isNamed = request.files.some(
                ({ scope, path }) => scope === key.scope && path === key.path,
              );
              return isNamed ? current.file(key) : null;
            },
          }),
        ),
    }),
  },
  {
    bug: 'looks an idempotency key up before it has the lock',
    breaks: 'looks an idempotency key up under the lock',
    wrap: (good) => ({
      async mutate(request, decide) {
        if (request.idempotency === undefined) return good.mutate(request, decide);
        const { idempotency } = await good.mutate(request, (current) => ({
          result: { idempotency: current.idempotency },
          writes: 0,
          changes: {},
        }));
        return good.mutate(request, (current) => decide({ ...current, idempotency }));
      },
    }),
  },
  {
    bug: 'writes the audit after the change',
    breaks: 'writes the audit row with the change, or neither',
    wrap: (good) => ({
      async mutate(request, decide) {
        let audit: readonly AuditRecord[] = [];
        const result = await good.mutate(request, (current) => {
          const decision = decide(current);
          const { audit: rows = [], ...changes } = decision.changes;
          audit = rows;
          return { ...decision, changes };
        });
        const none = { scopes: [], files: [] };
        if (audit.length > 0) await good.mutate(none, () => write({ audit }));
        return result;
      },
    }),
  },
  {
    bug: 'answers a ping when it is closed',
    breaks: 'refuses everything once it is closed',
    wrap: () => ({ ping: () => Promise.resolve() }),
  },
  {
    bug: 'releases a lease whoever has it',
    breaks: 'gives a lease to one holder at a time, with a fence that only grows',
    wrap(good) {
      const fences = new Map<string, number>();
      return {
        leases: {
          ...good.leases,
          async claim(name, holder, ttlMs) {
            const fence = await good.leases.claim(name, holder, ttlMs);
            if (fence !== null) fences.set(name, fence);
            return fence;
          },
          release: (name) => good.leases.release(name, fences.get(name) ?? 0),
        },
      };
    },
  },
  {
    bug: 'keeps a holder out of its own lease',
    breaks: 'gives a holder its own lease again, with the next fence',
    wrap(good) {
      let claims = 0;
      const claim: Storage['leases']['claim'] = (name, holder, ttlMs) =>
        good.leases.claim(name, `${holder} ${(claims += 1)}`, ttlMs);
      return { leases: { ...good.leases, claim } };
    },
  },
  {
    bug: 'checks no lease where it writes',
    breaks: 'refuses the write of a lost lease',
    wrap: (good) => ({
      mutate: (request, decide) => good.mutate(withoutGuards(request, 'lease'), decide),
    }),
  },
  {
    bug: 'looks at a budget before the write and counts after it',
    breaks: 'counts a budget exactly: 1,000 writes at once with 3 allowed are 3',
    wrap: (good, counts) => ({
      async mutate(request, decide) {
        const budgets = (request.guards ?? []).filter(isBudget);
        const isSpent = new Set(
          budgets.filter(({ name, max }) => (counts.get(name) ?? 0) >= max).map(({ name }) => name),
        );
        let writes = 0;
        const result = await good.mutate(withoutGuards(request, 'budget'), (current) => {
          const decision = decide(current);
          ({ writes } = decision);
          const [limit] = isSpent;
          if (writes > 0 && limit !== undefined) {
            throw new MemoryError('QUOTA_EXCEEDED', undefined, { details: { limit } });
          }
          return decision;
        });
        for (const { name } of budgets) counts.set(name, (counts.get(name) ?? 0) + writes);
        return result;
      },
    }),
  },
  {
    bug: 'counts a call that writes nothing',
    breaks: 'counts no budget for what is not written',
    wrap: (good) => ({
      mutate: (request, decide) =>
        good.mutate(request, (current) => {
          const decision = decide(current);
          return { ...decision, writes: Math.max(1, decision.writes) };
        }),
    }),
  },
  {
    bug: 'skips files of equal size between two pages',
    breaks: 'lists all files by each sort and filter, page by page, as a plain search finds them',
    wrap: (good) => ({
      files: {
        ...good.files,
        listAll(filter, page) {
          const [size] = page.after ?? [];
          const isKey = page.sort === 'size' && page.after?.length === 3;
          if (!isKey || size === undefined) return good.files.listAll(filter, page);
          const behind = page.order === 'asc' ? ['u:zzz', 'z'] : ['a', 'a'];
          return good.files.listAll(filter, { ...page, after: [size, ...behind] });
        },
      },
    }),
  },
  {
    bug: 'counts the rows of the pages before, instead of going on from a key',
    breaks: 'skips and repeats nothing while files come and go between the pages',
    wrap(good) {
      const offsets = new Map<string, number>();
      return {
        files: {
          ...good.files,
          async listAll(filter, page) {
            const toName = (after: PageRequest['after']) =>
              JSON.stringify([filter, page.sort, page.order, page.limit, after]);
            const offset = page.after === null ? 0 : offsets.get(toName(page.after));
            if (offset === undefined) return good.files.listAll(filter, page);
            const limit = offset + page.limit;
            const { items, next } = await good.files.listAll(filter, {
              ...page,
              limit,
              after: null,
            });
            if (next !== null) offsets.set(toName(next), limit);
            return { items: items.slice(offset), next };
          },
        },
      };
    },
  },
  {
    bug: 'takes any prefix for a folder',
    breaks: 'rolls folders up as a plain count does, forwards and backwards',
    wrap: (good) => ({
      files: {
        ...good.files,
        listFolder: (folder, page) =>
          good.files.listFolder(folder === '' ? '' : `${folder.replace(/\/$/, '')}/`, page),
      },
    }),
  },
  {
    bug: 'looks for users with regard to case',
    breaks: 'lists the users that have files',
    wrap: (good) => ({
      files: {
        ...good.files,
        async listUsers({ contains }, page) {
          const { items, next } = await good.files.listUsers({}, page);
          return { items: items.filter(({ userId }) => userId.includes(contains ?? '')), next };
        },
      },
    }),
  },
  {
    bug: 'begins again at a page key that it does not understand',
    breaks: 'refuses a page key of another shape',
    wrap: (good) => ({
      audit: {
        list: (filter, page) =>
          good.audit
            .list(filter, page)
            .catch(() => good.audit.list(filter, { ...page, after: null })),
      },
    }),
  },
  {
    bug: 'gives rows of the history that no way back needs',
    breaks: 'leads back from the head to each version, by the least rows',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        async chain(key, version) {
          const chain = await good.revisions.chain(key, version);
          if (chain === null) return null;
          const steps = [...chain.steps];
          for (let last = steps.at(-1); last !== undefined; last = steps.at(-1)) {
            const more = (await good.revisions.chain(key, last.version))?.steps ?? [];
            if (more.length === 0) break;
            steps.push(...more);
          }
          return { ...chain, steps };
        },
      },
    }),
  },
  {
    bug: 'gives one step too many',
    breaks: 'gives the steps back of a range of versions',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        steps: (key, { after, upTo }) => good.revisions.steps(key, { after, upTo: upTo + 1 }),
      },
    }),
  },
  {
    bug: 'finds a version near the one that is asked for',
    breaks: 'finds the revision that made a version',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        ofVersion: async (key, version) =>
          (await good.revisions.ofVersion(key, version)) ??
          (await good.revisions.ofVersion(key, version - 1)),
      },
    }),
  },
  {
    bug: 'leaves out the revision of the very time',
    breaks: 'finds the newest revision at or before a time',
    wrap: (good) => ({
      revisions: { ...good.revisions, at: (key, time) => good.revisions.at(key, time - 1) },
    }),
  },
  {
    bug: 'leaves deleted files out of what a scope was',
    breaks: 'lists what the files of a scope were at a time, by path, deleted ones too',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        listAt: async (scope, options) => {
          const files = await good.revisions.listAt(scope, options);
          return files.filter(({ file }) => file.deletedAt === null);
        },
      },
    }),
  },
  {
    bug: 'compares actors without regard to case',
    breaks: 'lists revisions by every filter, page by page, as a plain search finds them',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        async list({ actor, ...filter }, page) {
          const { items, next } = await good.revisions.list(filter, page);
          const isWanted = (other: string) =>
            (actor ?? null) === null || other.toLowerCase() === actor?.toLowerCase();
          return { items: items.filter((revision) => isWanted(revision.actor)), next };
        },
      },
    }),
  },
  {
    bug: 'prunes what is just not old enough',
    breaks: 'prunes the oldest rows alone, those that meet both conditions, and counts them',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        prune: ({ olderThan = null, ...filter }, options) =>
          good.revisions.prune(
            { ...filter, ...(olderThan === null ? {} : { olderThan: olderThan + 1 }) },
            options,
          ),
      },
    }),
  },
  {
    bug: 'goes on pruning after it was told to stop',
    breaks: 'ends a prune between two transactions when it is told to',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        prune: (filter, { signal: _signal, ...options }) => good.revisions.prune(filter, options),
      },
    }),
  },
  {
    bug: 'looks up the row that a page ended with',
    breaks: 'goes on after a page whose last row was pruned',
    wrap: (good) => ({
      revisions: {
        ...good.revisions,
        async list(filter, page) {
          const [id] = page.after ?? [];
          const isKey = typeof id === 'string' && id.length === 36;
          const isGone = isKey && (await good.revisions.get(id)) === null;
          return isGone ? { items: [], next: null } : good.revisions.list(filter, page);
        },
      },
    }),
  },
  {
    bug: 'takes the last row of a batch for the last read',
    breaks: 'counts the reads of files once, and only reads',
    wrap(good) {
      const last = new Map<string, number>();
      return {
        log: {
          ...good.log,
          async append(batch) {
            await good.log.append(batch);
            for (const { scope, fileNo, action, outcome, at } of batch.access) {
              const isRead = outcome === 'ok' && (action === 'read' || action === 'context');
              if (isRead) last.set(`${scope} ${String(fileNo)}`, at);
            }
          },
        },
        files: {
          ...good.files,
          async getListing(key) {
            const file = await good.files.getListing(key);
            const at = last.get(`${key.scope} ${String(file?.fileNo)}`);
            return file && { ...file, lastReadAt: at ?? file.lastReadAt };
          },
        },
      };
    },
  },
  {
    bug: 'drops rows of the log when it is busy',
    breaks: 'keeps every log row of concurrent batches beside concurrent writes',
    wrap(good) {
      let underWay = 0;
      return {
        log: {
          ...good.log,
          async append(batch) {
            if (underWay >= 10) return;
            underWay += 1;
            try {
              await good.log.append(batch);
            } finally {
              underWay -= 1;
            }
          },
        },
      };
    },
  },
  {
    bug: 'leaves the first millisecond of a range out',
    breaks: 'lists access rows by every filter, page by page, as a plain search finds them',
    wrap: (good) => ({
      log: {
        ...good.log,
        listAccess: ({ since = null, ...filter }, page) =>
          good.log.listAccess({ ...filter, since: since === null ? null : since + 1 }, page),
      },
    }),
  },
  {
    bug: 'keeps no lines as unknown lines',
    breaks: 'keeps which lines of which version an access showed, and that it is unknown',
    wrap: (good) => ({
      log: {
        ...good.log,
        async listAccess(filter, page) {
          const { items, next } = await good.log.listAccess(filter, page);
          return { items: items.map((row) => ({ ...row, lines: row.lines || null })), next };
        },
      },
    }),
  },
  {
    bug: 'takes the user of a row for the owner of its scope',
    breaks: 'lists what was done for a user, in shared memory too',
    wrap: (good) => ({
      log: {
        ...good.log,
        async listAccess({ userId = null, ...filter }, page) {
          if (userId === null) return good.log.listAccess(filter, page);
          const scope: ScopeKey = `u:${userId}`;
          if ((filter.scope ?? scope) !== scope) return { items: [], next: null };
          return good.log.listAccess({ ...filter, scope }, page);
        },
      },
    }),
  },
  {
    bug: 'writes a batch in two transactions',
    breaks: 'writes a batch of log rows whole or not at all',
    wrap: (good) => ({
      log: {
        ...good.log,
        async append({ access, events, ...batch }) {
          await good.log.append({ ...batch, access: access.slice(0, 1), events: [] });
          await good.log.append({ ...batch, access: access.slice(1), events });
        },
      },
    }),
  },
  {
    bug: 'writes the events with each part of a large batch',
    breaks: 'keeps a large batch of log rows once, beside writes and when it is repeated',
    wrap: (good) => ({
      log: {
        ...good.log,
        async append({ access, ...batch }) {
          await good.log.append({ ...batch, access: access.slice(0, 512) });
          if (access.length > 512) await good.log.append({ ...batch, access: access.slice(512) });
        },
      },
    }),
  },
  {
    bug: 'gives the newest event of a trace first',
    breaks: 'gives events back by trace and by tool call',
    wrap: (good) => ({
      log: {
        ...good.log,
        eventsOfTrace: async (traceId) => (await good.log.eventsOfTrace(traceId)).toReversed(),
      },
    }),
  },
  {
    bug: 'expires everything that is old at once',
    breaks: 'removes the oldest log rows from before a time, so many at once',
    wrap: (good) => ({
      log: { ...good.log, expire: (what, before) => good.log.expire(what, before, 1e6) },
    }),
  },
  {
    bug: 'compares keys of settings without regard to case',
    breaks: 'keeps settings as JSON, all of a call or none',
    wrap: (good) => ({
      config: {
        ...good.config,
        async entries(prefix) {
          const all = Object.entries(await good.config.entries(''));
          const wanted = prefix.toLowerCase();
          return Object.fromEntries(all.filter(([key]) => key.toLowerCase().startsWith(wanted)));
        },
      },
    }),
  },
  {
    bug: 'looks for a setting first, and sets it then',
    breaks: 'gives the first value of a key to all who set it at once',
    wrap: (good) => ({
      config: {
        ...good.config,
        async setIfAbsent(key, value) {
          const entries = await good.config.entries(key);
          if (Object.hasOwn(entries, key)) return entries[key];
          await good.config.set({ [key]: value }, null);
          return value;
        },
      },
    }),
  },
  {
    bug: 'shows the operator where its file is',
    breaks: 'describes itself and its contract, without secrets or paths',
    wrap: (good) => ({
      async describe() {
        const description = await good.describe();
        const settings = { ...description.settings, file: good.filename ?? '' };
        return { ...description, settings };
      },
    }),
  },
  {
    bug: 'takes an older version for indexed',
    breaks: 'tells which files are stale, until their version is indexed',
    wrap: (good) => ({
      index: {
        ...good.index,
        async update(scope, tasks, change) {
          const queued = await good.index.listStale(1e6);
          const versions = new Map(queued.map((task) => [`${task.scope} ${task.fileNo}`, task]));
          const due = tasks.map((task) => versions.get(`${task.scope} ${task.fileNo}`) ?? task);
          return await good.index.update(scope, due, change);
        },
      },
    }),
  },
  {
    bug: 'takes files for indexed whose update returned null',
    breaks: 'writes nothing of an update that fails, or that returns null',
    wrap: (good) => ({
      index: {
        ...good.index,
        update: (scope, files, change) =>
          good.index.update(
            scope,
            files,
            async (current) =>
              (await change(current)) ?? { format: 1, blobs: [], entries: [], removed: [] },
          ),
      },
    }),
  },
  {
    bug: 'begins with the same generation after an index was dropped',
    breaks: 'gives a scope’s index another generation with every update',
    wrap(good) {
      const generations = new Map<ScopeKey, number>();
      return {
        index: {
          ...good.index,
          async update(scope, files, change) {
            let isChanged = false;
            const step = await good.index.update(scope, files, async (current) => {
              const changes = await change(current);
              isChanged = changes !== null;
              return changes;
            });
            const before = generations.get(scope) ?? 0;
            if (isChanged) generations.set(scope, before + 1);
            return step && { before, after: before + 1 };
          },
          async drop(scope) {
            generations.delete(scope);
            return good.index.drop(scope);
          },
          snapshot: (read) =>
            good.index.snapshot((view) =>
              read({
                ...view,
                async open(scopes, keys) {
                  const opened = await view.open(scopes, keys);
                  return opened.map((one, place) => {
                    const generation = generations.get(scopes[place] ?? 's') ?? 0;
                    return { ...one, state: { ...one.state, generation } };
                  });
                },
              }),
            ),
        },
      };
    },
  },
  {
    bug: 'tells a version of the scope that counts its files alone',
    breaks: 'gives a scope another version with every write',
    wrap: withView((view) => ({
      async open(scopes, keys, known) {
        const opened = await view.open(scopes, keys, known);
        return opened.map((one) => ({
          ...one,
          state: { ...one.state, version: one.state.files },
        }));
      },
    })),
  },
  {
    bug: 'leaves out blobs that are known, of whatever generation they are',
    breaks: 'leaves out no blobs but those that the caller has of the same generation',
    wrap: withView((view) => ({
      async open(scopes, keys, known) {
        const opened = await view.open(scopes, keys);
        return opened.map((one, place) => ({
          ...one,
          blobs: one.blobs.filter(({ key }) => known?.[place]?.keys.includes(key) !== true),
        }));
      },
    })),
  },
  {
    bug: 'begins a page of scopes with the last one of the page before',
    breaks: 'lists the scopes that have files, with the format of their index',
    wrap: (good) => ({
      index: {
        ...good.index,
        async listScopes(after, limit) {
          const all = await good.index.listScopes(null, 1e6);
          const start = all.findIndex(({ scope }) => scope === after);
          return all.slice(Math.max(0, start)).slice(0, limit);
        },
      },
    }),
  },
  {
    bug: 'looks for keys with LIKE',
    breaks: 'lists the keys of a scope that start with a prefix, by bytes',
    wrap: withView((view) => ({
      async listKeys(scope, prefix, limit) {
        const all = await view.listKeys(scope, '', 1e6);
        return all.filter((key) => isLike(key, prefix)).slice(0, limit);
      },
    })),
  },
  {
    bug: 'lists keys from their start again',
    breaks: 'lists the keys of a scope that come behind another one, by bytes',
    wrap: withView((view) => ({
      listKeys: (scope, prefix, limit) => view.listKeys(scope, prefix, limit),
    })),
  },
  {
    bug: 'looks for files below a prefix without regard to case',
    breaks: 'lists files by the start of their paths, and reads files by their numbers',
    wrap: withView((view) => ({
      listFiles: (scope, prefix) => view.listFiles(scope, prefix.toLowerCase()),
    })),
  },
  {
    bug: 'leaves out the parts of a key beyond the first',
    breaks: 'opens scopes in the order asked for, with their stale files and the blobs of keys',
    wrap: withView((view) => ({
      async open(scopes, keys, known) {
        const opened = await view.open(scopes, keys, known);
        return opened.map((one) => ({
          ...one,
          blobs: one.blobs.filter(({ part }) => part !== 5),
        }));
      },
    })),
  },
  {
    bug: 'reads a snapshot by statements that each see another state',
    breaks: 'shows one state to all that is read in a snapshot',
    wrap: (good) => ({
      index: {
        ...good.index,
        snapshot: (read) =>
          read({
            open: (...args) => good.index.snapshot((view) => view.open(...args)),
            listFiles: (...args) => good.index.snapshot((view) => view.listFiles(...args)),
            readFiles: (...args) => good.index.snapshot((view) => view.readFiles(...args)),
            listKeys: (...args) => good.index.snapshot((view) => view.listKeys(...args)),
          }),
      },
    }),
  },
];

/** Puts something before the reads of a snapshot. */
function withView(change: (view: IndexView) => Partial<IndexView>): BrokenStorage['wrap'] {
  return (good) => ({
    index: {
      ...good.index,
      snapshot: (read) => good.index.snapshot((view) => read({ ...view, ...change(view) })),
    },
  });
}

function withoutGuards<T extends { guards?: readonly Guard[] }>(
  request: T,
  kind: Guard['kind'],
): T {
  const guards = (request.guards ?? []).filter((guard) => guard.kind !== kind);
  return { ...request, guards };
}

function isBudget(guard: Guard): guard is Extract<Guard, { kind: 'budget' }> {
  return guard.kind === 'budget';
}

function write(changes: Changes): Decision<undefined> {
  return { result: undefined, writes: 0, changes };
}

/** What `LIKE '<prefix>%'` finds where nobody escaped the prefix. */
function isLike(text: string, prefix: string): boolean {
  const pattern = prefix
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('%', '.*')
    .replaceAll('_', '.');
  return new RegExp(`^${pattern}`, 'su').test(text);
}
