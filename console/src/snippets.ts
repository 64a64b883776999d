import type { NamedSpace } from '../../core/contracts/admin.ts';

/** The tool call of a snippet. */
export interface SnippetCall {
  baseUrl: string;
  tool: string;
  userId: string;
  /** The spaces that the call names; default none. */
  spaces?: readonly NamedSpace[];
  arguments: Readonly<Record<string, unknown>>;
}

/** The call in one language. The key is always an environment variable. */
export interface Snippet {
  id: string;
  label: string;
  /** Requirements, and where to put the code. */
  note: string;
  code(call: SnippetCall): string;
}

/** The snippets of the Playground. They print the answer of the tool. */
export const SNIPPETS: readonly Snippet[] = [
  {
    id: 'curl',
    label: 'curl',
    note: 'A POSIX shell with SERVICE_API_KEY in its environment.',
    code: ({ baseUrl, tool, userId, spaces, arguments: args }) =>
      [
        `curl -sS ${quoteShell(`${baseUrl}/v1/tools/${tool}/execute`)} \\`,
        `  -H "Authorization: Bearer $SERVICE_API_KEY" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  --data-binary ${quoteShell(JSON.stringify({ context: { userId, ...withSpaces(spaces) }, arguments: args }))}`,
      ].join('\n'),
  },
  {
    id: 'typescript',
    label: 'TypeScript',
    note: 'An ES module on Node 20 or newer. Nothing to install.',
    code: ({ baseUrl, tool, userId, spaces, arguments: args }) =>
      [
        `const response = await fetch(${quote(`${baseUrl}/v1/tools/${tool}/execute`)}, {`,
        `  method: 'POST',`,
        `  headers: {`,
        `    authorization: \`Bearer \${process.env['SERVICE_API_KEY']}\`,`,
        `    'content-type': 'application/json',`,
        `  },`,
        `  body: JSON.stringify({`,
        `    // From a trusted identity on your server, never from a model.`,
        `    context: ${contextIn('JavaScript', { userId, spaces }, 4)},`,
        `    arguments: ${toJavaScript(args, 4)},`,
        `  }),`,
        `});`,
        `const text = await response.text();`,
        `if (!response.ok) throw new Error(\`\${response.status}: \${text}\`);`,
        `console.log(JSON.stringify(JSON.parse(text).result, null, 2));`,
      ].join('\n'),
  },
  {
    id: 'python',
    label: 'Python',
    note: 'Python 3.8 or newer. Nothing to install.',
    code: ({ baseUrl, tool, userId, spaces, arguments: args }) =>
      [
        `import json, os, sys, urllib.error, urllib.request`,
        ``,
        `request = urllib.request.Request(`,
        `    ${quote(`${baseUrl}/v1/tools/${tool}/execute`, '"')},`,
        `    data=json.dumps({`,
        `        # From a trusted identity of your server, never from a model.`,
        `        "context": ${contextIn('Python', { userId, spaces }, 8)},`,
        `        "arguments": ${toPython(args, 8)},`,
        `    }).encode(),`,
        `    headers={`,
        `        "Authorization": "Bearer " + os.environ["SERVICE_API_KEY"],`,
        `        "Content-Type": "application/json",`,
        `    },`,
        `)`,
        `try:`,
        `    with urllib.request.urlopen(request) as response:`,
        `        print(json.dumps(json.load(response)["result"], indent=2))`,
        `except urllib.error.HTTPError as error:`,
        `    sys.exit(f"{error.code}: {error.read().decode()}")`,
      ].join('\n'),
  },
  {
    id: 'langchain',
    label: 'LangChain',
    note: 'An ES module; npm install memory-service @langchain/core. It calls the one tool; give all of them to createAgent.',
    code: ({ baseUrl, tool, userId, spaces, arguments: args }) =>
      [
        `import { toLangChainTools } from 'memory-service/adapters/langchain';`,
        ...clientOf(baseUrl),
        `// From a trusted identity on your server, never from a model.`,
        `const tools = await toLangChainTools(memory, ${contextIn('JavaScript', { userId, spaces })});`,
        `// With a model: createAgent({ model, tools }).`,
        `const tool = tools.find(({ name }) => name === ${quote(tool)});`,
        `console.log(await tool.invoke(${toJavaScript(args)}));`,
      ].join('\n'),
  },
  {
    id: 'vercel-ai',
    label: 'Vercel AI',
    note: 'An ES module; npm install memory-service ai. It calls the one tool; give all of them to generateText.',
    code: ({ baseUrl, tool, userId, spaces, arguments: args }) =>
      [
        `import { toVercelAiTools } from 'memory-service/adapters/vercel-ai';`,
        ...clientOf(baseUrl),
        `// From a trusted identity on your server, never from a model.`,
        `const tools = await toVercelAiTools(memory, ${contextIn('JavaScript', { userId, spaces })});`,
        `// With a model: generateText({ model, tools, prompt }).`,
        `const args = ${toJavaScript(args)};`,
        `const call = { toolCallId: 'call_1', messages: [] };`,
        `console.log(JSON.stringify(await tools[${quote(tool)}].execute(args, call), null, 2));`,
      ].join('\n'),
  },
  {
    id: 'openai',
    label: 'OpenAI',
    note: 'An ES module; npm install memory-service openai. It answers the one call; give tools to responses.create.',
    code: ({ baseUrl, tool, userId, spaces, arguments: args }) =>
      [
        `import { toOpenAiResponsesTools } from 'memory-service/adapters/openai';`,
        ...clientOf(baseUrl),
        `// From a trusted identity on your server, never from a model.`,
        `const { tools, runCalls } = await toOpenAiResponsesTools(memory, ${contextIn('JavaScript', { userId, spaces })});`,
        `// With a model: the calls are response.output of responses.create({ model, input, tools }).`,
        `const call = {`,
        `  type: 'function_call',`,
        `  call_id: 'call_1',`,
        `  name: ${quote(tool)},`,
        `  arguments: JSON.stringify(${toJavaScript(args, 2)}),`,
        `};`,
        `const [answer] = await runCalls([call]);`,
        `console.log(answer.output);`,
      ].join('\n'),
  },
  {
    id: 'claude-desktop',
    label: 'Claude Desktop',
    note: 'claude_desktop_config.json, on the machine of the service: name its database, with an absolute path.',
    code: ({ userId, spaces = [] }) =>
      JSON.stringify(
        {
          mcpServers: {
            memory: {
              command: 'npx',
              args: [
                '-y',
                'memory-service',
                'mcp',
                `--user=${userId}`,
                ...(spaces.length > 0
                  ? [`--spaces=${spaces.map(({ id, access }) => `${id}:${access}`).join(',')}`]
                  : []),
                '--actor=claude-desktop',
                '--database-url=sqlite:/home/me/memory/memory.db',
              ],
            },
          },
        },
        null,
        2,
      ),
  },
  {
    id: 'mcp',
    label: 'MCP',
    note: 'Configuration for a client of the Model Context Protocol, bound to this user.',
    code: ({ baseUrl, userId, spaces = [] }) =>
      JSON.stringify(
        {
          mcpServers: {
            memory: {
              type: 'http',
              url: `${baseUrl}/v1/mcp`,
              headers: {
                Authorization: 'Bearer ${SERVICE_API_KEY}',
                'x-user-id': userId,
                ...(spaces.length > 0 && {
                  'x-spaces': spaces.map(({ id, access }) => `${id}:${access}`).join(', '),
                }),
              },
            },
          },
        },
        null,
        2,
      ),
  },
];

