// Judges a run by what reached the other sides: the requests that the model got, and the service's own records.

import { setTimeout } from 'node:timers/promises';

/** @import { ScriptedModel } from '../../examples/scripted-model/server.mjs' */
/** @import { Framework } from './frameworks.mjs' */

/**
 * @typedef {object} Run
 * @property {Framework} framework
 * @property {{ code: number, stdout: string, stderr: string }} ended
 * @property {ScriptedModel} model
 * @property {(path: string) => Promise<any>} get asks the service, as its operator and as an agent
 */

const DRINKS = { alice: 'tea', bob: 'coffee' };

/**
 * Says for each column of the table `yes`, `–` where it does not apply, or what is wrong.
 *
 * @param {Run} run
 * @returns {Promise<Record<string, string>>}
 */
export async function checkRun(run) {
  if (run.framework.keeps) {
    const call = await checkKept(run);
    return {
      connects: checkEnd(run),
      tools: '–',
      call,
      'error readable': '–',
      'user per request': call,
    };
  }
  return {
    connects: checkEnd(run),
    tools: await checkTools(run),
    call: await checkWrites(run),
    'error readable': checkErrors(run),
    'user per request': await checkUsers(run),
  };
}

/** @param {Run} run */
function checkEnd({ ended: { code, stdout, stderr } }) {
  if (code === 0) return 'yes';
  return `it ended with ${code}: ${(stderr || stdout).slice(-3_000)}`;
}

/** What each user said is in their own memory, by way of their inbox. @param {Run} run */
async function checkKept({ framework, get }) {
  for (const [userId, drink] of Object.entries(DRINKS)) {
    const inbox = await get(`/v1/admin/revisions?userId=${userId}&actor=${framework.name}`);
    const paths = inbox.items.map((/** @type {any} */ { path }) => path);
    if (paths.join() !== `users/${userId}/inbox.md`)
      return `${userId} has ${paths.join() || 'none'}`;
    let content = '';
    // It is filed in the background.
    for (let tries = 0; tries < 100 && content === ''; tries += 1) {
      const { file } = await get(`/v1/admin/files/users/${userId}/profile.md`);
      content = file?.content ?? '';
      if (content === '') await setTimeout(100);
    }
    if (content.trim() !== `- I drink ${drink}.`) return `${userId} has ${JSON.stringify(content)}`;
  }
  return 'yes';
}

/** In each request, the model must get every tool of the service with its arguments. @param {Run} run */
async function checkTools({ framework, model, get }) {
  if (!framework.hasTools) return '–';
  const { tools } = await get('/v1/tools');
  if (model.requests.length === 0) return 'the model got no request';
  const wanted = tools
    .filter((/** @type {any} */ tool) => tool.available)
    .flatMap((/** @type {any} */ { name, inputSchema }) =>
      Object.keys(inputSchema.properties).map((argument) => `${name}.${argument}`),
    );
  for (const { body } of model.requests) {
    const given = (body.tools ?? []).flatMap((/** @type {any} */ one) => {
      const { name, parameters } = one.function ?? one;
      return Object.keys(parameters?.properties ?? {}).map((argument) => `${name}.${argument}`);
    });
    const lacking = wanted.filter((/** @type {string} */ one) => !given.includes(one));
    if (lacking.length > 0) return `the model lacks ${lacking.join(', ')}`;
  }
  return 'yes';
}

/** Each user's file has what that user said, written under the name of the framework. @param {Run} run */
async function checkWrites({ framework, get }) {
  for (const [userId, drink] of Object.entries(DRINKS)) {
    const { file } = await get(`/v1/admin/files/users/${userId}/profile.md`);
    const times = (file?.content ?? '').split(`Drinks ${drink}.`).length - 1;
    if (times !== 1) return `what ${userId} said was written ${times} times`;
    if (file.latestActor !== framework.name) return `the writer is called ${file.latestActor}`;
  }
  return 'yes';
}

/**
 * What failed must reach the model in the service's own words, and nothing else with it.
 *
 * @param {Run} run
 */
function checkErrors({ framework, model, ended: { stdout } }) {
  const texts = model.requests.flatMap(({ answers }) => answers.map(({ text }) => text));
  const errors =
    framework.turns.length === 0 ? [stdout] : texts.filter((text) => framework.error.test(text));
  if (!errors.some((text) => framework.error.test(text))) {
    return `the model reads ${JSON.stringify(texts.slice(0, 3))}`;
  }
  const leak = errors.find((text) =>
    /Traceback|site-packages|node_modules|\n {4}at |\/home\/|\/tmp\//.test(text),
  );
  return leak === undefined ? 'yes' : `the model reads ${JSON.stringify(leak)}`;
}

/** Both users share a process; each reads, and is told, only what is theirs. @param {Run} run */
async function checkUsers({ ended: { stdout }, get }) {
  for (const [userId, drink] of Object.entries(DRINKS)) {
    const line = stdout.split(`${userId}: `)[1]?.split(/\n(?:alice|bob): /)[0] ?? '';
    if (!line.includes(`Drinks ${drink}.`)) return `${userId} is told ${JSON.stringify(line)}`;
  }
  const { items } = await get('/v1/admin/access-logs?limit=500');
  const strangers = items
    .map((/** @type {any} */ { userId }) => userId)
    .filter((/** @type {string | null} */ userId) => userId === null || !(userId in DRINKS));
  return strangers.length === 0 ? 'yes' : `memory of ${strangers.join(', ')} was in use`;
}
