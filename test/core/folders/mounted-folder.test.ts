import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  appendFile,
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ownerName } from '../../../core/maintenance/temporary-folders.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { claimFolder } from '../../../core/folders/mount-claim.ts';
import { readState } from '../../../core/folders/mount-state.ts';
import { readLocal } from '../../../core/folders/read-local.ts';
import { serveMounts } from './mounting.ts';

/** Of a conflict copy. */
const COPY = /^(.+) \(conflict \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d(?: \d+)?\)(\.[^.]*)?$/;

const copiesIn = (texts: Record<string, string>) =>
  Object.entries(texts).filter(([name]) => COPY.test(name));

describe('a mounted folder', () => {
  it('brings both sides together, then carries each change to the other side', async () => {
    const { mount, put, remove, contents, admin } = await serveMounts();
    await put('notes/tea.md', 'green\n');
    await put('both.md', 'the same\n');
    const mounted = await mount();
    await mounted.write('mine.md', 'mine\n');
    await mounted.write('both.md', 'the same\n');
    await mounted.sync();
    const all = { 'both.md': 'the same\n', 'mine.md': 'mine\n', 'notes/tea.md': 'green\n' };
    expect(await mounted.texts()).toEqual(all);
    expect(await contents()).toEqual(all);
    await put('notes/tea.md', 'black\n');
    await mounted.write('mine.md', 'mine, changed\n');
    await remove('both.md');
    await mounted.write('notes/new.md', 'new\n');
    mounted.told();
    await mounted.sync();
    const after = {
      'mine.md': 'mine, changed\n',
      'notes/new.md': 'new\n',
      'notes/tea.md': 'black\n',
    };
    expect(await mounted.texts()).toEqual(after);
    expect(await contents()).toEqual(after);
    expect(
      mounted.told().map(({ kind, ...rest }) => [kind, 'path' in rest ? rest.path : '']),
    ).toEqual(
      expect.arrayContaining([
        ['written', 'notes/tea.md'],
        ['sent', 'mine.md'],
        ['removed', 'both.md'],
        ['sent', 'notes/new.md'],
      ]),
    );
    await mounted.sync();
    expect(mounted.told()).toEqual([]);
    const { items } = await admin('GET', 'revisions?path=users/alice/mine.md');
    expect(items[0]).toMatchObject({ actor: 'folder', operator: 'admin', version: 2 });
    const audit = await admin('GET', 'audit?action=files.write&limit=1');
    expect(audit.items[0].details).toMatchObject({ actor: 'folder' });
  });

  it('keeps both texts of a file that changed on both sides, and never sends the copy', async () => {
    const { mount, put, remove, contents } = await serveMounts();
    await put('a.md', 'one\n');
    await put('gone.md', 'one\n');
    const mounted = await mount();
    await mounted.sync();
    for (const round of ['two', 'three']) {
      await put('a.md', `service ${round}\n`);
      await mounted.write('a.md', `folder ${round}\n`);
      await mounted.sync();
    }
    await mounted.write('gone.md', 'changed while it was deleted\n');
    await remove('gone.md');
    await mounted.sync();
    await mounted.sync();
    const texts = await mounted.texts();
    expect(texts['a.md']).toBe('service three\n');
    expect(
      copiesIn(texts)
        .map(([, text]) => text)
        .sort(),
    ).toEqual(['changed while it was deleted\n', 'folder three\n', 'folder two\n']);
    expect(Object.keys(texts).filter((name) => name.startsWith('a (conflict')).length).toBe(2);
    expect(await contents()).toEqual({ 'a.md': 'service three\n' });
    const other = await mount();
    const [copy = ['', '']] = copiesIn(texts);
    await put(copy[0], 'a name like that of a copy\n');
    await other.sync();
    expect(await other.texts()).toEqual({ 'a.md': 'service three\n' });
  });

  it('keeps both texts of a file that both sides had before they were mounted', async () => {
    const { mount, put } = await serveMounts();
    await put('a.md', 'service\n');
    const mounted = await mount();
    await mounted.write('a.md', 'folder\n');
    await mounted.sync();
    const texts = await mounted.texts();
    expect(texts['a.md']).toBe('service\n');
    expect(copiesIn(texts).map(([, text]) => text)).toEqual(['folder\n']);
  });

  it('keeps the text of a program that writes to a file while it is replaced', async () => {
    const { mount, put } = await serveMounts();
    await put('a.md', 'one\n');
    const mounted = await mount();
    await mounted.sync();
    const opened = await open(mounted.at('a.md'), 'a');
    await put('a.md', 'two\n');
    await mounted.sync();
    await opened.appendFile('late\n');
    await opened.close();
    await mounted.sync();
    const texts = await mounted.texts();
    expect(texts['a.md']).toBe('two\n');
    expect(copiesIn(texts).map(([, text]) => text)).toEqual(['one\nlate\n']);
    expect((await readdir(path.join(mounted.folder, '.memory-service.partial'))).length).toBe(0);
  });

  it('sends no file that is still being written', async () => {
    const { mount, contents } = await serveMounts();
    const mounted = await mount();
    mounted.clock.ahead = 0;
    await mounted.write('a.md', 'half');
    await mounted.sync();
    expect(await contents()).toEqual({});
    await appendFile(mounted.at('a.md'), ' and half\n');
    await mounted.sync();
    expect(await contents()).toEqual({});
    await mounted.sync();
    expect(await contents()).toEqual({ 'a.md': 'half and half\n' });
  });

  it('goes on where an earlier mount ended, also where its state is lost', async () => {
    const { mount, put, contents } = await serveMounts();
    await put('a.md', 'one\n');
    await put('b.md', 'one\n');
    const first = await mount();
    await first.sync();
    await first.close();
    expect(await readdir(first.folder)).toEqual(['.memory-service.json', 'a.md', 'b.md']);
    await put('a.md', 'two\n');
    await first.write('b.md', 'two\n');
    await rm(first.at('b.md'));
    await first.write('b.md', 'three\n');
    const second = await mount(first);
    await second.sync();
    expect(await second.texts()).toEqual({ 'a.md': 'two\n', 'b.md': 'three\n' });
    expect(await contents()).toEqual({ 'a.md': 'two\n', 'b.md': 'three\n' });
    await second.close();
    const third = await mount({ folder: first.folder });
    await third.sync();
    expect(third.told()).toEqual([]);
    expect(await third.texts()).toEqual({ 'a.md': 'two\n', 'b.md': 'three\n' });
  });
});

