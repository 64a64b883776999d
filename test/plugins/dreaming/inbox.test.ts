import { expect, it } from 'vitest';
import { lines, openDreams, operation } from './dream-service.ts';

const PROFILE = 'user/profile.md';
const INBOX = 'user/inbox.md';
const MEMORY = '# Profile\n\n- Lives in Berlin.\n';
const inboxOf = (...said: string[]) =>
  `# Inbox\n\n${said.map((one) => `- (said 2026-01-31${one}\n`).join('')}`;

async function dreamOf(inbox: string, ...operations: object[]) {
  const service = await openDreams();
  await service.write('alice', PROFILE, MEMORY);
  await service.write('alice', INBOX, inbox);
  service.say(() => ({ operations }));
  const run = await service.dream('alice');
  return {
    service,
    run,
    [PROFILE]: await service.read('alice', PROFILE),
    [INBOX]: await service.read('alice', INBOX),
  };
}

const file = (inbox: string, line: number, added: string) =>
  operation({
    kind: 'merge',
    remove: lines(INBOX, inbox, line),
    add: { path: PROFILE, heading: 'Profile', lines: [added] },
  });

it('a dream files a line of the inbox, and when it was said is no detail that is lost', async () => {
  const inbox = inboxOf(') Plays the oboe.', ') Speaks Danish.');
  const { run, ...files } = await dreamOf(inbox, file(inbox, 3, '- Plays the oboe.'));
  expect(run.operations).toMatchObject([{ status: 'applied', signals: [], repaired: [] }]);
  expect(files[PROFILE]).toBe(`${MEMORY}- Plays the oboe.\n`);
  expect(files[INBOX]).toBe(inboxOf(') Speaks Danish.'));
});

it('a dream may move a line of the inbox, with when it was said', async () => {
  const inbox = inboxOf(') Plays the oboe.');
  const { run, ...files } = await dreamOf(
    inbox,
    operation({
      kind: 'move',
      remove: lines(INBOX, inbox, 3),
      add: { path: PROFILE, heading: 'Profile', lines: ['- (said 2026-01-31) Plays the oboe.'] },
    }),
  );
  expect(run.operations).toMatchObject([{ status: 'applied', signals: [] }]);
  expect(files[PROFILE]).toContain('- (said 2026-01-31) Plays the oboe.');
});

it('a line of the inbox is about its speaker, wherever it goes', async () => {
  const inbox = inboxOf(' by "Anna") I play the oboe.');
  const { run } = await dreamOf(inbox, file(inbox, 3, '- Plays the oboe.'));
  expect(run.operations).toMatchObject([{ status: 'waiting', signals: ['other_subject'] }]);
});

it('an inbox of many speakers is no transcript, and its lines can be filed', async () => {
  const talk = ['user: hi', 'assistant: yes', 'user: no', 'assistant: so'];
  const inbox = inboxOf(...talk.map((text) => ` by "Anna") ${text}`), ') Plays the oboe.');
  const { run } = await dreamOf(inbox, file(inbox, 7, '- Plays the oboe.'));
  expect(run.operations).toMatchObject([{ status: 'applied' }]);
});

it('two lines of one text from different days are no certain repeat', async () => {
  const inbox =
    '# Inbox\n\n- (said 2026-01-31) Ate fish today.\n- (said 2026-02-05) Ate fish today.\n';
  const { run } = await dreamOf(
    inbox,
    operation({ kind: 'merge', remove: lines(INBOX, inbox, 3), sources: lines(INBOX, inbox, 4) }),
  );
  expect(run.operations[0].class).toBe('meaning');
});

it('what was mended in an operation of a run is said in it', async () => {
  const { run } = await dreamOf(
    inboxOf(') Plays the oboe.'),
    operation({
      kind: 'reword',
      remove: [
        { path: 'User/Profile.md'.replace('User/', ''), line: 9, text: '–  Lives in  Berlin' },
      ],
      add: { path: 'profile.md', heading: null, lines: ['- Lives in Berlin (city).'] },
    }),
  );
  expect(run.operations[0].repaired.sort()).toEqual(['path', 'quote']);
  expect(run.operations[0].guard).toBeNull();
});
