import js from '@eslint/js';
import regexp from 'eslint-plugin-regexp';
import ts from 'typescript';
import vue from 'eslint-plugin-vue';
import tseslint from 'typescript-eslint';

const SECRET = '/^(.*secret|.*apiKey|.*password)s?$/i';
const EQUALS = 'BinaryExpression[operator=/^[!=]==?$/]';

/** A comparison of a secret stops at the first byte that differs: its time tells where. */
const secretComparisons = ['left', 'right'].flatMap((side) => {
  const other = side === 'left' ? 'right' : 'left';
  const isValue = `:not([${other}.type="Literal"]):not([${other}.name="undefined"])`;
  const message = 'Compare secrets in constant time, with timingSafeEqual on their hashes.';
  return [
    { selector: `${EQUALS}[${side}.name=${SECRET}]${isValue}`, message },
    { selector: `${EQUALS}[${side}.property.name=${SECRET}]${isValue}`, message },
  ];
});

const rawSql = ['TemplateLiteral[expressions.length>0]', 'BinaryExpression[operator="+"]'].map(
  (argument) => ({
    selector: `CallExpression[callee.property.name="raw"] > ${argument}.arguments`,
    message: 'Raw SQL takes bound parameters, never text put together.',
  }),
);

/**
 * Lengths: numbers that are no lengths of dates and ids, constants, and what is named like a limit.
 *
 * @param {any} node
 * @returns {boolean}
 */
const isLimit = (node) =>
  (node.type === 'Literal' && node.value >= 32) ||
  (node.type === 'Identifier' &&
    /^(?:[A-Z][A-Z\d_]*|room|half|most|limit|max[A-Z]\w*)$/.test(node.name)) ||
  (node.type === 'MemberExpression' && isLimit(node.object)) ||
  (node.type === 'UnaryExpression' && isLimit(node.argument)) ||
  (node.type === 'BinaryExpression' && (isLimit(node.left) || isLimit(node.right)));

/** Finds cuts of texts by their length, which can end in half a character. */
const takeText = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      cut: 'A text is cut with takeStart, takeEnd or takeBytes of core/encoding/take-text.ts.',
    },
  },
  /** @param {any} context */
  create(context) {
    const { getTypeAtLocation, program } = context.sourceCode.parserServices;
    return {
      /** @param {any} node */
      CallExpression(node) {
        const { callee } = node;
        const name = callee.type === 'MemberExpression' ? callee.property.name : undefined;
        if (!['slice', 'substring', 'substr'].includes(name)) return;
        const end = node.arguments[1] ?? node.arguments[0];
        const isFromEnd = node.arguments.length > 1 || end?.type === 'UnaryExpression';
        if (end === undefined || !isFromEnd || !isLimit(end)) return;
        // Digits of a hash.
        if (callee.object.callee?.property?.name === 'digest') return;
        const type = program.getTypeChecker().getNonNullableType(getTypeAtLocation(callee.object));
        /** @param {ts.Type} one */
        const isText = (one) => (one.flags & ts.TypeFlags.StringLike) !== 0;
        if (type.isUnion() ? type.types.every(isText) : isText(type))
          context.report({ node, messageId: 'cut' });
      },
    };
  },
};

const environment = {
  selector: 'MemberExpression[object.name="process"][property.name="env"]',
  message: 'The service reads no environment: core/config/index.ts and core/cli/ do.',
};

/** What an SDK, a server or a file says is counted before it is parsed: core/encoding/foreign-json.ts. */
const foreignJson = [
  {
    selector: 'CallExpression[callee.object.name="JSON"][callee.property.name="parse"]',
    message: 'parseForeignJson parses JSON within limits, inSlices(foreignJsonSteps(…)) in steps.',
  },
  {
    selector: 'CallExpression[callee.property.name="json"][arguments.length=0]',
    message: 'Take the text, and parse it within limits: foreignJsonSteps.',
  },
];

const packed = {
  selector: 'ObjectExpression > SpreadElement > ObjectExpression',
  message: 'Write the fields out: a spread object literal only packs them into one line.',
};

/** What no file may have. */
const everywhere = [...secretComparisons, ...rawSql, packed];

export default tseslint.config(
  {
    ignores: [
      'dist/',
      '.dist-*/',
      '.cache/',
      'coverage/',
      'data/',
      'console/dist/',
      'test/bench/node_modules/',
      'test/mutation/node_modules/',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { regexp },
    rules: {
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', ...everywhere],
      // Text of users and models meets these expressions: none may take super-linear time.
      'regexp/no-super-linear-backtracking': ['error', { report: 'certain' }],
      'regexp/no-super-linear-move': 'error',
      'no-control-regex': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
    },
  },
  {
    files: ['**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': [
        'error',
        { checksVoidReturn: { arguments: false } },
      ],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
    },
  },
  {
    files: ['core/**/*.ts', 'plugins/**/*.ts', 'adapters/**/*.ts'],
    ignores: ['core/cli/**'],
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...everywhere, ...foreignJson, environment],
    },
  },
  {
    files: ['core/cli/**/*.ts', 'console/src/**/*.{ts,vue}'],
    rules: {
      'no-restricted-syntax': ['error', ...everywhere, ...foreignJson],
    },
  },
  {
    files: ['core/**/*.ts', 'plugins/**/*.ts', 'adapters/**/*.ts', 'console/src/**/*.ts'],
    ignores: ['core/testing/**'],
    plugins: { texts: { rules: { take: takeText } } },
    rules: { 'texts/take': 'error' },
  },
  {
    files: ['test/**'],
    rules: { 'regexp/no-super-linear-move': 'off' },
  },
  {
    files: ['console/**/*.vue'],
    extends: [...vue.configs['flat/recommended'], tseslint.configs.disableTypeChecked],
    // Its types are vue-tsc's, in `npm run typecheck`.
    languageOptions: { parserOptions: { parser: tseslint.parser, projectService: false } },
    rules: {
      'no-undef': 'off',
      // The layout is Prettier's.
      ...Object.fromEntries(
        ['max-attributes-per-line', 'singleline-html-element-content-newline', 'html-indent']
          .concat(['multiline-html-element-content-newline', 'html-closing-bracket-newline'])
          .concat(['html-self-closing', 'first-attribute-linebreak', 'attributes-order'])
          .map((rule) => [`vue/${rule}`, 'off']),
      ),
      'vue/require-default-prop': 'off',
      'vue/no-v-html': 'error',
      'vue/multi-word-component-names': 'error',
    },
  },
  {
    files: ['console/src/**/*.{ts,vue}'],
    ignores: ['console/src/api.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['fetch', 'EventSource', 'XMLHttpRequest', 'WebSocket'].map((name) => ({
          name,
          message: 'Only console/src/api.ts speaks HTTP.',
        })),
      ],
    },
  },
  {
    files: ['**/*.cjs', '**/*.mjs'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      parserOptions: { projectService: false },
      globals: {
        ...Object.fromEntries(
          [
            'console',
            'process',
            'setTimeout',
            'clearTimeout',
            'setInterval',
            'clearInterval',
            'URL',
          ]
            .concat(['Buffer', 'fetch', 'AbortController', 'performance'])
            .map((name) => [name, 'readonly']),
        ),
      },
    },
  },
  {
    files: ['**/*.cjs', '**/*.cts'],
    languageOptions: {
      globals: { require: 'readonly', module: 'writable', __dirname: 'readonly' },
    },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
);