describe('deletions', () => {
  it('go to the service after 30 seconds and a second look', async () => {
    const { mount, put, contents } = await serveMounts();
    await put('a.md', 'one\n');
    await put('b.md', 'one\n');
    await put('c.md', 'one\n');
    const mounted = await mount();
    await mounted.sync();
    for (const name of ['a.md', 'b.md', 'c.md']) await mounted.remove(name);
    await mounted.sync();
    mounted.clock.ahead += 29_000;
    await mounted.write('b.md', 'back\n');
    await put('c.md', 'two\n');
    await mounted.sync();
    expect(Object.keys(await contents())).toEqual(['a.md', 'b.md', 'c.md']);
    mounted.clock.ahead += 1_500;
    await mounted.sync();
    const after = { 'b.md': 'back\n', 'c.md': 'two\n' };
    expect(await contents()).toEqual(after);
    expect(await mounted.texts()).toEqual(after);
  });

  it('of more than 20 files wait for --confirm-deletes', async () => {
    const { mount, put, contents } = await serveMounts();
    for (let no = 0; no < 21; no += 1) await put(`${no}.md`, 'one\n');
    const mounted = await mount();
    await mounted.sync();
    for (let no = 0; no < 21; no += 1) await mounted.remove(`${no}.md`);
    await mounted.sync();
    mounted.clock.ahead += 31_000;
    await mounted.sync();
    expect(Object.keys(await contents())).toHaveLength(21);
    expect(mounted.told()).toContainEqual({
      kind: 'notice',
      message: expect.stringMatching(/^21 files are missing.*--confirm-deletes/),
    });
    await mounted.close();
    const confirmed = await mount({ ...mounted, confirmDeletes: true });
    await confirmed.sync();
    expect(Object.keys(await contents())).toHaveLength(21);
    confirmed.clock.ahead += 31_000;
    await confirmed.sync();
    expect(await contents()).toEqual({});
  });

  it('are none where the folder vanished, was replaced or lost its marker', async () => {
    const { mount, put, contents } = await serveMounts();
    await put('a.md', 'one\n');
    const mounted = await mount();
    await mounted.sync();
    const elsewhere = path.join(await temporaryDirectory(), 'elsewhere');
    for (const away of [
      () => Promise.resolve(),
      () => mkdir(mounted.folder),
      () => rm(mounted.folder, { recursive: true }),
    ]) {
      if (existsSync(mounted.folder) && !existsSync(elsewhere))
        await rename(mounted.folder, elsewhere);
      await away();
      mounted.clock.ahead += 31_000;
      await mounted.sync();
      expect(await contents()).toEqual({ 'a.md': 'one\n' });
    }
    expect(mounted.told().filter(({ kind }) => kind === 'notice')).toHaveLength(1);
    await rename(elsewhere, mounted.folder);
    await put('a.md', 'two\n');
    await mounted.sync();
    expect(await mounted.texts()).toEqual({ 'a.md': 'two\n' });
  });

  it('are none where the service knows nothing of what was in step', async () => {
    const one = await serveMounts();
    await one.put('a.md', 'one\n');
    const first = await one.mount();
    await first.sync();
    await first.close();
    const other = await serveMounts();
    const second = await other.mount(first);
    await second.sync();
    expect(await second.texts()).toEqual({ 'a.md': 'one\n' });
    expect(second.told()).toMatchObject([
      { kind: 'notice', message: expect.stringMatching(/knows nothing of files/) },
    ]);
  });
});

