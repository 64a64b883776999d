import { toOwner } from '../files/paths.ts';
import type { FileKey } from '../contracts/records.ts';
import { toComparableName } from './disk-names.ts';

/**
 * The endings from which GNU make's own rules make a Makefile, where there is none: `Makefile.sh` becomes
 * `Makefile` and is run, and yacc or tangle run what is in theirs.
 */
const MAKE_SOURCES =
  listNames(`a c cc ch cpp cweb def dvi el elc f h info l ln m mod o out p r s sh sym
  tex texi texinfo txinfo w web y yl ym`);

/** The modules that come with Python 3. It looks for them in its folder first. */
const PYTHON_MODULES = listNames(`
  abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64
  bdb binascii binhex bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop
  collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg
  cProfile crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email
  encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools
  gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib
  imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale
  logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing
  netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb
  pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd
  py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter
  runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
  socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep
  struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios
  textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty
  turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser
  winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`);

/**
 * Names that an export writes into no folder, because a program runs or obeys what has the name when it
 * works in that folder. Models choose the names of memory files, and an operator works in the folder:
 * `git status` there must run nothing. Instructions that are read as text (`AGENTS.md`) are no such
 * names. Compared as {@link toComparableName} does; `*` stands for any characters.
 */