/** Whose memory a call uses; on one line without spaces. */
function contextIn(
  language: 'JavaScript' | 'Python',
  { userId, spaces = [] }: Pick<SnippetCall, 'userId'> & { spaces: SnippetCall['spaces'] },
  indent = 0,
): string {
  const isPython = language === 'Python';
  if (spaces.length === 0) {
    return isPython ? `{"userId": ${quote(userId, '"')}}` : `{ userId: ${quote(userId)} }`;
  }
  return (isPython ? toPython : toJavaScript)({ userId, spaces }, indent);
}

const withSpaces = (spaces: SnippetCall['spaces'] = []) => (spaces.length > 0 ? { spaces } : {});

function clientOf(baseUrl: string): string[] {
  return [
    `import { MemoryClient } from 'memory-service/client';`,
    ``,
    `const memory = new MemoryClient({`,
    `  baseUrl: ${quote(baseUrl)},`,
    `  apiKey: process.env['SERVICE_API_KEY'],`,
    `});`,
  ];
}

/** Quotes an argument for a POSIX shell. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A value as a JavaScript expression; lines after the first are indented by `indent`. */
export function toJavaScript(value: unknown, indent = 0): string {
  return write(value, indent, {
    text: (text) => quote(text),
    // `__proto__: …` in a literal would set the prototype instead of a member.
    key: (key) => (key === '__proto__' ? `['__proto__']` : isIdentifier(key) ? key : quote(key)),
    constant: String,
    unit: 2,
  });
}

/** A value as a Python expression; lines after the first are indented by `indent`. */
export function toPython(value: unknown, indent = 0): string {
  return write(value, indent, {
    text: (text) => quote(text, '"'),
    key: (key) => quote(key, '"'),
    constant: (constant) => ({ true: 'True', false: 'False' })[String(constant)] ?? 'None',
    unit: 4,
  });
}

interface Language {
  text(text: string): string;
  key(key: string): string;
  constant(value: boolean | null): string;
  unit: number;
}

function write(value: unknown, indent: number, language: Language): string {
  if (typeof value === 'string') return language.text(value);
  if (typeof value === 'number') return JSON.stringify(value);
  if (value === null || value === undefined || typeof value === 'boolean') {
    return language.constant(value ?? null);
  }
  const inner = ' '.repeat(indent + language.unit);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => write(item, indent + language.unit, language))
    : Object.entries(value).map(
        ([key, member]) =>
          `${language.key(key)}: ${write(member, indent + language.unit, language)}`,
      );
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${' '.repeat(indent)}${close}`;
}

/** A string literal of JavaScript and Python alike: JSON's escapes mean the same in both. */
function quote(text: string, mark: "'" | '"' = "'"): string {
  const json = JSON.stringify(text)
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029')
    .replaceAll('\u007f', '\\u007f');
  if (mark === '"') return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

function isIdentifier(text: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(text);
}
