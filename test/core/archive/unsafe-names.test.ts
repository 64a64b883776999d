import { describe, expect, it } from 'vitest';
import { findReserved, findUnsafeName } from '../../../core/archive/unsafe-names.ts';

const unsafe = (path: string) => findUnsafeName({ scope: 'u:alice', path });

describe('a name that an export writes into no folder', () => {
  it.each([
    // Hidden, in any place and spelling.
    ...[
      '.git/config',
      'x/.GIT/hooks/post-checkout',
      '.gitattributes',
      '.gitmodules',
      '.env',
      '.envrc',
    ],
    ...[
      '.vscode/tasks.json',
      '.github/workflows/a.yml',
      '.memory-service.json',
      '.g\u200cit/config',
    ],
    // What git, node and this command make of their folder.
    ...['HEAD', 'notes/head', 'memory.config.mjs', 'Memory.Config.TS', 'data/secrets.json'],
    ...['package.json', 'PACKAGE.JSON', 'a/node_modules/x/index.js', 'vite.config.js/index.js'],
    ...['eslint.config.mjs', 'x.config.cts', 'vitest.workspace.ts', 'karma.conf.js', 'gulpfile.js'],
    ...['lefthook.yml', 'tsconfig.json', 'tsconfig.build.json'],
    // Builds and tasks.
    ...[
      'Makefile',
      'makefile',
      'GNUmakefile',
      'justfile',
      'Taskfile.yml',
      'CMakeLists.txt',
      'BUILD',
    ],
    ...[
      'Dockerfile',
      'compose.yaml',
      'docker-compose.override.yml',
      'Vagrantfile',
      'main.tf',
      'flake.nix',
    ],
    ...['setup.py', 'pyproject.toml', 'tox.ini', 'conftest.py', 'sitecustomize.py', 'evil.pth'],
    ...[
      'Gemfile',
      'Rakefile',
      'a.gemspec',
      'composer.json',
      'latexmkrc',
      'Cargo.toml',
      'build.rs',
      'go.mod',
    ],
    ...['pom.xml', 'build.gradle.kts', 'a.csproj', 'Directory.Build.props', 'mix.exs'],
    // What make makes a Makefile of, Python loads and test runners find.
    ...[
      'Makefile.sh',
      'gnumakefile.SH',
      'Makefile.y',
      's.Makefile',
      'SCCS/s.Makefile',
      'RCS/Makefile,v',
    ],
    ...[
      'argparse.py',
      'a/Random.py',
      'json/__init__.py',
      '_strptime.py',
      'test_a.py',
      'a.test.mjs',
    ],
    ...['--checkpoint-action=exec=sh x', '-rf/a.md', '--upload-pack=id'],
    ...['Doxyfile', 'all.do', 'PKGBUILD', 'webpack.config.babel.js'],
    // What is opened.
    ...[
      'a.code-workspace',
      'desktop.ini',
      'autorun.inf',
      'git.bat',
      'x.lnk',
      'mkdocs.yml',
      '_plugins/a.rb',
    ],
    // What systems keep for themselves, and short names.
    ...[
      'con',
      'CON.md',
      'notes/aux',
      'nul.tar.gz',
      'Com1.md',
      'COM¹',
      'lpt9',
      'conin$',
      'CONOUT$.md',
      'prn .md',
    ],
    ...['git~1/config', 'GIT~2', 'gi7eba~1', 'MEMORY~1.MJS', '$MFT'],
  ])('is %s', (path) => {
    expect(unsafe(path)).toMatch(/\S+ (?:is|makes|holds|names|gives|can take) /);
  });

  it.each([
    ...[
      'AGENTS.md',
      'CLAUDE.md',
      'GEMINI.md',
      'README.md',
      'SKILL.md',
      'index.md',
      'log.md',
      'LICENSE',
    ],
    ...[
      'notes/a.md',
      'a',
      'a/b',
      'Makefile.md',
      'dockerfile notes.md',
      'package.json.md',
      'todo.txt',
    ],
    ...[
      'console.md',
      'contact.md',
      'auxiliary/a.md',
      'com10.md',
      'nullable.md',
      'communication',
      'lpt.md',
    ],
    ...[
      'build/plan.md',
      'head/first.md',
      'workspace/a.md',
      'configure/a.md',
      'a..md',
      '…and more.md',
    ],
    ...[
      'data.json',
      'config.yaml',
      'script.py',
      'json.md',
      'tests.md',
      'rcs.md',
      'Makefile.txt',
      'about~later.md',
      'long-name-of-a-note~1.md',
      'x.configs.js.md',
    ],
    ...[
      'git/config',
      'gitignore',
      'environment',
      'müsli und tee.md',
      '日本.md',
      'config',
      'refs/heads/main',
    ],
  ])('is not %s', (path) => {
    expect(unsafe(path)).toBeNull();
  });

  it('can be the id of a user', () => {
    const ofUser = (id: string) => findUnsafeName({ scope: `u:${id}`, path: 'a.md' });
    expect(['con', 'NUL.x', 'git~1', 'node_modules'].map(ofUser)).not.toContain(null);
    expect(['alice', 'head', 'build', 'makefile', 'package.json', 'auth0|1'].map(ofUser)).toEqual(
      Array.from({ length: 6 }, () => null),
    );
    expect(findUnsafeName({ scope: 's', path: 'a.md' })).toBeNull();
  });

  it('says which name it is, and only that a system keeps it where that is asked', () => {
    expect(unsafe('a/.git/config')).toMatch(/^\.git is hidden/);
    expect(unsafe('a/Con.md')).toBe('Con.md is a name that Windows keeps for itself');
    expect(findReserved('Makefile')).toBeNull();
    expect(findReserved('aux.md')).not.toBeNull();
  });
});