const UNSAFE: readonly { why: string; files: string; folders?: string }[] = [
  {
    why: 'is hidden, where git, shells, editors and agents keep hooks and settings',
    files: '.*',
    folders: '.*',
  },
  {
    why: 'is an option to a command that is given all names of the folder, as by tar *',
    files: '-*',
    folders: '-*',
  },
  {
    // With config, objects/ and refs/ beside it, it makes a repository of any folder.
    why: 'makes git take the folder for a repository, whose settings run commands',
    files: 'HEAD',
  },
  {
    why: 'holds the settings and hooks of another version control',
    files: '_FOSSIL_',
    folders: 'CVS _darcs _MTN',
  },
  {
    why: 'is read by memory-service itself',
    files: `memory.config.js memory.config.cjs memory.config.mjs memory.config.ts memory.config.cts
      memory.config.mts memory.config.json secrets.json`,
  },
  {
    why: 'is run or obeyed by Node.js and its package managers',
    files: `package.json package.json5 package.yaml package-lock.json npm-shrinkwrap.json yarn.lock
      pnpm-lock.yaml pnpm-workspace.yaml pnpmfile.js pnpmfile.cjs pnpmfile.mjs bun.lock bunfig.toml
      deno.json deno.jsonc deno.lock import_map.json binding.gyp bower.json`,
    folders: 'node_modules web_modules bower_components',
  },
  {
    why: 'is run or obeyed by a tool for JavaScript',
    files: `*.config.js *.config.cjs *.config.mjs *.config.ts *.config.cts *.config.mts *.config.jsx
      *.config.tsx *.config.json *.config.yaml *.config.yml *.config.toml *.conf.js *.conf.cjs *.conf.mjs
      *.conf.ts *.workspace.js *.workspace.mjs *.workspace.ts *.workspace.json gulpfile.js gulpfile.cjs
      gulpfile.mjs gulpfile.ts gulpfile.babel.js gruntfile.js gruntfile.cjs gruntfile.ts jakefile
      jakefile.js jakefile.ts cakefile knexfile.js knexfile.cjs knexfile.mjs knexfile.ts wallaby.js
      wallaby.cjs wallaby.mjs ember-cli-build.js tsconfig.json tsconfig.*.json jsconfig.json tslint.json
      lerna.json nx.json project.json workspace.json rush.json turbo.json turbo.jsonc nodemon.json
      angular.json *.config.babel.js ormconfig.js ormconfig.ts ormconfig.json truffle-config.js gatsby-
      config.js gatsby-node.js cspell.json biome.json biome.jsonc dprint.json cypress.json typedoc.json
      renovate.json renovate.json5 browserslist`,
  },
  {
    why: 'names commands that a hook manager runs',
    files: `lefthook.yml lefthook.yaml lefthook.toml lefthook.json lefthook.jsonc lefthook-local.yml
      lefthook-local.yaml lefthook-local.toml lefthook-local.json captainhook.json hk.pkl prek.toml`,
  },
  {
    why: 'names commands that a task runner or a build runs',
    files: `Makefile GNUmakefile BSDmakefile Makefile.am Makefile.in Makefile.toml justfile taskfile.yml
      taskfile.yaml taskfile.dist.yml taskfile.dist.yaml maskfile.md magefile.go dodo.py tasks.py
      fabfile.py noxfile.py shakefile.hs Tupfile Tupfile.lua Tuprules.tup wscript SConstruct SConstruct.py
      SConscript Jamroot Jamroot.jam Jamfile Jamfile.jam *.do Doxyfile PKGBUILD APKBUILD conanfile.py
      CMakeLists.txt CTestTestfile.cmake CMakePresets.json CMakeUserPresets.json meson.build
      meson_options.txt meson.options build.ninja configure configure.ac configure.in BUILD BUILD.bazel
      WORKSPACE WORKSPACE.bazel WORKSPACE.bzlmod MODULE.bazel BUCK pants.toml premake4.lua premake5.lua
      xmake.lua Earthfile Tiltfile Procfile process-compose.yml process-compose.yaml skaffold.yaml
      skaffold.yml garden.yml dagger.json goreleaser.yml goreleaser.yaml bacon.toml cliff.toml
      foundry.toml`,
  },
  {
    why: 'is what make makes a Makefile of, and then runs',
    files: ['Makefile', 'GNUmakefile']
      .flatMap((name) => [
        ...MAKE_SOURCES.map((ending) => `${name}.${ending}`),
        ...[`s.${name}`, `${name},v`],
      ])
      .join(' '),
    folders: 'RCS SCCS',
  },
  {
    why: 'is applied by a shell or a tool manager in its folder',
    files: `mise.toml mise.*.toml guix.scm manifest.scm devbox.json devenv.nix devenv.yaml flake.nix flake.lock
      shell.nix default.nix`,
  },
  {
    why: 'names what Docker, Vagrant or a cloud tool builds and runs',
    files: `Dockerfile *.dockerfile Containerfile docker-compose.yml docker-compose.yaml docker-compose.*.yml
      docker-compose.*.yaml compose.yml compose.yaml compose.*.yml compose.*.yaml docker-bake.hcl docker-
      bake.json docker-bake.override.hcl docker-bake.override.json Vagrantfile devcontainer.json *.tf
      *.tf.json *.pkr.hcl *.pkr.json *.tofu *.tfvars *.tfvars.json terragrunt.hcl ansible.cfg cdk.json
      Pulumi.yaml Pulumi.*.yaml serverless.yml serverless.yaml serverless.json helmfile.yaml
      kustomization.yaml kustomization.yml Chart.yaml samconfig.toml firebase.json vercel.json
      netlify.toml wrangler.toml wrangler.json wrangler.jsonc fly.toml cloudbuild.yaml buildspec.yml
      Jenkinsfile appveyor.yml azure-pipelines.yml bitbucket-pipelines.yml Brewfile`,
    folders: 'helmfile.d',
  },
  {
    why: 'is run or obeyed by Python and its tools',
    files: `setup.py setup.cfg pyproject.toml tox.ini tox.toml pytest.ini pytest.toml conftest.py
      sitecustomize.py usercustomize.py *.pth pyvenv.cfg Pipfile Pipfile.lock poetry.lock poetry.toml
      uv.toml uv.lock hatch.toml pixi.toml ruff.toml mypy.ini pylintrc pylintrc.toml manage.py alembic.ini
      gunicorn.conf.py celeryconfig.py ipython_config.py jupyter_*config.py jupyter_*config.json Snakefile
      conf.py pelicanconf.py`,
    folders: '__pycache__',
  },
  {
    why: 'is what Python started in the folder loads in the place of its own module',
    files: `_*.py ${PYTHON_MODULES.map((name) => `${name}.py`).join(' ')}`,
  },
  {
    why: 'is run by test runners, which look for it by its name',
    files: `test*.py *_test.py *.test.js *.test.cjs *.test.mjs *.test.ts *.test.cts *.test.mts *.test.jsx
      *.test.tsx *.spec.js *.spec.cjs *.spec.mjs *.spec.ts *.spec.cts *.spec.mts *.spec.jsx *.spec.tsx
      *_test.js *_test.mjs *_test.ts *_test.mts *_test.tsx *_test.go *_test.rb *_spec.rb *.bats`,
  },
  {
    why: 'is run or obeyed by Ruby and its tools',
    files: `Gemfile Gemfile.lock gems.rb gems.locked Rakefile Rakefile.rb *.gemspec config.ru Guardfile Capfile
      Dangerfile Fastfile Appfile Podfile Berksfile Thorfile *.thor Puppetfile Steepfile`,
  },
  {
    why: 'is run or obeyed by PHP, Perl, Lua, R, Julia, TeX or a web server',
    files: `composer.json composer.lock artisan phpunit.xml phpunit.xml.dist phpstan.neon phpstan.neon.dist
      psalm.xml php.ini Makefile.PL Build.PL cpanfile dist.ini *.rockspec *.rproj startup.m finish.m
      Project.toml JuliaProject.toml Manifest.toml LocalPreferences.toml latexmkrc texmf.cnf web.config`,
  },
  {
    why: 'is run or obeyed by a compiler and its build',
    files: `Cargo.toml Cargo.lock build.rs rust-toolchain rust-toolchain.toml rustfmt.toml clippy.toml go.mod
      go.work go.sum build.zig build.zig.zon Package.swift mix.exs rebar.config rebar3.config gleam.toml
      dune dune-project dune-workspace stack.yaml Setup.hs *.cabal cabal.project cabal.project.local
      shard.yml *.nimble config.nims nim.cfg dub.json dub.sdl pubspec.yaml analysis_options.yaml build.sbt
      build.sc build.mill build.xml ivy.xml pom.xml build.gradle build.gradle.kts settings.gradle
      settings.gradle.kts gradle.properties gradlew mvnw project.clj deps.edn bb.edn shadow-cljs.edn
      *.csproj *.fsproj *.vbproj *.vcxproj *.proj *.sln *.slnx *.targets *.props nuget.config global.json
      paket.dependencies build.cake`,
  },
  {
    why: 'gives settings or code to an editor, an agent or a program for notes',
    files: `*.code-workspace *.sublime-project *.ipr *.iml *.iws _vimrc _gvimrc _exrc Session.vim mcp.json
      opencode.json opencode.jsonc crush.json gemini-extension.json custom.js tiddlywiki.info sgconfig.yml`,
  },
  {
    why: 'names plugins and commands that a generator of pages runs',
    files: `_config.yml _config.yaml _config.toml _config.js _config.ts mkdocs.yml mkdocs.yaml zensical.toml
      book.toml _quarto.yml _quarto.yaml hugo.toml hugo.yaml hugo.json antora.yml antora-playbook.yml`,
    folders: '_plugins',
  },
  {
    why: 'is obeyed or started by a desktop, or by cmd.exe in the place of a command',
    files: `desktop.ini autorun.inf folder.htt *.bat *.cmd *.com *.exe *.vbs *.vbe *.wsf *.wsh *.msc *.jse *.hta
      *.lnk *.url *.scf *.pif *.scr *.library-ms *.search-ms *.searchconnector-ms *.settingcontent-ms
      *.desktop *.directory *.command *.terminal *.webloc *.inetloc *.fileloc`,
    folders: '$RECYCLE.BIN',
  },
];

