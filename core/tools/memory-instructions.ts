/** The tools that a model is given, as far as the instructions depend on them. */
export interface MemoryInstructionsOptions {
  /** Names of the tools; default all. */
  tools?: readonly string[] | undefined;
  /** Whether none of them changes memory. */
  readOnly?: boolean | undefined;
  /** What the names of the tools begin with, where an agent has two memories. */
  toolPrefix?: string | undefined;
}

/**
 * What a model is told of its memory: when to look, when to write and how to cite. MCP clients get the same
 * text from the server.
 *
 * @example
 * const system = `You plan trips. ${memoryInstructions()}`;
 */
export function memoryInstructions({
  tools,
  readOnly,
  toolPrefix = '',
}: MemoryInstructionsOptions = {}): string {
  const has = (tool: string): boolean => tools?.includes(tool) ?? true;
  const lines = [
    'Memory of one user that lasts from one conversation to the next, as text files: user/<path> is theirs, shared/<path> is common to all.',
  ];
  if (toolPrefix !== '' && tools?.length !== 0) {
    lines.push(`Its tools are those whose names begin with ${toolPrefix}.`);
  }
  // An agent without tools has what stands in its prompt.
  if (tools?.length !== 0) lines.push('Look up what is known before you answer or ask.');
  if (has('memory_find') && has('memory_read')) {
    lines.push(
      'A search that finds nothing names the files that there are: read those that may help.',
    );
  }
  if (readOnly !== true && (tools?.some(isOfWriting) ?? true)) {
    lines.push('Write down what will still matter later, with a reason; correct what has changed.');
  }
  lines.push('When an answer rests on memory, name the file and the line.');
  return lines.join(' ');
}

function isOfWriting(tool: string): boolean {
  return ['memory_write', 'memory_patch', 'memory_remember'].includes(tool);
}
