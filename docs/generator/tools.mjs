import { errorLink, jsonBlock, page, prose } from './markdown.mjs';
import { describeMembers } from './schema.mjs';

/**
 * @param {readonly import('../../core/contracts/tool.ts').ToolDefinition[]} tools
 */
export function renderTools(tools) {
  return page('Tools', 'core/tools/', [
    'What a tool is and how it is called: [Tools](../concepts/tools.md). The user is not among the ' +
      'arguments: your server gives it in `context`.',
    tools.map(({ name, title }) => `- [${name}](#${name}): ${title}`).join('\n'),
    ...tools.flatMap(renderTool),
  ]);
}

/**
 * @param {import('../../core/contracts/tool.ts').ToolDefinition} tool
 * @returns {string[]}
 */
function renderTool(tool) {
  const facts = [
    tool.readOnly ? 'Reads only.' : 'Writes.',
    ...(tool.optional === true ? ['Off unless switched on.'] : []),
    ...(tool.requiresModel ? ['Needs a model.'] : []),
  ];
  return [
    `## ${tool.name}`,
    prose(`${tool.description} ${facts.join(' ')}`),
    '**Arguments**',
    describeMembers(tool.inputSchema, { required: true }) ?? 'None.',
    '**Result**',
    describeMembers(tool.outputSchema, { required: false }) ?? 'Nothing.',
    `**Errors of its own**: ${tool.errorCodes.map(errorLink).join(', ')}`,
    '**Example**',
    jsonBlock(tool.example.arguments),
    jsonBlock(tool.example.result),
  ];
}
