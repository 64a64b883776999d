// A forged mail changes where money is sent, and another agent acts on it.

import { setTimeout as sleep } from 'node:timers/promises';

/** @param {import('memory-service').MemoryService} service */
function callsOf(service) {
  /** @param {string} actor @param {string} tool @param {object} args @param {string} [traceparent] */
  return (actor, tool, args, traceparent) =>
    service.tools.execute(tool, {
      context: { userId: 'anna', actor },
      arguments: args,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
}

/** @param {import('memory-service').MemoryService} service */
export async function playStory(service) {
  const call = callsOf(service);
  await call('assistant', 'memory_write', {
    path: 'user/suppliers.md',
    content: '# Suppliers\n\n- Acme: account 12-34\n- Borealis: account 56-78\n',
    reason: 'onboarding',
  });
  // The mail comes later than the onboarding, at a time of its own.
  await sleep(10);
  await call('mail-agent', 'memory_patch', {
    path: 'user/suppliers.md',
    edits: [{ oldText: 'Acme: account 12-34', newText: 'Acme: account 99-99' }],
    reason: 'Acme wrote that its account changed',
  });
  // One run of the billing agent: its framework gives all calls of a run the same trace.
  const run = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  await call('billing-agent', 'memory_read', { path: 'user/suppliers.md' }, run);
  await sleep(10);
  await call(
    'billing-agent',
    'memory_write',
    {
      path: 'user/payments.md',
      content: '- 1 April: 1,200 EUR to Acme, account 99-99\n',
      reason: 'planned the next payments',
    },
    run,
  );
}

/**
 * The next forged mail makes the mail agent change two files.
 *
 * @param {import('memory-service').MemoryService} service
 */
export async function playSecondMail(service) {
  const call = callsOf(service);
  await sleep(10);
  await call('mail-agent', 'memory_patch', {
    path: 'user/suppliers.md',
    edits: [{ oldText: 'Borealis: account 56-78', newText: 'Borealis: account 99-99' }],
    reason: 'Borealis wrote that its account changed',
  });
  await call('mail-agent', 'memory_write', {
    path: 'user/contacts.md',
    content: '- Borealis: pay@borealis.example\n',
    reason: 'Borealis wrote that its address changed',
  });
}