describe('what is gone for good', () => {
  it('takes everything out of the folder after an erasure, and sends no old text', async () => {
    const { mount, put, admin, contents } = await serveMounts();
    await put('a.md', 'one\n');
    await put('b.md', 'one b\n');
    const mounted = await mount();
    await mounted.sync();
    await put('b.md', 'two b\n');
    await mounted.write('b.md', 'folder b\n');
    await mounted.sync();
    await mounted.write('a.md', 'changed\n');
    await mounted.write('renamed.md', 'two b\n');
    await mounted.write('new.md', 'maybe old\n');
    await admin('POST', 'users/alice/erase', { confirm: 'alice' });
    await mounted.sync();
    expect(await mounted.texts()).toEqual({ 'new.md': 'maybe old\n' });
    await mounted.sync();
    expect(await contents()).toEqual({});
    await mounted.write('new.md', 'surely new\n');
    await put('later.md', 'later\n');
    await mounted.sync();
    expect(await contents()).toEqual({ 'later.md': 'later\n', 'new.md': 'surely new\n' });
    expect(JSON.stringify(await readFile(mounted.stateFile, 'utf8'))).not.toContain('b.md');
  });

  it('lets the service win after a redaction, and keeps no copy', async () => {
    const { mount, put, admin, contents } = await serveMounts();
    await put('a.md', 'key sesame\n');
    const offline = await mount();
    await offline.sync();
    await put('a.md', 'no key\n');
    await offline.write('a.md', 'key sesame, and more\n');
    await offline.sync();
    expect(copiesIn(await offline.texts())).toHaveLength(1);
    const mounted = await mount();
    await mounted.sync();
    await put('a.md', 'key sesame again\n');
    await mounted.sync();
    await mounted.write('a.md', 'key sesame again, changed\n');
    const redaction = { text: 'sesame', in: 'user', userId: 'alice', reason: 'a key' };
    await admin('POST', 'redact', redaction);
    await mounted.sync();
    await offline.sync();
    const { 'a.md': redacted = '' } = await contents();
    expect(redacted).not.toContain('sesame');
    expect(await mounted.texts()).toEqual({ 'a.md': redacted });
    expect(await offline.texts()).toEqual({ 'a.md': redacted });
  });
});

