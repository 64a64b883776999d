// The calls that Anna's agent made before the operator looks into it.

/**
 * Makes the calls in order. The agent answers "Oslo" after the fourth.
 *
 * @param {import('memory-service').MemoryService} service
 */
export async function playStory(service) {
  /**
   * @param {string} name
   * @param {object} args
   */
  async function callTool(name, args) {
    const context = { userId: 'anna', actor: 'travel-agent' };
    return (await service.tools.execute(name, { context, arguments: args })).result;
  }

  await callTool('memory_write', {
    path: 'user/travel.md',
    content: '# Travel\n\n## Home\n\n- City: Oslo\n\n## Flights\n\n- Nearest airport: Oslo\n',
    reason: 'onboarding',
  });
  await callTool('memory_write', {
    path: 'user/profile.md',
    content: '# Anna\n\n## Home\n\n- City: Oslo\n',
    reason: 'onboarding',
  });
  await callTool('memory_patch', {
    path: 'user/profile.md',
    edits: [{ oldText: 'City: Oslo', newText: 'City: Bergen' }],
    reason: 'moved to Bergen',
  });
  // Anna's memory stands for a long one: one that fits would be given whole.
  await callTool('memory_context', {
    query: 'Which airport is nearest for a flight?',
    fill: false,
  });
  await callTool('memory_read', { path: 'user/profile.md' });
}