/** Devices of Windows, also with an ending, and the files of NTFS itself. */
const RESERVED =
  /^(?:(?:CON|PRN|AUX|NUL|CLOCK\$|CONIN\$|CONOUT\$|(?:COM|LPT)[\d¹²³])[ ]*(?:\..*)?|\$(?:MFT|MFTMIRR|LOGFILE|VOLUME|ATTRDEF|BITMAP|BOOT|BADCLUS|SECURE|UPCASE|EXTEND))$/s;

/** What Windows makes of a long name: `git~1` opens `.git`. */
const SHORT_NAME = /^(?=[^.]{1,8}(?:\.|$))[^.~]+~\d+(?:\.[^.]{0,3})?$/;

/** Node.js loads `index.js` of a folder with the name of a module. */
const MODULE = /\.(?:[CM]?[JT]SX?|JSON)$/;

/**
 * Why an export to a folder leaves a file out: the end of a sentence, with the name that is the reason.
 * `null` for a file that is exported.
 */
export function findUnsafeName({ scope, path }: FileKey): string | null {
  const { userId, spaceId } = toOwner(scope);
  const owner = userId ?? spaceId;
  const names = path.split('/');
  const file = names.pop() ?? '';
  if (owner !== null) names.unshift(owner);
  const reasons = names.map((name, at) => {
    const isOwner = owner !== null && at === 0;
    return findReserved(name) ?? findShortName(name) ?? findFolder(name, isOwner);
  });
  reasons.push(findReserved(file) ?? findShortName(file) ?? FILES.find(file));
  return reasons.find((why) => why !== null) ?? null;
}

/** Why a system keeps a name for itself; `null` for most names. */
export function findReserved(name: string): string | null {
  const isReserved = RESERVED.test(toComparableName(name));
  return isReserved ? `${name} is a name that Windows keeps for itself` : null;
}

function findShortName(name: string): string | null {
  const isShort = SHORT_NAME.test(toComparableName(name));
  return isShort ? `Windows can take ${name} for the short name of another file` : null;
}

function findFolder(name: string, isOwner: boolean): string | null {
  const why = FOLDERS.find(name);
  if (why !== null || isOwner) return why;
  return MODULE.test(toComparableName(name)) ? FILES.find(name) : null;
}

function listNames(names: string): string[] {
  return names.split(/\s+/).filter((name) => name !== '');
}

/** Finds the reason of a name. */
class Names {
  readonly #exact = new Map<string, string>();
  readonly #patterns: { start: string; end: string; why: string }[] = [];

  constructor(kind: 'files' | 'folders') {
    for (const { why, [kind]: names = '' } of UNSAFE) {
      for (const name of listNames(names)) {
        const [start = '', end] = name.split('*').map((part) => part.toUpperCase());
        if (end === undefined) this.#exact.set(start, why);
        else this.#patterns.push({ start, end, why });
      }
    }
  }

  find(name: string): string | null {
    const comparable = toComparableName(name);
    const why =
      this.#exact.get(comparable) ??
      this.#patterns.find(
        ({ start, end }) =>
          comparable.length >= start.length + end.length &&
          comparable.startsWith(start) &&
          comparable.endsWith(end),
      )?.why;
    return why === undefined ? null : `${name} ${why}`;
  }
}

const FILES = new Names('files');
const FOLDERS = new Names('folders');