describe('without its state', () => {
  it('sends nothing that may come from a memory that was erased meanwhile', async () => {
    const { mount, put, admin, contents } = await serveMounts();
    await put('a.md', 'one\n');
    await put('b.md', 'one b\n');
    const first = await mount();
    await first.sync();
    await first.close();
    await first.write('a.md', 'one, and more\n');
    await admin('POST', 'users/alice/erase', { confirm: 'alice' });
    await put('later.md', 'later\n');
    const second = await mount({ folder: first.folder });
    await second.sync();
    await second.sync();
    expect(await contents()).toEqual({ 'later.md': 'later\n' });
    expect(second.told()).toEqual(
      expect.arrayContaining([
        { kind: 'left_out', path: 'a.md', why: expect.stringMatching(/erased.*change it to send/) },
        { kind: 'left_out', path: 'b.md', why: expect.stringMatching(/erased.*change it to send/) },
      ]),
    );
    // And none the more after that.
    await second.close();
    const third = await mount(second);
    await third.sync();
    expect(await contents()).toEqual({ 'later.md': 'later\n' });
    await third.write('a.md', 'surely new\n');
    await third.sync();
    expect(await contents()).toEqual({ 'a.md': 'surely new\n', 'later.md': 'later\n' });
  });

  it('sends nothing to an erased memory that is older than the erasure', async () => {
    const { mount, put, admin, contents } = await serveMounts();
    await put('a.md', 'one\n');
    await admin('POST', 'users/alice/erase', { confirm: 'alice' });
    const folder = path.join(await temporaryDirectory(), 'copied');
    await mkdir(folder);
    const hours = (count: number) => new Date(Date.now() + count * 3_600_000);
    for (const [name, at] of [
      ['old.md', hours(-24)],
      ['new.md', hours(2)],
    ] as const) {
      await writeFile(path.join(folder, name), `${name}\n`);
      await utimes(path.join(folder, name), at, at);
    }
    const mounted = await mount({ folder });
    mounted.clock.ahead += 3 * 3_600_000;
    await mounted.sync();
    expect(await contents()).toEqual({ 'new.md': 'new.md\n' });
  });

  it('sends no text of a file in which something was redacted, and that is gone since', async () => {
    const { mount, put, remove, admin, contents } = await serveMounts();
    await put('a.md', 'key sesame\n');
    await put('b.md', 'b\n');
    const first = await mount();
    await first.sync();
    await first.close();
    await admin('POST', 'redact', { text: 'sesame', in: 'user', userId: 'alice', reason: 'a key' });
    await remove('a.md');
    const second = await mount({ folder: first.folder });
    await second.write('new.md', 'new\n');
    await second.sync();
    expect(await contents()).toEqual({ 'b.md': 'b\n', 'new.md': 'new\n' });
  });

  it('goes on where it can’t be saved, and says so once', async () => {
    const { mount, contents } = await serveMounts();
    const mounted = await mount();
    await mounted.sync();
    const place = path.dirname(mounted.stateFile);
    await rm(place, { recursive: true });
    await writeFile(place, 'in the way');
    for (const name of ['a.md', 'b.md']) {
      await mounted.write(name, `${name}\n`);
      await mounted.sync();
    }
    expect(await contents()).toEqual({ 'a.md': 'a.md\n', 'b.md': 'b.md\n' });
    expect(mounted.told().filter(({ kind }) => kind === 'notice')).toEqual([
      { kind: 'notice', message: expect.stringMatching(/^What the mount knows can't be saved/) },
    ]);
  });

  it('refuses a damaged one, and says what to do', async () => {
    const file = path.join(await temporaryDirectory(), 'state.json');
    for (const damage of ['', '{', '{"format":1}', '[]', 'null']) {
      await writeFile(file, damage);
      await expect(readState(file)).rejects.toThrow(/is damaged\. Remove it and mount again/);
    }
  });
});

describe('names and links', () => {
  it('leaves out what is hidden, configures programs, is a link or has a name that memory does not take', async () => {
    const { mount, put, contents } = await serveMounts();
    await put('.envrc', 'hidden\n');
    await put('package.json', '{}\n');
    await put('safe.md', 'safe\n');
    const mounted = await mount();
    const outside = path.join(await temporaryDirectory(), 'outside');
    await mkdir(outside);
    await writeFile(path.join(outside, 'secret.md'), 'secret\n');
    await mounted.write('.hidden/a.md', 'hidden\n');
    await mounted.write('node_modules/x/a.md', 'code\n');
    await mounted.write('memory.config.mjs', 'throw 1\n');
    await mounted.write('what?.md', 'bad name\n');
    await mounted.write('bell\u0007.md', 'bad name\n');
    await mounted.write('picture.png', Buffer.from([0x89, 0x50, 0xff]));
    await mounted.write('zero.md', 'a\0b');
    await symlink(path.join(outside, 'secret.md'), mounted.at('link.md'));
    await symlink(outside, mounted.at('linked'));
    await mounted.sync();
    expect(await contents()).toEqual({
      '.envrc': 'hidden\n',
      'package.json': '{}\n',
      'safe.md': 'safe\n',
    });
    const leftOut = mounted
      .told()
      .flatMap((event) => (event.kind === 'left_out' ? event.path : []));
    expect(leftOut.sort()).toEqual([
      '.envrc',
      'bell\u0007.md',
      'link.md',
      'linked',
      'memory.config.mjs',
      'node_modules',
      'package.json',
      'picture.png',
      'what?.md',
      'zero.md',
    ]);
    await put('linked/secret.md', 'from the service\n');
    await put('link.md', 'from the service\n');
    await mounted.sync();
    expect(await readdir(outside)).toEqual(['secret.md']);
    expect(await readFile(path.join(outside, 'secret.md'), 'utf8')).toBe('secret\n');
  });

  it('deletes nothing for a file that became a link, or a folder that can’t be read', async () => {
    const { mount, put, contents } = await serveMounts();
    await put('a.md', 'one\n');
    await put('sub/b.md', 'one\n');
    const mounted = await mount();
    await mounted.sync();
    await mounted.remove('a.md');
    await symlink('/etc/hostname', mounted.at('a.md'));
    await rename(mounted.at('sub'), mounted.at('moved'));
    await symlink(mounted.at('moved'), mounted.at('sub'));
    await mounted.sync();
    mounted.clock.ahead += 31_000;
    await mounted.sync();
    expect(await contents()).toEqual({
      'a.md': 'one\n',
      'moved/b.md': 'one\n',
      'sub/b.md': 'one\n',
    });
  });

  it('names what it can’t carry, waits for no pipe, and writes through no link', async () => {
    const { mount, put, contents } = await serveMounts();
    const mounted = await mount();
    const outside = await temporaryDirectory();
    const names = ['line\nbreak.md', 'con:.md', 'end. ', '%41.md', 'a\\b.md', 'right\u202eleft.md'];
    for (const name of names) await mounted.write(name, 'x\n');
    await writeFile(
      Buffer.concat([Buffer.from(`${mounted.folder}/bytes`), Buffer.from([0xff, 0xfe])]),
      'x\n',
    );
    await mounted.write(`${'d/'.repeat(20)}deep.md`, 'x\n');
    await symlink('.', mounted.at('loop'));
    expect(spawnSync('mkfifo', [mounted.at('pipe.md')]).status).toBe(0);
    // What an agent that works here may put in the place of the mount's own folder.
    const staging = path.join(mounted.folder, '.memory-service.partial');
    await rm(staging, { recursive: true });
    await symlink(outside, staging);
    await put('a.md', 'one\n');
    await mounted.sync();
    expect(await contents()).toEqual({ 'a.md': 'one\n' });
    const leftOut = mounted
      .told()
      .flatMap((event) => (event.kind === 'left_out' ? event.path : []));
    expect(leftOut.sort()).toEqual(
      [...names, `bytes\ufffd\ufffd`, `${'d/'.repeat(20)}deep.md`, 'loop', 'pipe.md'].sort(),
    );
    await put('a.md', 'two\n');
    await mounted.sync();
    expect(await readFile(mounted.at('a.md'), 'utf8')).toBe('two\n');
    expect(await readdir(outside)).toEqual([]);
  });

  it('keeps names apart that are one on some disk', async () => {
    const { mount, put, contents } = await serveMounts();
    await put('Notes.md', 'upper\n');
    await put('notes.md', 'lower\n');
    await put('a', 'a file\n');
    await put('a/b.md', 'below it\n');
    const mounted = await mount();
    await mounted.sync();
    const texts = await mounted.texts();
    expect(Object.values(texts).sort()).toEqual(['a file\n', 'below it\n', 'lower\n', 'upper\n']);
    expect(Object.keys(texts).filter((name) => name.includes('%2'))).toHaveLength(2);
    const [numbered = ''] = Object.keys(texts).filter((name) => /otes%2/.test(name));
    await mounted.write(numbered, 'changed\n');
    await mounted.sync();
    expect(Object.values(await contents()).sort()).toEqual([
      'a file\n',
      'below it\n',
      'changed\n',
      texts['notes.md'] === undefined ? 'upper\n' : 'lower\n',
    ]);
  });

  it('takes a name in another Unicode form for the one in memory', async () => {
    const { mount, contents, put } = await serveMounts();
    const mounted = await mount();
    await mounted.write('Cafe\u0301.md', 'one\n');
    await mounted.sync();
    expect(await contents()).toEqual({ 'Caf\u00e9.md': 'one\n' });
    await put('Caf\u00e9.md', 'two\n');
    await mounted.sync();
    expect(await mounted.texts()).toEqual({ 'Cafe\u0301.md': 'two\n' });
  });
});

describe('what the service refuses', () => {
  it('is named once, and the others are sent', async () => {
    const { mount, contents } = await serveMounts({
      screen: { secrets: 'refuse', personal: 'off' },
      limits: { maxFilesPerUser: 2 },
    });
    const mounted = await mount();
    await mounted.write('a.md', 'one\n');
    await mounted.write('key.md', 'aws_secret_access_key = AKIAIOSFODNN7EXAMPLE\n');
    await mounted.write('long.md', 'x'.repeat(300_000));
    await mounted.sync();
    await mounted.sync();
    expect(await contents()).toEqual({ 'a.md': 'one\n' });
    const told = mounted.told().filter(({ kind }) => kind === 'left_out');
    expect(told).toHaveLength(2);
    expect(told).toContainEqual(expect.objectContaining({ path: 'key.md' }));
    expect(told).toContainEqual(
      expect.objectContaining({ path: 'long.md', why: expect.stringMatching(/300000 bytes/) }),
    );
  });

  it('waits while writes are frozen', async () => {
    const { mount, contents, admin } = await serveMounts();
    const mounted = await mount();
    await mounted.sync();
    const freeze = await admin('POST', 'freeze', { actor: 'folder', reason: 'test', minutes: 5 });
    await mounted.write('a.md', 'one\n');
    await mounted.sync();
    expect(await contents()).toEqual({});
    expect(mounted.told()).toMatchObject([
      { kind: 'notice', message: expect.stringMatching(/stopped writes/) },
    ]);
    await admin('DELETE', `freezes/${freeze.id}`);
    await expect
      .poll(async () => {
        await mounted.sync();
        return await contents();
      })
      .toEqual({ 'a.md': 'one\n' });
  });

  it('shows what screening masked', async () => {
    const { mount, contents } = await serveMounts({
      screen: { secrets: 'mask', personal: 'off' },
    });
    const mounted = await mount();
    await mounted.write('key.md', 'key AKIAIOSFODNN7EXAMPLE\n');
    await mounted.sync();
    await mounted.sync();
    const texts = await mounted.texts();
    expect(texts['key.md']).not.toContain('AKIA');
    expect(texts).toEqual(await contents());
  });
});

it('is mounted by one process alone, and lies in no other mount', async () => {
  const { mount } = await serveMounts();
  const mounted = await mount();
  await expect(mount({ folder: mounted.folder })).rejects.toThrow(/is mounted by another process/);
  await symlink(mounted.folder, `${mounted.folder}-link`);
  await expect(mount({ folder: `${mounted.folder}-link` })).rejects.toThrow(/another process/);
  await expect(mount({ folder: mounted.at('sub') })).rejects.toThrow(/lies in/);
  const outer = await mount({ folder: path.dirname(mounted.folder) });
  await mounted.write('a.md', 'inner\n');
  await outer.sync();
  expect(outer.told()).toContainEqual(
    expect.objectContaining({
      kind: 'left_out',
      path: 'folder',
      why: expect.stringMatching(/itself/),
    }),
  );
  await mounted.close();
  const again = await mount({ folder: mounted.folder, stateFile: mounted.stateFile }).catch(
    (error: Error) => error.message,
  );
  expect(again).toMatch(/lies in/);
});

it('is mounted by one of several that try at once, also where a killed one left its lock', async () => {
  const folder = path.join(await temporaryDirectory(), 'folder');
  for (const dead of [null, `${ownerName().replace(/\d+-\d+$/, '999999999-1')} x`]) {
    if (dead !== null) await writeFile(path.join(folder, '.memory-service.lock'), dead);
    const claims = await Promise.allSettled([1, 2, 3, 4].map(() => claimFolder(folder)));
    const held = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
    expect(held).toHaveLength(1);
    for (const claim of held) await claim.release();
  }
  // Whoever comes first by mistake notices the other.
  const claim = await claimFolder(folder);
  await writeFile(path.join(folder, '.memory-service.lock'), 'another one');
  await expect(claim.isThere()).rejects.toThrow(/mounted by another process by now/);
});

it('brings two folders of one memory together, and keeps both texts of one file', async () => {
  const { mount, contents } = await serveMounts();
  const [one, two] = [await mount(), await mount()];
  const both = async () => {
    for (let round = 0; round < 3; round += 1) await Promise.all([one.sync(), two.sync()]);
  };
  await one.write('one.md', 'one\n');
  await two.write('two.md', 'two\n');
  await both();
  await one.write('both.md', 'of one\n');
  await two.write('both.md', 'of two\n');
  await both();
  const there = await contents();
  expect(there).toMatchObject({ 'one.md': 'one\n', 'two.md': 'two\n' });
  const [first, second] = [await one.texts(), await two.texts()];
  expect([first, second]).toMatchObject([there, there]);
  const copies = [...copiesIn(first), ...copiesIn(second)].map(([, text]) => text);
  expect([there['both.md'], ...copies].sort()).toEqual(['of one\n', 'of two\n']);
});

it('never takes half of a write for a text', async () => {
  const file = path.join(await temporaryDirectory(), 'a.md');
  const size = 200_000;
  await writeFile(file, 'a'.repeat(size));
  const opened = await open(file, 'r+');
  onTestFinished(() => opened.close());
  let isWriting = true;
  const writing = (async () => {
    for (let round = 0; isWriting; round += 1) {
      const part = Buffer.alloc(size / 20, round % 2 === 0 ? 'b' : 'a');
      for (let no = 0; no < 20; no += 1) await opened.write(part, 0, part.length, no * part.length);
    }
  })();
  const kinds = new Set<string>();
  for (let look = 0; look < 100; look += 1) {
    const read = await readLocal(file);
    kinds.add(read.kind);
    // A file that was written to within the last second is not sent.
    if (read.kind !== 'text' || Date.now() - read.stamp.at < 1_000) continue;
    expect(read.text).toMatch(/^(?:a+|b+)$/);
  }
  isWriting = false;
  await writing;
  expect(kinds).toContain('moving');
  await rm(file);
  expect(await readLocal(file)).toEqual({ kind: 'moving' });
});

it('deletes nothing at once where the folder is emptied, and takes back what returns', async () => {
  const { mount, put, contents } = await serveMounts();
  for (let no = 0; no < 25; no += 1) await put(`sub/${no}.md`, `${no}\n`);
  const mounted = await mount();
  await mounted.sync();
  const before = await mounted.texts();
  await rm(mounted.at('sub'), { recursive: true });
  for (const ahead of [0, 31_000, 31_000]) {
    mounted.clock.ahead += ahead;
    await mounted.sync();
  }
  expect(await contents()).toEqual(before);
  for (const [name, text] of Object.entries(before)) await mounted.write(name, text);
  mounted.told();
  await mounted.sync();
  expect(await contents()).toEqual(before);
  expect(mounted.told()).toEqual([]);
});

it('loses nothing while the disk of the folder is full', async () => {
  const disk = await temporaryDirectory();
  const size = (text: string) => ['-o', `size=${text}`, 'tmpfs', disk];
  const isSmall = spawnSync('mount', ['-t', 'tmpfs', ...size('64k')]).status === 0;
  onTestFinished(() => void (isSmall && spawnSync('umount', ['-l', disk])));
  const { mount, put, contents } = await serveMounts();
  await put('a.md', 'one\n');
  const mounted = await mount({ folder: path.join(disk, 'notes') });
  await mounted.sync();
  const large = 'x'.repeat(100_000);
  await put('a.md', large);
  await mounted.write('b.md', 'goes up all the same\n');
  // To mount a disk takes a right that not everybody has: a folder that takes no file is like it.
  if (!isSmall) await chmod(mounted.folder, 0o555);
  mounted.told();
  await mounted.sync();
  mounted.clock.ahead += 31_000;
  await mounted.sync();
  expect(await mounted.texts()).toEqual({ 'a.md': 'one\n', 'b.md': 'goes up all the same\n' });
  expect(await contents()).toEqual({ 'a.md': large, 'b.md': 'goes up all the same\n' });
  expect(mounted.told()).toEqual([
    { kind: 'sent', path: 'b.md' },
    { kind: 'notice', message: expect.stringMatching(isSmall ? /the disk is full/ : /EACCES/) },
  ]);
  if (isSmall) spawnSync('mount', ['-o', 'remount', ...size('1m')]);
  else await chmod(mounted.folder, 0o755);
  await mounted.sync();
  expect((await mounted.texts())['a.md']).toBe(large);
});
