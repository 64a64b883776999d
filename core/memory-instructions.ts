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
  const lines = [
    'Memory of one user that lasts from one conversation to the next, as text files: user/<path> is theirs, shared/<path> is common to all.',
    'Look up what is known before you answer or ask.',
  ];
  if (toolPrefix !== '') {
    lines.splice(1, 0, `Its tools are those whose names begin with ${toolPrefix}.`);
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
